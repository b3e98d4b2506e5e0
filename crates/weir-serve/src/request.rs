//! Reading of HTTP/1 requests: the end of a request's head, its relevant contents, and the extent
//! of its body. Bytes in, values out: no socket, no clock.

use crate::delay::Delay;
use crate::fault::FaultKind;
use crate::options::{Programme, status_is_valid};
use crate::units::{parse_bytes, parse_digits};

/// Longest accepted head, in bytes; the same limit holds for the framing lines of a chunked body.
pub(crate) const HEAD_MAX_BYTES: usize = 64 * 1024;

/// The relevant contents of one request's head.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Request {
    /// True if the method is HEAD: the response has no body.
    pub(crate) is_head: bool,
    /// True if the client speaks HTTP/1.0.
    pub(crate) is_http10: bool,
    /// True if the request has `Connection: close`.
    pub(crate) wants_close: bool,
    /// True if the request has `Connection: keep-alive`.
    pub(crate) wants_keep_alive: bool,
    /// True if the request has `Expect: 100-continue`.
    pub(crate) expects_continue: bool,
    /// True if the target is `/weir/stats`.
    pub(crate) is_stats: bool,
    /// Body that follows the head.
    pub(crate) body: Body,
    /// The `x-slot` header.
    pub(crate) slot: Slot,
    /// Settings of the programme that this request overrides.
    pub(crate) overrides: Overrides,
}

/// Settings of the programme that one request overrides.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Overrides {
    pub(crate) delay: Option<Delay>,
    pub(crate) status: Option<u16>,
    pub(crate) body_bytes: Option<u64>,
    pub(crate) fault: Option<FaultKind>,
}

/// Value of `x-slot`, kept inline so that a request costs no allocation. Empty if there is none or
/// if it is longer than 32 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slot {
    bytes: [u8; 32],
    length: u8,
}

impl Slot {
    fn new(value: &[u8]) -> Slot {
        let mut slot = Slot::default();
        if let Some(room) = slot.bytes.get_mut(..value.len()) {
            room.copy_from_slice(value);
            slot.length = u8::try_from(value.len()).expect("at most 32");
        }
        slot
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

/// Error for a request that cannot be parsed; the connection ends with this response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadRequest {
    /// Status of the response.
    pub(crate) status: u16,
    /// Body of the response.
    pub(crate) why: String,
}

fn bad(status: u16, why: impl Into<String>) -> BadRequest {
    BadRequest { status, why: why.into() }
}

impl Request {
    /// Makes a request that gets the programme's own response.
    pub(crate) fn plain() -> Request {
        Request {
            is_head: false,
            is_http10: false,
            wants_close: false,
            wants_keep_alive: false,
            expects_continue: false,
            is_stats: false,
            body: Body::None,
            slot: Slot::default(),
            overrides: Overrides::default(),
        }
    }

    /// True if the request changes nothing about the programme's own response.
    pub(crate) fn is_plain(&self) -> bool {
        *self == Request::plain()
    }

    /// Reads the head at the start of `bytes`: returns the request and the length of its head in
    /// bytes, or `None` if the head does not end within `bytes`.
    ///
    /// # Errors
    /// The bytes are not the head of a request that this server supports, or the head is longer
    /// than [`HEAD_MAX_BYTES`].
    pub(crate) fn read(bytes: &[u8]) -> Result<Option<(Request, usize)>, BadRequest> {
        let head = &bytes[..bytes.len().min(HEAD_MAX_BYTES)];
        match read_head(head)? {
            None if bytes.len() >= HEAD_MAX_BYTES => {
                Err(bad(431, "the head of the request is longer than 64 KiB\n"))
            }
            read => Ok(read),
        }
    }
}

fn read_head(bytes: &[u8]) -> Result<Option<(Request, usize)>, BadRequest> {
    let mut lines = Lines { bytes, at: 0 };
    let request_line = loop {
        // RFC 9112 §2.2: an empty line before the request line is ignored.
        match lines.take() {
            None => return Ok(None),
            Some([]) => {}
            Some(line) => break line,
        }
    };
    let mut request = Request::plain();
    let mut has_host = false;
    read_request_line(&mut request, request_line)?;
    while let Some(line) = lines.take() {
        if line.is_empty() {
            if !has_host && !request.is_http10 {
                return Err(bad(400, "a request of HTTP/1.1 needs a Host header\n"));
            }
            if request.body == Body::Length(0) {
                request.body = Body::None;
            }
            return Ok(Some((request, lines.at)));
        }
        let colon = memchr::memchr(b':', line).unwrap_or(0);
        // RFC 9112 §5.1, §5.2: no blank before the colon, no folded line.
        if colon == 0 || line[..colon].iter().any(|&c| c == b' ' || c == b'\t') {
            return Err(bad(400, "a header line is malformed\n"));
        }
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        has_host |= name.eq_ignore_ascii_case(b"host");
        read_header(&mut request, name, value)?;
    }
    Ok(None)
}

/// Iterates over lines without their ends, CRLF or the bare LF that RFC 9112 §2.2 permits.
struct Lines<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Lines<'a> {
    fn take(&mut self) -> Option<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        let end = memchr::memchr(b'\n', rest)?;
        self.at += end + 1;
        Some(rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end]))
    }
}

fn read_request_line(request: &mut Request, line: &[u8]) -> Result<(), BadRequest> {
    let malformed = || bad(400, "the request line is malformed\n");
    let mut words = line.split(|&c| c == b' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(malformed());
    };
    if method.is_empty() || target.is_empty() {
        return Err(malformed());
    }
    request.is_head = method == b"HEAD";
    request.is_http10 = match version {
        b"HTTP/1.1" => false,
        b"HTTP/1.0" => true,
        _ if version.starts_with(b"HTTP/") => {
            return Err(bad(505, "this server speaks HTTP/1.1 and HTTP/1.0\n"));
        }
        _ => return Err(malformed()),
    };
    let (path, query) = match memchr::memchr(b'?', target) {
        None => (target, None),
        Some(at) => (&target[..at], Some(&target[at + 1..])),
    };
    request.is_stats = path == b"/weir/stats";
    for pair in query.unwrap_or_default().split(|&c| c == b'&') {
        if let Some(equals) = memchr::memchr(b'=', pair) {
            read_query(request, &pair[..equals], &pair[equals + 1..])?;
        }
    }
    Ok(())
}

/// Applies one `name=value` of the query; unknown names are ignored.
fn read_query(request: &mut Request, name: &[u8], value: &[u8]) -> Result<(), BadRequest> {
    let knob = match name {
        b"delay" => Knob::Delay,
        b"delay_ns" | b"delay-ns" => Knob::DelayNs,
        b"status" => Knob::Status,
        b"size" => Knob::Size,
        b"fault" => Knob::Fault,
        _ => return Ok(()),
    };
    request.overrides.turn(knob, &percent_decoded(value))
}

fn read_header(request: &mut Request, name: &[u8], value: &[u8]) -> Result<(), BadRequest> {
    let is = |other: &str| name.eq_ignore_ascii_case(other.as_bytes());
    // The length is compared first: most headers of most requests match none of these.
    match name.len() {
        6 if is("expect") => {
            request.expects_continue = value.eq_ignore_ascii_case(b"100-continue");
        }
        10 if is("connection") => {
            for option in value.split(|&c| c == b',').map(<[u8]>::trim_ascii) {
                request.wants_close |= option.eq_ignore_ascii_case(b"close");
                request.wants_keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
            }
        }
        14 if is("content-length") => {
            let length = parse_digits(value)
                .ok_or_else(|| bad(400, "the Content-Length is not a number\n"))?;
            if request.body != Body::None && request.body != Body::Length(length) {
                return Err(bad(400, "the length of the request is told in two ways\n"));
            }
            request.body = Body::Length(length);
        }
        17 if is("transfer-encoding") => {
            // RFC 9112 §6.1: both at once indicate request smuggling; refusing is allowed.
            if request.body != Body::None {
                return Err(bad(400, "the length of the request is told in two ways\n"));
            }
            if !value.eq_ignore_ascii_case(b"chunked") {
                return Err(bad(501, "the only transfer coding known here is chunked\n"));
            }
            request.body = Body::Chunked(Chunks::new());
        }
        6 if is("x-slot") => request.slot = Slot::new(value),
        6 if is("x-size") => request.overrides.turn(Knob::Size, value)?,
        7 if is("x-delay") => request.overrides.turn(Knob::Delay, value)?,
        7 if is("x-fault") => request.overrides.turn(Knob::Fault, value)?,
        8 if is("x-status") => request.overrides.turn(Knob::Status, value)?,
        10 if is("x-delay-ns") => request.overrides.turn(Knob::DelayNs, value)?,
        _ => {}
    }
    Ok(())
}

/// A setting of the programme that a request may override.
#[derive(Clone, Copy)]
enum Knob {
    Delay,
    DelayNs,
    Status,
    Size,
    Fault,
}

impl Overrides {
    fn turn(&mut self, knob: Knob, value: &[u8]) -> Result<(), BadRequest> {
        let value = str::from_utf8(value).map_err(|_| bad(400, "an override is not text\n"))?;
        let said = |error: crate::ParseError| bad(400, format!("{error}\n"));
        match knob {
            Knob::Delay => self.delay = Some(value.parse().map_err(said)?),
            Knob::DelayNs => {
                let ns = parse_digits(value.as_bytes())
                    .ok_or_else(|| bad(400, "the delay in ns is not a whole number\n"))?;
                self.delay = Some(Delay::Fixed(std::time::Duration::from_nanos(ns)));
            }
            Knob::Status => {
                let status = value.parse().ok().filter(|&status| status_is_valid(status));
                self.status =
                    Some(status.ok_or_else(|| bad(400, "the status must be 200 to 599\n"))?);
            }
            Knob::Size => {
                let bytes = parse_bytes(value).map_err(said)?;
                if bytes > Programme::BODY_MAX_BYTES {
                    return Err(bad(400, "the size must be at most 1g\n"));
                }
                self.body_bytes = Some(bytes);
            }
            Knob::Fault => self.fault = Some(value.parse().map_err(said)?),
        }
        Ok(())
    }
}

/// Decodes `%3A` and the like; malformed triples stay as they are.
fn percent_decoded(value: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(value.len());
    let mut rest = value;
    while let [first, tail @ ..] = rest {
        let triple = match tail {
            [high, low, ..] if *first == b'%' => hex_digit(*high).zip(hex_digit(*low)),
            _ => None,
        };
        match triple {
            Some((high, low)) => {
                decoded.push(high << 4 | low);
                rest = &tail[2..];
            }
            None => {
                decoded.push(*first);
                rest = tail;
            }
        }
    }
    decoded
}

fn hex_digit(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

/// Rest of a request's body that has not arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// No body.
    None,
    /// Bytes left, counted by `Content-Length`.
    Length(u64),
    /// A chunked body.
    Chunked(Chunks),
}

/// Position of the next byte in a chunked body (RFC 9112 §7.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chunks {
    place: Place,
    /// Bytes of framing since the last data: limited, so that no line is endless.
    framing_bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Size { bytes: u64, digits: u8 },
    Extension { bytes: u64 },
    Data { left: u64 },
    DataEnd,
    Trailer { line_is_empty: bool },
    End,
}

impl Body {
    /// Takes body bytes from the start of `bytes` and returns their number. Afterwards either the
    /// body is [`Body::None`] or all bytes are taken.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<usize, BadRequest> {
        match self {
            Body::None => Ok(0),
            Body::Length(left) => {
                let taken = bytes.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= taken as u64;
                if *left == 0 {
                    *self = Body::None;
                }
                Ok(taken)
            }
            Body::Chunked(chunks) => {
                let taken = chunks.take(bytes)?;
                if chunks.place == Place::End {
                    *self = Body::None;
                }
                Ok(taken)
            }
        }
    }
}

impl Chunks {
    fn new() -> Chunks {
        Chunks { place: Place::Size { bytes: 0, digits: 0 }, framing_bytes: 0 }
    }

    fn take(&mut self, bytes: &[u8]) -> Result<usize, BadRequest> {
        let mut at = 0;
        while at < bytes.len() && self.place != Place::End {
            if let Place::Data { left } = &mut self.place {
                let taken = (bytes.len() - at).min(usize::try_from(*left).unwrap_or(usize::MAX));
                at += taken;
                *left -= taken as u64;
                if *left == 0 {
                    self.place = Place::DataEnd;
                    self.framing_bytes = 0;
                }
                continue;
            }
            self.place = self.place.after(bytes[at])?;
            at += 1;
            self.framing_bytes += 1;
            if self.framing_bytes > HEAD_MAX_BYTES {
                return Err(bad(400, "the framing of a chunked body is longer than 64 KiB\n"));
            }
        }
        Ok(at)
    }
}

impl Place {
    /// Returns the position of the byte after this framing byte.
    fn after(self, byte: u8) -> Result<Place, BadRequest> {
        let malformed = || bad(400, "the chunked body is malformed\n");
        let begin = |bytes| match bytes {
            0 => Place::Trailer { line_is_empty: true },
            left => Place::Data { left },
        };
        Ok(match (self, byte) {
            (Place::Size { bytes, digits: 1.. }, b'\n') => begin(bytes),
            (Place::Size { bytes, digits: 1.. }, b'\r' | b';' | b' ' | b'\t') => {
                Place::Extension { bytes }
            }
            (Place::Size { bytes, digits: digits @ 0..15 }, _) => {
                let digit = hex_digit(byte).ok_or_else(malformed)?;
                Place::Size { bytes: bytes << 4 | u64::from(digit), digits: digits + 1 }
            }
            (Place::Extension { bytes }, b'\n') => begin(bytes),
            (Place::DataEnd, b'\r') => Place::DataEnd,
            (Place::DataEnd, b'\n') => Place::Size { bytes: 0, digits: 0 },
            (Place::Trailer { line_is_empty: true }, b'\n') => Place::End,
            (Place::Trailer { .. }, b'\n') => Place::Trailer { line_is_empty: true },
            (Place::Trailer { line_is_empty: true }, b'\r') => self,
            (Place::Trailer { .. }, _) => Place::Trailer { line_is_empty: false },
            (Place::Extension { .. }, _) => self,
            _ => return Err(malformed()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn read(text: &str) -> Request {
        let (request, taken) =
            Request::read(text.as_bytes()).expect("well-formed").expect("complete");
        assert_eq!(taken, text.len(), "{text:?}");
        request
    }

    #[test]
    fn a_plain_request() {
        assert!(read("GET / HTTP/1.1\r\nHost: a\r\n\r\n").is_plain());
        assert!(read("POST /x?y=z&w HTTP/1.1\r\nhost: a\r\nAccept: */*\r\n\r\n").is_plain());
        assert!(read("\r\nGET / HTTP/1.1\nHost: a\n\n").is_plain());
        assert!(!read("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n").is_plain());
        assert!(!read("GET / HTTP/1.0\r\n\r\n").is_plain());
    }

    #[test]
    fn an_incomplete_head_is_no_head_at_every_split() {
        let text = "POST /?delay=5ms HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nx-slot: 7\r\n\r\n";
        for split in 0..text.len() {
            assert_eq!(Request::read(&text.as_bytes()[..split]), Ok(None), "split at {split}");
        }
        let longer = format!("{text}abc");
        let (request, taken) = Request::read(longer.as_bytes()).expect("fine").expect("complete");
        assert_eq!(taken, text.len());
        assert_eq!(request, read(text));
    }

    #[test]
    fn headers_that_matter() {
        let with = |line: &str| read(&format!("GET / HTTP/1.1\r\nHost: a\r\n{line}\r\n\r\n"));
        assert!(with("Connection: close").wants_close);
        assert!(with("connection: Upgrade, CLOSE").wants_close);
        assert!(with("Connection: keep-alive").wants_keep_alive);
        assert!(with("Expect: 100-continue").expects_continue);
        assert_eq!(with("Content-Length: 5").body, Body::Length(5));
        assert_eq!(with("Content-Length: 5\r\nContent-Length: 5").body, Body::Length(5));
        assert_eq!(with("Transfer-Encoding: Chunked").body, Body::Chunked(Chunks::new()));
        assert_eq!(with("x-slot: 00042").slot.as_bytes(), b"00042");
        assert_eq!(with(&format!("X-Slot: {}", "7".repeat(33))).slot.as_bytes(), b"");
        assert_eq!(with(&format!("X-Slot: {}", "7".repeat(32))).slot.as_bytes(), [b'7'; 32]);
    }

    #[test]
    fn overrides_by_header_and_by_query() {
        let by_header = read(
            "GET / HTTP/1.1\r\nHost: a\r\nx-delay: exp:2ms\r\nx-status: 503\r\nx-size: 10k\r\n\
             x-fault: reset\r\n\r\n",
        );
        let query = "delay=exp%3a2ms&status=503&x=1&size=10k&fault=reset";
        let by_query = read(&format!("GET /a/b?{query} HTTP/1.1\r\nHost: a\r\n\r\n"));
        assert_eq!(by_header.overrides, by_query.overrides);
        let mean = Duration::from_millis(2);
        assert_eq!(by_header.overrides.delay, Some(Delay::Exponential { mean }));
        assert_eq!(by_header.overrides.status, Some(503));
        assert_eq!(by_header.overrides.body_bytes, Some(10_240));
        assert_eq!(by_header.overrides.fault, Some(FaultKind::Reset));
        let ns = read("GET /?delay_ns=1500 HTTP/1.1\r\nHost: a\r\nx-delay-ns: 1501\r\n\r\n");
        assert_eq!(ns.overrides.delay, Some(Delay::Fixed(Duration::from_nanos(1501))));
        assert!(read("GET /weir/stats?x HTTP/1.1\r\nHost: a\r\n\r\n").is_stats);
        assert!(!read("GET /weir/statsx HTTP/1.1\r\nHost: a\r\n\r\n").is_stats);
    }

    #[test]
    fn what_is_no_request_is_refused() {
        let check = |text: &str, status: u16| {
            let error = Request::read(text.as_bytes()).expect_err(text);
            assert_eq!(error.status, status, "{text:?}: {}", error.why);
        };
        check("GET /\r\n\r\n", 400);
        check("GET  / HTTP/1.1\r\n\r\n", 400);
        check("GET / FTP/1.1\r\n\r\n", 400);
        check("PRI * HTTP/2.0\r\n\r\n", 505);
        check("GET / HTTP/1.1\r\n\r\n", 400);
        check("GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400);
        check("GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n", 400);
        check("GET / HTTP/1.1\r\nno colon\r\n\r\n", 400);
        check("GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400);
        check("GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400);
        check("GET / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400);
        check("GET / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", 501);
        check("GET / HTTP/1.1\r\nx-delay: soon\r\n\r\n", 400);
        check("GET /?status=99 HTTP/1.1\r\n\r\n", 400);
        check("GET /?size=2g HTTP/1.1\r\n\r\n", 400);
        check("GET /?fault=boom HTTP/1.1\r\n\r\n", 400);
        check(&"x".repeat(HEAD_MAX_BYTES), 431);
        assert_eq!(Request::read("x".repeat(HEAD_MAX_BYTES - 1).as_bytes()), Ok(None));
    }

    /// Checks that the body takes exactly its own bytes, however they are split.
    fn check_body(body: &Body, text: &[u8]) {
        let tail = b"GET";
        let all = [text, tail].concat();
        for split in 0..=text.len() {
            let mut body = body.clone();
            let mut taken = body.take(&all[..split]).expect("well-formed");
            if body != Body::None {
                assert_eq!(taken, split);
                taken += body.take(&all[split..]).expect("well-formed");
            }
            assert_eq!((taken, body), (text.len(), Body::None), "split at {split}");
        }
    }

    #[test]
    fn bodies_end_where_they_end_at_every_split() {
        check_body(&Body::Length(5), b"12345");
        let chunked = Body::Chunked(Chunks::new());
        check_body(&chunked, b"0\r\n\r\n");
        check_body(&chunked, b"5\r\nhello\r\n0\r\n\r\n");
        check_body(
            &chunked,
            b"A;x=y\r\n0123456789\r\n1 \r\n\n\r\n00\r\nTrailer: 1\r\nb: c\r\n\r\n",
        );
        check_body(&chunked, b"5\nhello\n0\n\n");
    }

    #[test]
    fn a_broken_chunked_body_is_refused() {
        for text in ["\r\n", "x\r\n", "5\r\nhelloX", "1111111111111111\r\n", "-1\r\n"] {
            let mut body = Body::Chunked(Chunks::new());
            assert!(body.take(text.as_bytes()).is_err(), "{text:?}");
        }
        let mut body = Body::Chunked(Chunks::new());
        assert!(body.take(format!("5;{}", "x".repeat(HEAD_MAX_BYTES)).as_bytes()).is_err());
    }
}
