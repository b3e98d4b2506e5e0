//! Rules for the fields of messages (RFC 9113 §8.2 and §8.3) that both sides check. Independent of
//! their compression.

use crate::message::connection_fields::is_of_connection;
use crate::message::framing::{BodyEnd, FramingFields};
use crate::message::scan::{HIGHS, ONES, below};

/// Properties of a list of fields of a response: a head, or trailers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ResponseFields {
    /// The status code, 100 to 999; 0 without one, which trailers do not have.
    pub(crate) status: u16,
    pub(crate) content_length: Option<u64>,
    /// True if the message is malformed (RFC 9113 §8.1.1).
    pub(crate) is_malformed: bool,
    /// True if the list is larger than the limit.
    pub(crate) is_too_large: bool,
}

/// State of a check, field by field.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FieldCheck {
    pub(crate) is_malformed: bool,
    /// True after a field that is no pseudo-header field.
    is_past_pseudo: bool,
    framing: FramingFields,
}

impl FieldCheck {
    /// Checks a field. Returns true if it is a pseudo-header field, whose name and value the caller
    /// checks.
    #[inline]
    pub(crate) fn field(&mut self, name: &[u8], value: &[u8]) -> bool {
        let is_pseudo = name.first() == Some(&b':');
        if is_pseudo {
            self.is_malformed |= self.is_past_pseudo || !is_value(value);
            return true;
        }
        self.is_past_pseudo = true;
        self.is_malformed |= !is_name(name) || !is_value(value) || is_of_connection(name, value);
        if name == b"content-length" {
            self.framing.field(name, value);
        }
        false
    }

    /// Returns the value of `Content-Length`, if there is one.
    #[inline]
    pub(crate) fn content_length(&mut self) -> Option<u64> {
        match self.framing.body(1) {
            Ok(BodyEnd::Fixed(length)) => Some(length),
            Ok(_) => None,
            Err(_) => {
                self.is_malformed = true;
                None
            }
        }
    }
}

/// Returns the number of a `:status` field (RFC 9113 §8.3.2).
#[inline]
pub(crate) fn status(value: &[u8]) -> Option<u16> {
    let &[a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9'] = value else { return None };
    let digit = |byte: u8| u16::from(byte - b'0');
    Some(digit(a) * 100 + digit(b) * 10 + digit(c))
}

/// True if a name has no upper-case letter, and no character that RFC 9113 §8.2.1 forbids.
#[inline]
fn is_name(name: &[u8]) -> bool {
    !name.is_empty() && words(name, b'-').all(|word| name_flags(word) == 0)
}

/// Returns a nonzero number if a byte of a word cannot be in a name.
#[inline(always)]
fn name_flags(word: u64) -> u64 {
    let at_least = |byte: u8| word.wrapping_add(ONES * u64::from(0x80 - byte));
    // Right only for words of ASCII; others are refused whatever the result.
    let upper_case = at_least(b'A') & !at_least(b'Z' + 1);
    let equal = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    (word | below(word, 0x21) | upper_case | equal(b':') | equal(0x7f)) & HIGHS
}

/// True if a value has no line end and no NUL. Whitespace around it is malformed too (RFC 9113
/// §8.2.1), but accepted, as by curl: nothing depends on it.
#[inline]
fn is_value(value: &[u8]) -> bool {
    words(value, b' ').all(|word| below(word, 0x20) == 0) || is_value_with_controls(value)
}

#[cold]
fn is_value_with_controls(value: &[u8]) -> bool {
    !value.iter().any(|byte| matches!(byte, b'\0' | b'\r' | b'\n'))
}

/// Returns the bytes eight at a time; `filler` completes the last word.
#[inline(always)]
fn words(bytes: &[u8], filler: u8) -> impl Iterator<Item = u64> {
    let (words, rest) = bytes.as_chunks::<8>();
    let last =
        rest.iter().fold(ONES * u64::from(filler), |word, byte| word << 8 | u64::from(*byte));
    words.iter().map(|word| u64::from_le_bytes(*word)).chain([last])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_make_a_message_malformed() {
        let is_malformed = |fields: &[(&str, &str)]| {
            let mut check = FieldCheck::default();
            for (name, value) in fields {
                check.field(name.as_bytes(), value.as_bytes());
            }
            check.content_length();
            check.is_malformed
        };
        for good in [
            &[("a", "b")][..],
            &[(":status", "200"), ("x-!#$%&'*+.^_`|~-9", " \t\u{e9} ")],
            &[("te", "trailers")],
            &[("content-length", "5"), ("content-length", "5")],
            &[("connections", "")],
        ] {
            assert!(!is_malformed(good), "{good:?}");
        }
        for bad in [
            &[("", "b")][..],
            &[("A", "b")],
            &[("a b", "b")],
            &[("a:", "b")],
            &[("a\x7f", "b")],
            &[("\u{e9}", "b")],
            &[("a", "b\r")],
            &[("a", "\n")],
            &[("a", "\0")],
            &[(":status", "2\n")],
            &[("a", "b"), (":status", "200")],
            &[("connection", "close")],
            &[("keep-alive", "")],
            &[("proxy-connection", "")],
            &[("transfer-encoding", "chunked")],
            &[("upgrade", "x")],
            &[("te", "gzip")],
            &[("content-length", "x")],
            &[("content-length", "5"), ("content-length", "6")],
        ] {
            assert!(is_malformed(bad), "{bad:?}");
        }
    }

    /// Compares words with the simple rule: every byte at every position.
    #[test]
    fn words_find_what_bytes_find() {
        for byte in 0..=255u8 {
            for length in 1..20 {
                for at in 0..length {
                    let mut text = vec![b'a'; length];
                    text[at] = byte;
                    let is_of_name =
                        matches!(byte, 0x21..0x7f) && byte != b':' && !byte.is_ascii_uppercase();
                    assert_eq!(is_name(&text), is_of_name, "{byte:#x} at {at} of {length}");
                    let is_of_value = !matches!(byte, 0 | b'\r' | b'\n');
                    assert_eq!(is_value(&text), is_of_value, "{byte:#x} at {at} of {length}");
                }
            }
        }
    }

    #[test]
    fn statuses_have_three_digits() {
        assert_eq!(
            (status(b"100"), status(b"204"), status(b"999")),
            (Some(100), Some(204), Some(999))
        );
        for value in [&b""[..], b"20", b"2000", b"099", b"+20", b"2 0"] {
            assert_eq!(status(value), None, "{value:?}");
        }
    }
}
