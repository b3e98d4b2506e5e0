//! Parser for raw request bytes written by a script: finds the end of each request and the traits
//! that affect parsing of its response. It validates no more than that, so that scripts can send
//! unusual requests. Independent of the source of the bytes.

use std::ops::Range;

use memchr::{memchr, memchr_iter, memrchr};
use thiserror::Error;

use crate::error::ProtocolError;
use crate::message::chunked::ChunkFraming;
use crate::message::framing::{BodyEnd, FramingFields};
use crate::message::line::{self, Field, Line, LineOffsets, is_token};
use crate::message::scan;
use crate::request_id::DEPTH_MAX;
use crate::request_traits::RequestTraits;

/// One request of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawRequest {
    /// Length on the wire: empty lines before the request line, head and body.
    pub bytes: u32,
    /// Properties that affect parsing of its response.
    pub traits: RequestTraits,
}

/// Error in a string that is not one or several complete requests, with its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{reason} at {line}:{column}")]
pub struct RawRequestError {
    /// Line number, from 1; lines end with LF.
    pub line: u32,
    /// Byte position in the line, from 1.
    pub column: u32,
    /// Short description of the error.
    pub reason: &'static str,
}

/// Limit on the length of a string, exclusive, in bytes: lengths on the wire fit in 32 bits.
const STRING_BYTES_LIMIT: usize = 1 << 30;

/// Finds the HTTP/1 requests that make up `bytes`, 1 to 1024, in order; clears `requests` first.
/// Their lengths add up to the length of `bytes`.
///
/// Empty lines before a request line belong to that request (RFC 9112 §2.2), those after the last
/// request to the last one. `Content-Length` or the chunks determine the length of a body; without
/// either it is empty (RFC 9112 §6.3). Lines may end with a lone LF.
///
/// # Errors
/// The reason is `incomplete request`, at the end, if the string ends within a request or contains
/// none. Other reasons describe the invalid bytes. CONNECT is rejected because it creates a tunnel
/// (RFC 9110 §9.3.6). A request after one with `Connection: close` is rejected too, because it
/// would have no response (RFC 9112 §9.6). After an error, `requests` contains the requests before
/// it.
pub fn read_requests(bytes: &[u8], requests: &mut Vec<RawRequest>) -> Result<(), RawRequestError> {
    requests.clear();
    read_all(bytes, requests).map_err(|fault| fault.locate(bytes))
}

/// Positions of the parts of a request.
pub(crate) struct Parts {
    pub(crate) method: Range<usize>,
    pub(crate) target: Range<usize>,
    /// Field lines and the empty line after them.
    pub(crate) fields: Range<usize>,
    pub(crate) body: BodyPieces,
}

/// Positions of a body: one, or those of the data of its chunks.
#[derive(Debug, Default)]
pub(crate) struct BodyPieces {
    pub(crate) first: Range<usize>,
    /// Most bodies are in one piece, so that this needs no memory.
    pub(crate) rest: Vec<Range<usize>>,
}

impl BodyPieces {
    fn push(&mut self, piece: Range<usize>) {
        match self.first.end {
            0 => self.first = piece,
            _ => self.rest.push(piece),
        }
    }
}

/// Returns the positions of the parts of the first request in `bytes`.
///
/// # Errors
/// If `bytes` do not begin with a complete request.
pub(crate) fn split(bytes: &[u8]) -> Result<Parts, RawRequestError> {
    let at = line::after_empty_lines(bytes, 0);
    let mut body = BodyPieces::default();
    let read = read_request_line(bytes, at).and_then(|line| {
        let (_, fields_end, _) = read_request(bytes, at, |piece| body.push(piece))?;
        Ok((line, fields_end))
    });
    let (line, fields_end) = read.map_err(|fault| fault.locate(bytes))?;
    let method = at..line.method;
    let target = line.method + 1..line.target;
    Ok(Parts { method, target, fields: line.next..fields_end, body })
}

/// An error at an offset.
#[derive(Clone, Copy, Debug)]
struct RawFault {
    at: usize,
    reason: &'static str,
}

impl RawFault {
    #[cold]
    fn incomplete(bytes: &[u8]) -> RawFault {
        RawFault { at: bytes.len(), reason: "incomplete request" }
    }

    #[cold]
    fn locate(self, bytes: &[u8]) -> RawRequestError {
        let before = &bytes[..self.at];
        let line_at = memrchr(b'\n', before).map_or(0, |newline| newline + 1);
        let lines = memchr_iter(b'\n', before).count();
        let count = |count: usize| u32::try_from(count + 1).expect("the string is below 1 GiB");
        RawRequestError {
            line: count(lines),
            column: count(self.at - line_at),
            reason: self.reason,
        }
    }
}

fn read_all(bytes: &[u8], requests: &mut Vec<RawRequest>) -> Result<(), RawFault> {
    if bytes.len() >= STRING_BYTES_LIMIT {
        return Err(RawFault { at: 0, reason: "1 GiB or more" });
    }
    let length = |length: usize| u32::try_from(length).expect("the string is below 1 GiB");
    let mut at = 0;
    loop {
        let line_at = line::after_empty_lines(bytes, at);
        if line_at == bytes.len() {
            let last = requests.last_mut().ok_or_else(|| RawFault::incomplete(bytes))?;
            last.bytes += length(line_at - at);
            return Ok(());
        }
        if requests.last().is_some_and(|last| last.traits.closes) {
            return Err(RawFault { at: line_at, reason: "request after one that asks to close" });
        }
        if requests.len() == usize::from(DEPTH_MAX) {
            return Err(RawFault { at: line_at, reason: "more than 1024 requests" });
        }
        let (traits, _, next) = read_request(bytes, line_at, |_| {})?;
        requests.push(RawRequest { bytes: length(next - at), traits });
        at = next;
    }
}

/// Parses the request whose first line starts at `at`. Returns its traits, the end of its head and
/// its end. `data` receives the position of the body, or of the data of each chunk.
#[inline(always)]
fn read_request(
    bytes: &[u8],
    at: usize,
    mut data: impl FnMut(Range<usize>),
) -> Result<(RequestTraits, usize, usize), RawFault> {
    let line = read_request_line(bytes, at)?;
    let mut framing = FramingFields::default();
    // Position of the first faulty field, or else of the last candidate, as some fields are faulty
    // only in combination.
    let mut framing_at = line.next;
    let mut is_sound = true;
    let body_at = read_section(bytes, line.next, |field_at, field| {
        let name = &bytes[field_at..field.colon];
        let value = &bytes[field.colon + 1..field.content];
        let is_framing = framing.field(name, value);
        if is_framing && is_sound && name.len() != "Connection".len() {
            (framing_at, is_sound) = (field_at, framing.fault.is_none());
        }
        is_framing
    })?;
    let head = &bytes[at..line.method] == b"HEAD";
    let traits = RequestTraits { head, closes: framing.closes(line.minor) };
    let end = match framing.sent_body(line.minor) {
        Ok(BodyEnd::Fixed(length)) => {
            let end = if length == 0 { body_at } else { after(bytes, body_at, length)? };
            data(body_at..end);
            end
        }
        Ok(_) => after_chunks(bytes, body_at, data)?,
        Err(error) => return Err(framing_fault(framing_at, error)),
    };
    Ok((traits, body_at, end))
}

#[inline]
fn read_request_line(bytes: &[u8], at: usize) -> Result<LineOffsets, RawFault> {
    let Some(line) = line::read_request(bytes, at) else { return odd_request_line(bytes, at) };
    if &bytes[at..line.method] == b"CONNECT" {
        return Err(RawFault { at, reason: "CONNECT makes a tunnel" });
    }
    Ok(line)
}

/// Parses a request line that is not in the usual form. Methods and versions are validated byte by
/// byte. Bytes left over after a request, as from a wrong length, therefore do not count as the
/// start of one.
#[cold]
fn odd_request_line(bytes: &[u8], at: usize) -> Result<LineOffsets, RawFault> {
    let method_end = scan::find_name_end(bytes, at).unwrap_or(bytes.len());
    let method = &bytes[at..method_end];
    if !is_token(method) || bytes.get(method_end) != Some(&b' ') {
        return Err(method_fault(bytes, at));
    }
    if method == b"CONNECT" {
        return Err(RawFault { at, reason: "CONNECT makes a tunnel" });
    }
    let target_at = method_end + 1;
    let target_end =
        scan::find_blank(bytes, target_at).ok_or_else(|| RawFault::incomplete(bytes))?;
    if bytes[target_end] != b' ' || target_end == target_at {
        return Err(RawFault { at: target_end, reason: "invalid request target" });
    }
    after_blanks(bytes, method_end, target_end + 1)
}

/// Parses a request line with blanks in the target, as written by scripts that encode nothing; many
/// servers accept it up to its version. `version_at` is the version's position without blanks.
fn after_blanks(bytes: &[u8], method: usize, version_at: usize) -> Result<LineOffsets, RawFault> {
    let fault = || version_fault(bytes, version_at);
    let line_end = memchr(b'\n', &bytes[version_at..]).ok_or_else(fault)?;
    let line = &bytes[version_at..version_at + line_end];
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    match line {
        [.., b' ', b'H', b'T', b'T', b'P', b'/', b'1', b'.', minor @ b'0'..=b'9'] => {
            let target = version_at + line.len() - " HTTP/1.1".len();
            let next = version_at + line_end + 1;
            Ok(LineOffsets { method, target, minor: minor - b'0', next })
        }
        _ => Err(fault()),
    }
}

#[cold]
fn method_fault(bytes: &[u8], at: usize) -> RawFault {
    // The first half of an empty line.
    if &bytes[at..] == b"\r" {
        return RawFault::incomplete(bytes);
    }
    let is_bad = |byte: &u8| !is_token(std::slice::from_ref(byte));
    match bytes[at..].iter().position(is_bad) {
        Some(index) => RawFault { at: at + index, reason: "invalid method" },
        None => RawFault::incomplete(bytes),
    }
}

#[cold]
fn version_fault(bytes: &[u8], at: usize) -> RawFault {
    let is_bad = |(index, byte): (usize, &u8)| match index {
        0..7 => *byte != b"HTTP/1."[index],
        7 => !byte.is_ascii_digit(),
        8 => !matches!(byte, b'\r' | b'\n'),
        _ => true,
    };
    match bytes[at..].iter().enumerate().position(is_bad) {
        Some(index) => RawFault { at: at + index, reason: "invalid HTTP version" },
        None => RawFault::incomplete(bytes),
    }
}

/// Parses fields up to and including the empty line that ends them, and returns its end. `take`
/// receives each field and its line's start, and returns true if it is a framing field.
#[inline(always)]
fn read_section(
    bytes: &[u8],
    mut at: usize,
    mut take: impl FnMut(usize, Field) -> bool,
) -> Result<usize, RawFault> {
    // True if the previous line may be continued: framing fields may not, as in responses.
    let mut can_fold = false;
    loop {
        let field = match line::plain_field(bytes, at) {
            Some(field) => field,
            None if line::is_plain_end(bytes, at) => return Ok(at + 2),
            None => match read_line(bytes, at)? {
                Line::Field(field) => field,
                Line::End { next } => return Ok(next),
                Line::Fold { next, .. } if can_fold => {
                    at = next;
                    continue;
                }
                Line::Fold { .. } => return Err(RawFault { at, reason: "invalid header" }),
            },
        };
        can_fold = !take(at, field);
        at = field.next;
    }
}

#[cold]
fn read_line(bytes: &[u8], at: usize) -> Result<Line, RawFault> {
    let line = line::read(bytes, at).map_err(|_| header_fault(bytes, at))?;
    line.ok_or_else(|| RawFault::incomplete(bytes))
}

/// Returns the error in a complete line at `at` that is not a field.
fn header_fault(bytes: &[u8], at: usize) -> RawFault {
    let name_end = scan::find_name_end(bytes, at).unwrap_or(at);
    let is_bad = |pair: &[u8]| pair[0] == 0 || (pair[0] == b'\r' && pair[1] != b'\n');
    let spoiled_at = match bytes[name_end] {
        b':' if name_end > at => bytes[name_end..].windows(2).position(is_bad).unwrap_or(0),
        _ => 0,
    };
    RawFault { at: name_end + spoiled_at, reason: "invalid header" }
}

#[cold]
fn framing_fault(at: usize, error: ProtocolError) -> RawFault {
    let reason = match error {
        ProtocolError::BadContentLength => "invalid Content-Length",
        ProtocolError::ConflictingContentLength => "conflicting Content-Length",
        ProtocolError::ConflictingFraming => "Content-Length beside an odd Transfer-Encoding",
        ProtocolError::BadTransferEncoding => "invalid Transfer-Encoding",
        _ => "invalid header",
    };
    RawFault { at, reason }
}

/// Returns the end of `length` bytes at `at`.
fn after(bytes: &[u8], at: usize, length: u64) -> Result<usize, RawFault> {
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let end = at.checked_add(length).filter(|&end| end <= bytes.len());
    end.ok_or_else(|| RawFault::incomplete(bytes))
}

/// Returns the end of a chunked body and its trailers (RFC 9112 §7.1). `data` receives the position
/// of the data of each chunk.
fn after_chunks(
    bytes: &[u8],
    mut at: usize,
    mut data: impl FnMut(Range<usize>),
) -> Result<usize, RawFault> {
    let mut framing = ChunkFraming::default();
    loop {
        let mut size = 0;
        let mut is_end = false;
        // One byte at a time, so that an error has an exact position.
        while !is_end {
            let byte = bytes.get(at..=at).ok_or_else(|| RawFault::incomplete(bytes))?;
            let read = framing.read(&mut size, byte, false);
            (_, is_end) = read.map_err(|_| RawFault { at, reason: "invalid chunk" })?;
            at += 1;
        }
        if size == 0 {
            return read_section(bytes, at, |_, _| false);
        }
        let end = after(bytes, at, size)?;
        data(at..end);
        at = end;
        framing = ChunkFraming::next();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: impl AsRef<[u8]>) -> Result<Vec<(u32, bool, bool)>, String> {
        let mut requests = vec![];
        let read = read_requests(text.as_ref(), &mut requests);
        read.map_err(|error| error.to_string())?;
        let found = requests.iter();
        Ok(found.map(|raw| (raw.bytes, raw.traits.head, raw.traits.closes)).collect())
    }

    /// Checks a string that is exactly one request.
    fn check_one(text: &str, head: bool, closes: bool) {
        assert_eq!(read(text), Ok(vec![(text.len() as u32, head, closes)]), "{text:?}");
        for cut in 0..text.len() {
            let error = read(&text.as_bytes()[..cut]).unwrap_err();
            assert!(error.starts_with("incomplete request at "), "{error}: {text:?} cut at {cut}");
        }
    }

    #[test]
    fn targets_may_hold_blanks() {
        for text in ["GET /a b HTTP/1.1\r\n\r\n", "GET / HTTP/1.1 x HTTP/1.1\n\n"] {
            assert_eq!(read(text), Ok(vec![(text.len() as u32, false, false)]), "{text:?}");
        }
    }

    #[test]
    fn one_request() {
        check_one("GET / HTTP/1.1\r\nHost: h\r\n\r\n", false, false);
        check_one("HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n", true, false);
        check_one("head /a HTTP/1.1\r\nHost: h\r\n\r\n", false, false);
        check_one("M-SEARCH * HTTP/1.1\n\n", false, false);
        check_one("GET http://h:80/\u{fc}?a=\"<>\x7f HTTP/1.7\r\n\r\n", false, false);
        check_one("\r\n\n\r\nGET / HTTP/1.1\r\n\r\n", false, false);
        check_one(
            "GET / HTTP/1.1\r\nX: a\tb\r\n c\r\n\td\r\nY:\r\nZ: \u{fc}\r\n\r\n",
            false,
            false,
        );
    }

    #[test]
    fn bodies() {
        let post = |fields: &str, body: &str| format!("POST / HTTP/1.1\r\n{fields}\r\n{body}");
        check_one(&post("Content-Length: 0\r\n", ""), false, false);
        check_one(&post("content-length:3\r\nX: y\r\n", "\r\n\r"), false, false);
        check_one(&post("Content-Length: 3, 03\r\n", "abc"), false, false);
        check_one("HEAD / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", true, false);
        for body in
            ["0\r\n\r\n", "3\r\nabc\r\n0\r\n\r\n", "1;x=\"y\"\r\na\r\n0\r\nT: u\r\n v\r\n\n"]
        {
            check_one(&post("Transfer-Encoding: chunked\r\n", body), false, false);
            let both = "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n";
            check_one(&post(both, body), false, false);
            check_one(&post("TRANSFER-ENCODING: gzip,\tChunked\r\n", body), false, false);
        }
        let framing_in_trailers = "0\r\nContent-Length: 9\r\nConnection: close\r\n\r\n";
        check_one(&post("Transfer-Encoding: chunked\r\n", framing_in_trailers), false, false);
    }

    #[test]
    fn requests_that_close() {
        let check = |minor, fields: &str, closes| {
            check_one(&format!("GET / HTTP/1.{minor}\r\n{fields}\r\n"), false, closes);
        };
        check(1, "Connection: close\r\n", true);
        check(1, "CONNECTION:\tx,CLOSE ,y\r\n", true);
        check(1, "Connection: x\r\nConnection: Close\r\n", true);
        check(1, "Connection: closed\r\nConnections: close\r\n", false);
        check(1, "Connection: keep-alive\r\n", false);
        check(0, "", true);
        check(0, "Connection: Keep-Alive\r\n", false);
        check(0, "Connection: keep-alive, close\r\n", true);
    }

    #[test]
    fn several_requests() {
        let get = "GET / HTTP/1.1\r\n\r\n";
        let head = "HEAD / HTTP/1.1\r\n\r\n";
        let post = "\r\nPOST / HTTP/1.1\r\nContent-Length: 18\r\n\r\n".to_owned() + get;
        let last = "GET / HTTP/1.0\r\n\r\n";
        let all = [get, head, &post, last, "\r\n\n"].concat();
        let lengths = [get, head, &post].map(|text| text.len() as u32);
        let expected = vec![
            (lengths[0], false, false),
            (lengths[1], true, false),
            (lengths[2], false, false),
            (last.len() as u32 + 3, false, true),
        ];
        assert_eq!(read(&all), Ok(expected));
        assert_eq!(read(get.repeat(1024)).map(|requests| requests.len()), Ok(1024));
        let error = read(get.repeat(1025)).unwrap_err();
        assert_eq!(error, "more than 1024 requests at 2049:1");
    }

    #[test]
    fn an_error_leaves_the_requests_before_it() {
        let get = "GET / HTTP/1.1\r\n\r\n";
        let mut requests = vec![RawRequest { bytes: 7, traits: RequestTraits::default() }; 3];
        let error = read_requests([get, "G"].concat().as_bytes(), &mut requests).unwrap_err();
        assert_eq!((error.line, error.column), (3, 2));
        assert_eq!(requests.len(), 1);
        assert_eq!(requests[0].bytes as usize, get.len());
    }

    #[test]
    fn what_is_no_request() {
        let check = |text: &str, expected: &str| {
            assert_eq!(read(text).unwrap_err(), expected, "{text:?}");
        };
        check("", "incomplete request at 1:1");
        check("\r\n", "incomplete request at 2:1");
        check("\r", "incomplete request at 1:2");
        check("GET / HTTP/1.1\r\nHost: h\r\n", "incomplete request at 3:1");
        check("GET / HTTP/1.1\r\n\r\n\r", "incomplete request at 3:2");
        check(
            "POST / HTTP/1.1\r\nContent-Length: 18446744073709551615\r\n\r\nab",
            "incomplete request at 4:3",
        );
        check("\rGET", "invalid method at 1:1");
        check(" GET / HTTP/1.1", "invalid method at 1:1");
        check("G\u{fc}T / HTTP/1.1", "invalid method at 1:2");
        check("GET:/ HTTP/1.1", "invalid method at 1:4");
        check("GET\t/", "invalid method at 1:4");
        check("GET\r\n", "invalid method at 1:4");
        check("CONNECT h:1 HTTP/1.1\r\n\r\n", "CONNECT makes a tunnel at 1:1");
        check("GET  / HTTP/1.1\r\n", "invalid request target at 1:5");
        check("GET /\0 HTTP/1.1\r\n", "invalid request target at 1:6");
        check("GET /\r\n", "invalid request target at 1:6");
        check("GET /a b HTTP/2\r\n\r\n", "invalid HTTP version at 1:8");
        check("GET /a b", "invalid HTTP version at 1:8");
        check("GET / HTTP/2", "invalid HTTP version at 1:12");
        check("GET / HTTP/1.x", "invalid HTTP version at 1:14");
        check("GET / HTTP/1.1 \r\n", "invalid HTTP version at 1:15");
        check("GET / HTTP/1.1\rX", "invalid HTTP version at 1:16");
        let head = "GET / HTTP/1.1\r\nHost: h\r\n";
        let check = |rest: &str, expected: &str| check(&[head, rest].concat(), expected);
        check("X y: z\r\n", "invalid header at 3:2");
        check(": z\r\n", "invalid header at 3:1");
        check("X\r\n", "invalid header at 3:2");
        check("X: a\0\r\n", "invalid header at 3:5");
        check("X: a\rb\r\n", "invalid header at 3:5");
        check("Content-Length: 1\r\n 2\r\n", "invalid header at 4:1");
        check("Content-Length: 1x\r\nConnection: a\r\n\r\n", "invalid Content-Length at 3:1");
        check(
            "A: b\r\nContent-Length: 1\r\nContent-Length: 2\r\nContent-Length: 1\r\n\r\n",
            "conflicting Content-Length at 5:1",
        );
        check(
            "Content-Length: 1\r\nTransfer-Encoding: gzip\r\nConnection: a\r\n\r\n",
            "Content-Length beside an odd Transfer-Encoding at 4:1",
        );
        check("Transfer-Encoding: gzip\r\n\r\n", "invalid Transfer-Encoding at 3:1");
        check("Connection: close\r\n\r\nGET", "request after one that asks to close at 5:1");
        let check = |body: &str, expected: &str| {
            check(&["Transfer-Encoding: chunked\r\n\r\n", body].concat(), expected);
        };
        check("x\r\n", "invalid chunk at 5:1");
        check("1\r\nab", "invalid chunk at 6:2");
        check("1\r\na\r\n0\r\n X: y\r\n", "invalid header at 8:1");
        check("0\r\nX y\r\n", "invalid header at 6:2");
        check("0\r\n\r\n{", "invalid method at 7:1");
    }

    #[test]
    fn a_string_has_a_limit() {
        // The zeros are never written, so they take no memory.
        let error = read_requests(&vec![0; 1 << 30], &mut Vec::new()).unwrap_err();
        assert_eq!(error.to_string(), "1 GiB or more at 1:1");
        let error = read_requests(&vec![0; (1 << 30) - 1], &mut Vec::new()).unwrap_err();
        assert_eq!(error.to_string(), "invalid method at 1:1");
    }
}
