//! The lines of a head and of trailers: status line, field, fold, end (RFC 9112 §4 and §5). Knows
//! their form, not what any field means.

use super::scan::{self, LineEnd};
use crate::ProtocolError;

/// A status line that is complete.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StatusLine {
    /// The 1 of HTTP/1.1. A higher one is read as 1 (RFC 9110 §2.5).
    pub(crate) minor: u8,
    pub(crate) status: u16,
    /// Where the line's content ends; the reason phrase, if any, starts at [`REASON_AT`].
    pub(crate) content: usize,
    pub(crate) next: usize,
}

/// `HTTP/1.1 200 ` is before the reason phrase.
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

/// Reads the status line that `bytes` begin with; `None` if its end is not there yet.
///
/// The fixed part is judged byte by byte as it comes, so that an answer that is not HTTP/1 at all
/// is not waited for.
#[inline(always)]
pub(crate) fn read_status(bytes: &[u8]) -> Result<Option<StatusLine>, ProtocolError> {
    let Some(start) = bytes.first_chunk::<REASON_AT>() else {
        return if is_status_start(bytes) { Ok(None) } else { Err(ProtocolError::BadStatusLine) };
    };
    if !is_status_start(start) {
        return Err(ProtocolError::BadStatusLine);
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

/// Whether the first bytes of an answer are, as far as they go, those of a status line. The code
/// is 100 or more: below it is invalid (RFC 9110 §15), and would pass for a success.
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
        // The reason may be missing, and with it, from some servers, the space before it.
        && bytes.get(12).is_none_or(|byte| matches!(byte, b' ' | b'\r' | b'\n'))
}

/// The line that starts at `at` if it is as nearly all are: a field without control characters
/// that ends with CRLF. [`read`] reads these too, and the others.
#[inline(always)]
pub(crate) fn plain_field(bytes: &[u8], at: usize) -> Option<Field> {
    let colon = scan::find_name_end(bytes, at).filter(|&colon| colon > at)?;
    if bytes[colon] != b':' {
        return None;
    }
    let (content, next) = plain_end(bytes, colon + 1)?;
    Some(Field { colon, content, next })
}

/// Whether the line that starts at `at` is the empty line that ends a section, with CRLF.
#[inline(always)]
pub(crate) fn is_plain_end(bytes: &[u8], at: usize) -> bool {
    bytes.get(at..).is_some_and(|rest| rest.starts_with(b"\r\n"))
}

/// Where the content of the line that `at` is on ends and the next line starts, if there is a CRLF
/// and no control character before it.
#[inline(always)]
fn plain_end(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let content = scan::find_control(bytes, at)?;
    is_plain_end(bytes, content).then_some((content, content + 2))
}

/// Reads the line that starts at `at`; `None` if its end is not there yet.
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

/// `bytes` without the spaces and tabs around them (OWS, RFC 9110 §5.6.3).
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

/// Whether `bytes` is a token (RFC 9110 §5.6.2).
pub(crate) fn is_token(bytes: &[u8]) -> bool {
    let is_tchar = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    !bytes.is_empty() && bytes.iter().all(is_tchar)
}
