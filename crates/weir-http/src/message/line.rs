//! Lines of a head and of trailers: request line, status line, field, fold, end (RFC 9112 §3 to
//! §5). Defines their syntax, not the meaning of fields.

use super::scan::{self, LineEnd};
use crate::error::ProtocolError;

/// A complete request line, by offsets in the bytes that it was read from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineOffsets {
    /// End of the method, a token.
    pub(crate) method: usize,
    /// End of the target, which starts one byte after the method's end.
    pub(crate) target: usize,
    /// Minor version as written, a digit.
    pub(crate) minor: u8,
    pub(crate) next: usize,
}

/// A complete status line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StatusLine {
    /// Minor version, 1 for HTTP/1.1. A higher one counts as 1 (RFC 9110 §2.5).
    pub(crate) minor: u8,
    pub(crate) status: u16,
    /// End of the line's content; the reason phrase, if any, starts at [`REASON_AT`].
    pub(crate) content: usize,
    pub(crate) next: usize,
}

/// Offset of the reason phrase, after `HTTP/1.1 200 `.
pub(crate) const REASON_AT: usize = 13;

/// One line after the status line.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Line {
    Field(Field),
    /// A continuation of the field above (obs-fold, RFC 9112 §5.2).
    Fold {
        content: usize,
        next: usize,
    },
    /// The empty line that ends the section.
    End {
        next: usize,
    },
}

/// A field: its colon is at `colon`, its value ends before `content`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub(crate) colon: usize,
    pub(crate) content: usize,
    pub(crate) next: usize,
}

/// Returns the position after the empty lines at `at`, which RFC 9112 §2.2 lets a server ignore
/// before a request line.
#[inline]
pub(crate) fn after_empty_lines(bytes: &[u8], mut at: usize) -> usize {
    loop {
        at += match bytes[at..] {
            [b'\r', b'\n', ..] => 2,
            [b'\n', ..] => 1,
            _ => return at,
        };
    }
}

/// Parses the request line at `at` if it has the form of RFC 9112 §3: method, target without
/// blanks, version of HTTP/1, one space between them. `None` if it has another or is incomplete.
#[inline(always)]
pub(crate) fn read_request(bytes: &[u8], at: usize) -> Option<LineOffsets> {
    let method = method_end(bytes, at)?;
    let target = scan::find_blank(bytes, method + 1)?;
    if bytes[target] != b' ' || target == method + 1 {
        return None;
    }
    let version_at = target + 1;
    match bytes[version_at..] {
        [b'H', b'T', b'T', b'P', b'/', b'1', b'.', minor @ b'0'..=b'9', ref end @ ..] => {
            let next = match end {
                [b'\r', b'\n', ..] => version_at + 10,
                [b'\n', ..] => version_at + 9,
                _ => return None,
            };
            Some(LineOffsets { method, target, minor: minor - b'0', next })
        }
        _ => None,
    }
}

/// Returns the end of the method at `at`, a token before a space; `None` if there is none.
#[inline(always)]
fn method_end(bytes: &[u8], at: usize) -> Option<usize> {
    // Nearly every request has one of these two, which need no search.
    let rest = &bytes[at..];
    if rest.starts_with(b"GET ") {
        return Some(at + 3);
    }
    if rest.starts_with(b"POST ") {
        return Some(at + 4);
    }
    let end = scan::find_name_end(bytes, at)?;
    (bytes[end] == b' ' && is_token(&bytes[at..end])).then_some(end)
}

/// Parses the status line at the start of `bytes`; `None` if it is incomplete.
///
/// The fixed part is validated byte by byte, so that a response that is not HTTP/1 fails at once.
#[inline(always)]
pub(crate) fn read_status(bytes: &[u8]) -> Result<Option<StatusLine>, ProtocolError> {
    let Some(start) = bytes.first_chunk::<REASON_AT>() else {
        return if is_status_start(bytes) { Ok(None) } else { Err(no_status(bytes)) };
    };
    if !is_status_start(start) {
        return Err(no_status(start));
    }
    let digit = |at: usize| u16::from(start[at] - b'0');
    let status = digit(9) * 100 + digit(10) * 10 + digit(11);
    let end = match plain_end(bytes, REASON_AT - 1) {
        Some((content, next)) => LineEnd::At { content, next },
        None => scan::line_end(bytes, REASON_AT - 1),
    };
    match end {
        LineEnd::At { content, next } => {
            Ok(Some(StatusLine { minor: start[7] - b'0', status, content, next }))
        }
        LineEnd::Missing => Ok(None),
        LineEnd::Spoiled => Err(ProtocolError::BadStatusLine),
    }
}

/// Returns the error of a response that does not begin with a status line. A server of TLS ends a
/// plain request with an alert, whose record begins with this byte (RFC 8446 §5.1).
#[cold]
fn no_status(bytes: &[u8]) -> ProtocolError {
    match bytes {
        [0x15, ..] => ProtocolError::TlsRecord,
        _ => ProtocolError::BadStatusLine,
    }
}

/// True if the first bytes of a response, as far as they go, begin a status line. The code is 100
/// or more: a lower one is invalid (RFC 9110 §15), and would count as a success.
#[inline(always)]
pub(crate) fn is_status_start(bytes: &[u8]) -> bool {
    const FIXED: &[u8; 7] = b"HTTP/1.";
    let fixed = bytes.len().min(FIXED.len());
    bytes[..fixed] == FIXED[..fixed]
        && bytes.get(7).is_none_or(u8::is_ascii_digit)
        && bytes.get(8).is_none_or(|&byte| byte == b' ')
        && bytes.get(9).is_none_or(|byte| (b'1'..=b'9').contains(byte))
        && bytes.get(10).is_none_or(u8::is_ascii_digit)
        && bytes.get(11).is_none_or(u8::is_ascii_digit)
        // The reason may be missing, and some servers then omit the space before it.
        && bytes.get(12).is_none_or(|byte| matches!(byte, b' ' | b'\r' | b'\n'))
}

/// Parses the line at `at` if it has the usual form: a field without control characters that ends
/// with CRLF. [`read`] parses these too, and all others.
#[inline(always)]
pub(crate) fn plain_field(bytes: &[u8], at: usize) -> Option<Field> {
    let colon = scan::find_name_end(bytes, at).filter(|&colon| colon > at)?;
    if bytes[colon] != b':' {
        return None;
    }
    let (content, next) = plain_end(bytes, colon + 1)?;
    Some(Field { colon, content, next })
}

/// True if the line at `at` is the empty line that ends a section, with CRLF.
#[inline(always)]
pub(crate) fn is_plain_end(bytes: &[u8], at: usize) -> bool {
    bytes.get(at..).is_some_and(|rest| rest.starts_with(b"\r\n"))
}

/// Returns the end of the content of the line that contains `at`, and the start of the next line.
/// `None` if there is no CRLF, or a control character before it.
#[inline(always)]
fn plain_end(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let content = scan::find_control(bytes, at)?;
    is_plain_end(bytes, content).then_some((content, content + 2))
}

/// Parses the line that starts at `at`; `None` if it is incomplete.
pub(crate) fn read(bytes: &[u8], at: usize) -> Result<Option<Line>, ProtocolError> {
    let Some(name_end) = scan::find_name_end(bytes, at) else { return Ok(None) };
    let is_field = bytes[name_end] == b':' && name_end > at;
    let end = match bytes[at] {
        _ if is_field => scan::line_end(bytes, name_end + 1),
        b'\r' | b'\n' | b' ' | b'\t' => scan::line_end(bytes, at),
        _ => scan::spoiled(bytes, at),
    };
    match end {
        LineEnd::At { content, next } if is_field => {
            Ok(Some(Line::Field(Field { colon: name_end, content, next })))
        }
        LineEnd::At { content, next } if content == at => Ok(Some(Line::End { next })),
        LineEnd::At { content, next } => Ok(Some(Line::Fold { content, next })),
        LineEnd::Missing => Ok(None),
        LineEnd::Spoiled => Err(ProtocolError::BadHeader),
    }
}

/// Returns `bytes` without the spaces and tabs around them (OWS, RFC 9110 §5.6.3).
#[inline]
pub(crate) fn trim(mut bytes: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = bytes {
        bytes = rest;
    }
    while let [rest @ .., b' ' | b'\t'] = bytes {
        bytes = rest;
    }
    bytes
}

/// True if `bytes` is a token (RFC 9110 §5.6.2).
#[inline]
pub(crate) fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().all(|&byte| IS_TCHAR[usize::from(byte)])
}

/// Bytes of tokens. A table, since each request's method is checked.
static IS_TCHAR: [bool; 256] = {
    let symbols = b"!#$%&'*+-.^_`|~";
    let mut table = [false; 256];
    let mut at = 0;
    while at < table.len() {
        table[at] = (at as u8).is_ascii_alphanumeric();
        at += 1;
    }
    at = 0;
    while at < symbols.len() {
        table[symbols[at] as usize] = true;
        at += 1;
    }
    table
};
