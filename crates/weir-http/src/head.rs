//! Parser for a whole head with its fields, to inspect one response, as in the check before a run.
//! It must not determine the end of a body; that is the task of [`crate::Http1`].

use crate::error::ProtocolError;
use crate::message::line::{self, Field, Line, REASON_AT};
use crate::message::section::SECTION_BYTES_MAX;

/// The head of a response, borrowed from its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head<'a> {
    /// `HTTP/1.1` or `HTTP/1.0`; a higher minor version is kept as written.
    pub version: &'a str,
    /// The status code, 100 to 999.
    pub status: u16,
    /// The reason phrase, often empty.
    pub reason: &'a [u8],
    /// Names and values in order, the values without whitespace around them. A folded value (RFC
    /// 9112 §5.2) contains its line ends.
    pub headers: Vec<(&'a str, &'a [u8])>,
    /// Length of the head in bytes, including the empty line.
    pub bytes: usize,
}

impl<'a> Head<'a> {
    /// Returns the first value of a header; the name is case-insensitive.
    pub fn header(&self, name: &str) -> Option<&'a [u8]> {
        let mut named = self.headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
        named.next().map(|&(_, value)| value)
    }
}

/// Parses the head at the start of `bytes`, of an interim or a final response; `None` if it is
/// incomplete. Accepts the same heads as [`crate::Http1`], but does not validate the framing
/// fields.
pub fn read_head(bytes: &[u8]) -> Result<Option<Head<'_>>, ProtocolError> {
    let window = &bytes[..bytes.len().min(SECTION_BYTES_MAX)];
    let unfinished =
        || if window.len() < bytes.len() { Err(ProtocolError::HeadTooLarge) } else { Ok(None) };
    let Some(status) = line::read_status(window)? else { return unfinished() };
    let mut headers = Vec::new();
    let mut at = status.next;
    let mut value_at = 0;
    while let Some(line) = line::read(window, at)? {
        at = match line {
            Line::Field(Field { colon, content, next }) => {
                value_at = colon + 1;
                headers.push((text(&window[at..colon]), line::trim(&window[value_at..content])));
                next
            }
            Line::Fold { content, next } => {
                let (_, value) = headers.last_mut().ok_or(ProtocolError::BadHeader)?;
                *value = line::trim(&window[value_at..content]);
                next
            }
            Line::End { next } => {
                return Ok(Some(Head {
                    version: text(&window[..8]),
                    status: status.status,
                    reason: window.get(REASON_AT..status.content).unwrap_or_default(),
                    headers,
                    bytes: next,
                }));
            }
        };
    }
    unfinished()
}

fn text(ascii: &[u8]) -> &str {
    str::from_utf8(ascii).expect("versions and names have passed as ASCII")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_with_its_fields() {
        let bytes = b"HTTP/1.0 404 Not Found\r\nServer: a\r\nX:\r\nserver:\t b \r\n c\r\n\r\nbody";
        let head = read_head(bytes).unwrap().unwrap();
        assert_eq!((head.version, head.status, head.reason), ("HTTP/1.0", 404, &b"Not Found"[..]));
        assert_eq!(head.header("SERVER"), Some(&b"a"[..]));
        assert_eq!(head.header("x"), Some(&b""[..]));
        assert_eq!(head.header("y"), None);
        assert_eq!(head.headers[2], ("server", &b"b \r\n c"[..]));
        assert_eq!(&bytes[head.bytes..], b"body");
        for cut in 0..head.bytes {
            assert_eq!(read_head(&bytes[..cut]), Ok(None), "{cut}");
        }
    }

    #[test]
    fn the_reason_may_be_missing() {
        for bytes in [&b"HTTP/1.1 200\r\n\r\n"[..], b"HTTP/1.1 200 \n\n", b"HTTP/1.1 200\n\n"] {
            let head = read_head(bytes).unwrap().unwrap();
            assert_eq!((head.status, head.reason, head.bytes), (200, &b""[..], bytes.len()));
        }
    }

    #[test]
    fn heads_that_are_none() {
        let check = |bytes: &[u8], error| assert_eq!(read_head(bytes), Err(error));
        check(b"HTTP/2", ProtocolError::BadStatusLine);
        check(b"HTTP/1.1 200 OK\r\nX : y\r\n", ProtocolError::BadHeader);
        check(b"HTTP/1.1 200 OK\r\n fold\r\n", ProtocolError::BadHeader);
        let mut large = b"HTTP/1.1 200 OK\r\nX: ".to_vec();
        large.resize(SECTION_BYTES_MAX, b'x');
        assert_eq!(read_head(&large), Ok(None));
        large.push(b'\n');
        check(&large, ProtocolError::HeadTooLarge);
    }
}
