//! Invariants for any bytes from a client: the parts of requests do not depend on the cuts, and
//! httparse agrees on heads, but for differences that are deliberate.

use std::collections::BTreeSet;

use httparse::Status;
use weir_http::server::{ReadProgress, RequestFault, RequestHead, RequestParser, RequestPart};

use super::XorShift;

/// A request, or the received part of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Received {
    pub(crate) method: Vec<u8>,
    pub(crate) target: Vec<u8>,
    pub(crate) minor: u8,
    pub(crate) fields: Vec<(Vec<u8>, Vec<u8>)>,
    pub(crate) head: Option<RequestHead>,
    pub(crate) body: Vec<u8>,
    /// Position after its last byte, if it is complete.
    pub(crate) end: Option<usize>,
}

/// Feeds `bytes` in pieces: `cut(at)` returns the length of the piece at `at`. Returns the requests
/// and the fault, if there is one.
pub(crate) fn receive(
    parser: &mut RequestParser,
    bytes: &[u8],
    mut cut: impl FnMut(usize) -> usize,
) -> (Vec<Received>, Option<RequestFault>) {
    let mut requests = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let end = at + cut(at).clamp(1, bytes.len() - at);
        let mut rest = &bytes[at..end];
        loop {
            let progress = match parser.is_in_body() {
                true => parser.read_body(&mut rest, |bytes| {
                    let last: &mut Received = requests.last_mut().expect("a request has a body");
                    assert!(last.head.is_some() && last.end.is_none() && !bytes.is_empty());
                    last.body.extend_from_slice(bytes);
                }),
                false => parser.read(&mut rest, |part| {
                    collect(&mut requests, part);
                    Ok(())
                }),
            };
            match progress {
                Ok(ReadProgress::Incomplete) => break,
                Ok(ReadProgress::Head) => assert!(parser.is_in_body() && !parser.is_idle()),
                Ok(ReadProgress::End) => {
                    assert!(parser.is_idle());
                    let last: &mut Received = requests.last_mut().expect("a request ends");
                    assert!(last.head.is_some() && last.end.is_none());
                    last.end = Some(end - rest.len());
                }
                Err(fault) => {
                    assert_eq!(parser.read(&mut rest, |_| Ok(())), Err(fault), "a fault lasts");
                    return (requests, Some(fault));
                }
            }
        }
        assert!(rest.is_empty(), "all bytes are read");
        at = end;
    }
    (requests, None)
}

fn collect(requests: &mut Vec<Received>, part: RequestPart<'_>) {
    if let RequestPart::Line(line) = part {
        requests.push(Received {
            method: line.method.to_vec(),
            target: line.target.to_vec(),
            minor: line.minor,
            ..Received::default()
        });
        return;
    }
    let last = requests.last_mut().expect("a request begins with its line");
    match part {
        RequestPart::Line(_) => unreachable!(),
        RequestPart::Field { name, value } => last.fields.push((name.to_vec(), value.to_vec())),
        RequestPart::Head(head) => last.head = Some(head),
    }
}

/// Checks the invariants for any bytes.
pub(crate) fn received(bytes: &[u8]) {
    let whole = receive(&mut RequestParser::default(), bytes, |_| bytes.len());
    let mut parser = RequestParser::default();
    assert_eq!(receive(&mut parser, bytes, |_| 1), whole, "byte by byte against whole");
    let mut random = XorShift::new(bytes.len() as u64 + 1);
    for most in [2, 7, 40, 300] {
        // Also after a reset, which must clear the state.
        parser.reset();
        let cut = receive(&mut parser, bytes, |_| 1 + random.below(most));
        assert_eq!(cut, whole, "cut against whole");
    }
    let ends: Vec<usize> = whole.0.iter().filter_map(|request| request.end).collect();
    assert_eq!(skipped(bytes), (ends, whole.1), "bodies skipped");
    compare(bytes);
}

/// Returns the ends of the requests in `bytes`, and the fault, if their bodies are skipped.
fn skipped(bytes: &[u8]) -> (Vec<usize>, Option<RequestFault>) {
    let mut parser = RequestParser::default();
    let mut rest = bytes;
    let mut ends = Vec::new();
    loop {
        match parser.read(&mut rest, |_| Ok(())) {
            Ok(ReadProgress::Incomplete) => return (ends, None),
            Ok(ReadProgress::Head) => {}
            Ok(ReadProgress::End) => ends.push(bytes.len() - rest.len()),
            Err(fault) => return (ends, Some(fault)),
        }
    }
}

/// A deliberate difference from httparse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Difference {
    /// A control character other than NUL, CR and LF in a value is kept, as RFC 9110 §5.5 permits.
    ControlInValue,
    /// A field name may have any visible ASCII characters but a colon.
    NameNoToken,
    /// A target may have DEL and bytes that are no UTF-8.
    OddTarget,
    /// A line is judged when it is complete, not byte by byte.
    LineIncomplete,
    /// The fields that determine the end of the body are judged, too.
    FramingJudged,
    /// A head has at most 64 KiB.
    HeadLimit,
}

impl Difference {
    pub(crate) const ALL: [Difference; 6] = [
        Difference::ControlInValue,
        Difference::NameNoToken,
        Difference::OddTarget,
        Difference::LineIncomplete,
        Difference::FramingJudged,
        Difference::HeadLimit,
    ];
}

/// Compares the first head in `bytes` with httparse. Returns the differences, which are deliberate.
///
/// # Panics
/// If there is another difference.
pub(crate) fn compare(bytes: &[u8]) -> BTreeSet<Difference> {
    let mut head_bytes = None;
    let mut requests = Vec::new();
    let mut rest = bytes;
    let read = RequestParser::default().read(&mut rest, |part| {
        collect(&mut requests, part);
        Ok::<_, RequestFault>(())
    });
    if matches!(read, Ok(ReadProgress::Head | ReadProgress::End)) {
        head_bytes = Some(bytes.len() - rest.len());
    }
    let ours = requests.pop().unwrap_or_default();
    let mut fields = vec![httparse::EMPTY_HEADER; 1 + bytes.len() / 2];
    let mut other = httparse::Request::new(&mut fields);
    match (read, other.parse(bytes)) {
        (Ok(_), Ok(Status::Complete(length))) => {
            assert_eq!(head_bytes, Some(length), "length of the head");
            let text = |text: Option<&str>| text.unwrap_or_default().as_bytes().to_vec();
            assert_eq!((ours.method, ours.target), (text(other.method), text(other.path)));
            assert_eq!(Some(ours.minor), other.version);
            let others = other.headers.iter();
            let others = others.map(|field| (field.name.as_bytes().to_vec(), field.value.to_vec()));
            assert_eq!(ours.fields, others.collect::<Vec<_>>());
            BTreeSet::new()
        }
        (Ok(_), Ok(Status::Partial)) => {
            assert_eq!(head_bytes, None, "complete here, incomplete for httparse");
            BTreeSet::new()
        }
        (Ok(_), Err(_)) => accepted_here(bytes, &ours, head_bytes),
        (Err(_), Err(_)) => BTreeSet::new(),
        (Err(fault), Ok(_)) => BTreeSet::from([match fault {
            RequestFault::BadContentLength
            | RequestFault::ConflictingFraming
            | RequestFault::UnsupportedTransferEncoding
            | RequestFault::TransferEncodingInHttp10 => Difference::FramingJudged,
            RequestFault::HeadTooLarge => Difference::HeadLimit,
            other => panic!("{other:?} here, accepted by httparse"),
        }]),
    }
}

/// Returns why httparse refuses what is accepted here, or is still incomplete.
fn accepted_here(bytes: &[u8], ours: &Received, head: Option<usize>) -> BTreeSet<Difference> {
    let is_control = |byte: &u8| byte.is_ascii_control() && *byte != b'\t';
    let is_token = |name: &[u8]| {
        let is_tchar = |b: &u8| b.is_ascii_graphic() && !b"\"(),/:;<=>?@[\\]{}".contains(b);
        name.iter().all(is_tchar)
    };
    let mut found = BTreeSet::new();
    if ours.fields.iter().any(|(_, value)| value.iter().any(is_control)) {
        found.insert(Difference::ControlInValue);
    }
    if ours.fields.iter().any(|(name, _)| !is_token(name)) {
        found.insert(Difference::NameNoToken);
    }
    if ours.target.contains(&0x7f) || str::from_utf8(&ours.target).is_err() {
        found.insert(Difference::OddTarget);
    }
    // Without a difference in the complete lines, the incomplete one must be at fault.
    if found.is_empty() {
        assert_eq!(head, None, "accepted here, refused by httparse");
        let lines = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let mut fields = vec![httparse::EMPTY_HEADER; 1 + bytes.len() / 2];
        let complete = httparse::Request::new(&mut fields).parse(&bytes[..lines]);
        assert_eq!(complete, Ok(Status::Partial), "the complete lines are accepted by both");
        found.insert(Difference::LineIncomplete);
    }
    found
}
