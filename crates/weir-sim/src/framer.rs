//! The requests of one connection, from the bytes that arrive: the parser of weir-http, and the
//! time at which each request was sent.

use weir_http::server::{ReadProgress, RequestFault, RequestParser, RequestPart};
use weir_io::Nanos;

/// A request whose last byte has arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Framed {
    /// Time at which its first byte left the client.
    pub(crate) sent_at: Nanos,
    /// True if the method is HEAD: the response has no body.
    pub(crate) is_head: bool,
    /// Number at the end of its target.
    pub(crate) number: Option<u64>,
}

/// The parser of one connection.
#[derive(Debug, Default)]
pub(crate) struct Framer {
    parser: RequestParser,
    /// The request that is arriving.
    current: Framed,
}

impl Framer {
    /// Parses bytes that left the client at `sent_at`; calls `found` for each request they
    /// complete.
    ///
    /// # Panics
    /// If they are not a request: the client's bug, which a simulated server must not hide.
    pub(crate) fn receive(&mut self, bytes: &[u8], sent_at: Nanos, mut found: impl FnMut(Framed)) {
        let mut rest = bytes;
        loop {
            if self.parser.is_idle() {
                self.current.sent_at = sent_at;
            }
            let current = &mut self.current;
            let progress = self.parser.read(&mut rest, |part| -> Result<(), RequestFault> {
                if let RequestPart::Line(line) = part {
                    (current.is_head, current.number) = (line.is_head(), number(line.target));
                }
                Ok(())
            });
            match progress {
                Ok(ReadProgress::Incomplete) => return,
                Ok(ReadProgress::Head) => {}
                Ok(ReadProgress::End) => found(self.current),
                Err(fault) => panic!("the client sent no valid request: {fault}"),
            }
        }
    }
}

/// Returns the number at the end of a request target.
fn number(target: &[u8]) -> Option<u64> {
    let digits = target.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    str::from_utf8(&target[target.len() - digits..]).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &[u8] = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n\
        POST /x70 HTTP/1.1\r\nContent-LENGTH: 9\r\n\r\n\r\n\r\nGET /\
        HEAD / HTTP/1.0\r\n\r\n\
        POST / HTTP/1.1\r\ncontent-length: 0\r\n\r\n";

    #[test]
    fn ends_are_found_wherever_the_stream_is_cut() {
        for cut in 0..=STREAM.len() {
            for second in cut..=STREAM.len() {
                let mut framer = Framer::default();
                let mut heads = Vec::new();
                for part in [&STREAM[..cut], &STREAM[cut..second], &STREAM[second..]] {
                    framer.receive(part, Nanos(1), |request| {
                        heads.push((request.is_head, request.number));
                    });
                }
                let expected = [(false, None), (false, Some(70)), (true, None), (false, None)];
                assert_eq!(heads, expected, "cut at {cut} and {second}");
            }
        }
    }

    #[test]
    fn a_request_was_sent_when_its_first_byte_was() {
        let mut framer = Framer::default();
        let mut sent = Vec::new();
        for (index, byte) in STREAM.iter().enumerate() {
            let at = Nanos(index as u64);
            framer.receive(&[*byte], at, |request| sent.push(request.sent_at.0));
        }
        assert_eq!(sent, [0, 27, 77, 96]);
    }
    #[test]
    fn a_chunked_request_ends_after_its_trailers() {
        let mut ends = Vec::new();
        let text =
            "POST /7 HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n3\r\nGET\r\n0\r\nA: b\r\n\r\n";
        let mut framer = Framer::default();
        for (index, byte) in text.bytes().enumerate() {
            framer.receive(&[byte], Nanos(0), |request| ends.push((index + 1, request.number)));
        }
        assert_eq!(ends, [(text.len(), Some(7))]);
    }

    #[test]
    fn an_invalid_request_fails_loudly() {
        for text in ["GET /\r\n\r\n", "GET / HTTP/1.1\r\ncontent-length: 1x\r\n\r\n"] {
            let receive = || Framer::default().receive(text.as_bytes(), Nanos(0), |_| {});
            let message = std::panic::catch_unwind(receive).expect_err("a panic");
            let message = message.downcast_ref::<String>().expect("text");
            assert!(message.starts_with("the client sent no valid request: "), "{message}");
        }
    }
}
