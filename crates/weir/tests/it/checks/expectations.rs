//! Responses of any bytes, and expectations of any text.

use weir_http::ReceivedResponse;
use weir_requests::expect::{BodyDecoder, Expectation, Expectations, FirstBodies};

/// Limit of decoded bodies, in bytes.
const LIMIT: usize = 4_096;

/// Longest example of a response, in bytes: its part, with room for replaced bytes and a name.
const EXAMPLE_MAX: usize = 3 * 4_096 + 1_000;

/// Checks one input: an expectation in the first line, content codings in the second, then a body.
/// The result does not depend on the body before, and neither decoding nor an example exceeds its
/// limit.
pub(crate) fn expectations(input: &[u8]) {
    let mut parts = input.splitn(3, |&byte| byte == b'\n');
    let [text, codings, body] = [(); 3].map(|()| parts.next().unwrap_or_default());
    let text = String::from_utf8_lossy(text);
    let expectation = match text.parse::<Expectation>() {
        Ok(expectation) => expectation,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    assert_eq!(expectation.to_string(), text.trim());
    let expectations = Expectations::new(&[expectation], &[]).expect("it is only one");
    let is_text = |byte: &&u8| byte.is_ascii_graphic() || **byte == b' ';
    let codings: Vec<u8> = codings.iter().filter(is_text).copied().collect();
    let head = [b"Content-Encoding: ", &codings[..], b"\r\nX-A: b\r\n"].concat();
    let response = ReceivedResponse { head: &head, body, ..ReceivedResponse::of_status(200) };
    let mut used = BodyDecoder::new(LIMIT);
    let mut results = Vec::new();
    for decoder in [&mut BodyDecoder::new(LIMIT), &mut used] {
        for _ in 0..2 {
            let first = FirstBodies::new(1);
            let result = expectations.check(&response, decoder, &first, 0);
            let example = result.map_err(|miss| expectations.example(miss, &response, decoder));
            if let Err(example) = &example {
                assert!(example.found.len() <= EXAMPLE_MAX, "{}", example.found.len());
            }
            results.push(example.map_err(|example| (result.err(), example)));
        }
    }
    assert!(results.iter().all(|result| *result == results[0]), "{results:?}");
    let encodings = [&codings[..]];
    if let Ok(decoded) = used.decode(body, encodings.into_iter()) {
        assert!(decoded.len() <= LIMIT, "{}", decoded.len());
    }
}
