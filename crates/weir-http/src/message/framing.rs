//! Message framing from a head: `Content-Length`, `Transfer-Encoding` and `Connection` (RFC 9112 §6
//! and §9) determine the end of the body and of the connection. Works on values, not on lines.

use super::line::{is_token, trim};
use crate::error::ProtocolError;

/// The framing fields of one head, collected in order of arrival.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FramingFields {
    content_length: Option<u64>,
    coding: Coding,
    /// True after `Connection: close`.
    pub(crate) closes: bool,
    /// True after `Connection: keep-alive`.
    pub(crate) keeps_alive: bool,
    /// First fault. It is an error only if there can be a body. A message without one ends at the
    /// empty line "regardless of the header fields present" (RFC 9112 §6.3, rule 1).
    pub(crate) fault: Option<ProtocolError>,
}

/// The last transfer coding given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Coding {
    #[default]
    None,
    Chunked,
    /// Another one, without chunked before it.
    Other,
    /// Another one, after chunked.
    OtherAfterChunked,
}

/// True if a response has a body: not to HEAD, and not with these statuses, regardless of its
/// fields (RFC 9112 §6.3, rule 1).
#[inline]
pub fn response_has_body(status: u16, is_head: bool) -> bool {
    !is_head && !matches!(status, 100..=199 | 204 | 304)
}

/// End of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyEnd {
    Fixed(u64),
    Chunked,
    UntilClose,
}

impl FramingFields {
    /// Processes a field. Returns true if it is one of the three. The name has no control
    /// characters.
    ///
    /// The length distinguishes nearly all other fields from them and costs nothing.
    #[inline(always)]
    pub(crate) fn field(&mut self, name: &[u8], value: &[u8]) -> bool {
        match name.len() {
            14 if is_name(name, b"content-length") => self.content_length(trim(value)),
            10 if is_name(name, b"connection") => self.connection(trim(value)),
            17 if is_name(name, b"transfer-encoding") => self.transfer_encoding(trim(value)),
            _ => return false,
        }
        true
    }

    /// Returns the end of the body of a message that can have one (RFC 9112 §6.3, rules 3 to 8).
    #[inline]
    pub(crate) fn body(&self, minor: u8) -> Result<BodyEnd, ProtocolError> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        match (self.coding, self.content_length) {
            (Coding::None, Some(length)) => Ok(BodyEnd::Fixed(length)),
            (Coding::None, None) => Ok(BodyEnd::UntilClose),
            // Rule 3: it "ought to be handled as an error"; guessing would let two parsers of the
            // same bytes see different responses.
            (_, Some(_)) => Err(ProtocolError::ConflictingFraming),
            // §6.1: such a message must be treated "as if the framing is faulty".
            (_, None) if minor == 0 => Err(ProtocolError::BadTransferEncoding),
            (Coding::Chunked, None) => Ok(BodyEnd::Chunked),
            // Rule 4: if chunked is not the final coding, the body ends with the connection.
            (Coding::Other | Coding::OtherAfterChunked, None) => Ok(BodyEnd::UntilClose),
        }
    }

    /// Returns the end of the body of a request to send. Chunks override a length beside them (RFC
    /// 9112 §6.3, rule 3): a script that writes chunks into a body whose length is then added
    /// intends chunks.
    #[inline]
    pub(crate) fn sent_body(&self, minor: u8) -> Result<BodyEnd, ProtocolError> {
        if let (None, Coding::Chunked, 1..) = (self.fault, self.coding, minor) {
            return Ok(BodyEnd::Chunked);
        }
        self.request_body(minor)
    }

    /// Returns the end of a request's body. Without a framing field there is no body (RFC 9112
    /// §6.3, rule 7). With a last coding other than chunked its end is unknown (rule 4).
    #[inline]
    pub(crate) fn request_body(&self, minor: u8) -> Result<BodyEnd, ProtocolError> {
        match (self.body(minor)?, self.coding) {
            (BodyEnd::UntilClose, Coding::None) => Ok(BodyEnd::Fixed(0)),
            (BodyEnd::UntilClose, _) => Err(ProtocolError::BadTransferEncoding),
            (body, _) => Ok(body),
        }
    }

    /// True if the connection ends after this message (RFC 9112 §9.3).
    #[inline]
    pub(crate) fn closes(&self, minor: u8) -> bool {
        self.closes || (minor == 0 && !self.keeps_alive)
    }

    /// Processes `Content-Length`. A list of equal numbers counts as one of them (RFC 9112 §6.3,
    /// rule 5); empty elements do not count (RFC 9110 §5.6.1.2).
    #[inline]
    fn content_length(&mut self, value: &[u8]) {
        match (parse_length(value), self.content_length) {
            (length @ Some(_), None) => self.content_length = length,
            _ => self.content_lengths(value),
        }
    }

    #[cold]
    fn content_lengths(&mut self, value: &[u8]) {
        let mut is_empty = true;
        for element in value.split(|&byte| byte == b',').map(trim).filter(|e| !e.is_empty()) {
            is_empty = false;
            match (parse_length(element), self.content_length) {
                (None, _) => self.note_fault(ProtocolError::BadContentLength),
                (Some(length), Some(known)) if length != known => {
                    self.note_fault(ProtocolError::ConflictingContentLength);
                }
                (length, _) => self.content_length = length,
            }
        }
        if is_empty {
            self.note_fault(ProtocolError::BadContentLength);
        }
    }

    /// Processes `Transfer-Encoding`. Several fields form one list (RFC 9110 §5.3). Parameters may
    /// contain quoted commas; no coding in use has any, so a quote is rejected rather than parsed.
    #[inline]
    fn transfer_encoding(&mut self, value: &[u8]) {
        match (value, self.coding) {
            (b"chunked", Coding::None) => self.coding = Coding::Chunked,
            _ => self.transfer_codings(value),
        }
    }

    #[cold]
    fn transfer_codings(&mut self, value: &[u8]) {
        let mut is_empty = true;
        for element in value.split(|&byte| byte == b',').map(trim).filter(|e| !e.is_empty()) {
            is_empty = false;
            let name_end = element.iter().position(|&byte| byte == b';');
            let name = trim(&element[..name_end.unwrap_or(element.len())]);
            let is_chunked = name.eq_ignore_ascii_case(b"chunked");
            // §7.1: a message must not be chunked twice, and parameters of chunked are an error.
            let was_chunked = matches!(self.coding, Coding::Chunked | Coding::OtherAfterChunked);
            if !is_token(name)
                || element.contains(&b'"')
                || (is_chunked && (was_chunked || name_end.is_some()))
            {
                self.note_fault(ProtocolError::BadTransferEncoding);
            }
            self.coding = match (is_chunked, was_chunked) {
                (true, _) => Coding::Chunked,
                (false, true) => Coding::OtherAfterChunked,
                (false, false) => Coding::Other,
            };
        }
        if is_empty {
            self.note_fault(ProtocolError::BadTransferEncoding);
        }
    }

    #[inline]
    fn connection(&mut self, value: &[u8]) {
        match value {
            b"keep-alive" | b"Keep-Alive" => self.keeps_alive = true,
            b"close" | b"Close" => self.closes = true,
            _ => self.connection_options(value),
        }
    }

    #[cold]
    fn connection_options(&mut self, value: &[u8]) {
        for option in value.split(|&byte| byte == b',').map(trim) {
            self.closes |= option.eq_ignore_ascii_case(b"close");
            self.keeps_alive |= option.eq_ignore_ascii_case(b"keep-alive");
        }
    }

    #[cold]
    fn note_fault(&mut self, fault: ProtocolError) {
        self.fault.get_or_insert(fault);
    }
}

/// True if [`FramingFields::field`] processes a field of this name, without control characters.
pub(crate) fn is_framing(name: &[u8]) -> bool {
    is_name(name, b"content-length")
        || is_name(name, b"connection")
        || is_name(name, b"transfer-encoding")
}

/// True if `name`, which has no control characters, equals `lower` ignoring case. Setting bit 5
/// maps no other byte to a letter or hyphen, except CR, which is a control character.
#[inline(always)]
fn is_name<const N: usize>(name: &[u8], lower: &[u8; N]) -> bool {
    let Ok(name) = <&[u8; N]>::try_from(name) else { return false };
    let differs = |a: &[u8; 8], b: &[u8; 8]| {
        (u64::from_le_bytes(*a) | 0x2020_2020_2020_2020) ^ u64::from_le_bytes(*b)
    };
    let words = name.as_chunks::<8>().0;
    let lower_words = lower.as_chunks::<8>().0;
    let differences = words.iter().zip(lower_words).map(|(a, b)| differs(a, b));
    let last = name.last_chunk().zip(lower.last_chunk()).map_or(1, |(a, b)| differs(a, b));
    differences.fold(last, |a, b| a | b) == 0
}

/// Parses digits only (RFC 9110 §8.6), as many as fit in a u64: no sign, no space, no radix.
#[inline]
fn parse_length(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |length, &byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        length.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(fields: &[(&str, &str)]) -> Result<BodyEnd, ProtocolError> {
        let mut framing = FramingFields::default();
        for (name, value) in fields {
            assert!(framing.field(name.as_bytes(), value.as_bytes()), "{name}");
        }
        framing.body(1)
    }

    #[test]
    fn content_lengths() {
        use ProtocolError::{BadContentLength as Bad, ConflictingContentLength as Conflicting};
        let check = |value: &str, expected| {
            assert_eq!(body(&[("Content-Length", value)]), expected, "{value:?}");
        };
        check("0", Ok(BodyEnd::Fixed(0)));
        check(" \t5\t ", Ok(BodyEnd::Fixed(5)));
        check("0005", Ok(BodyEnd::Fixed(5)));
        check("5, 5", Ok(BodyEnd::Fixed(5)));
        check("5,05 ,\t5", Ok(BodyEnd::Fixed(5)));
        check("5,", Ok(BodyEnd::Fixed(5)));
        check("18446744073709551615", Ok(BodyEnd::Fixed(u64::MAX)));
        check("18446744073709551616", Err(Bad));
        check("99999999999999999999999", Err(Bad));
        check("5, 6", Err(Conflicting));
        check("5, x", Err(Bad));
        for bad in ["", " ", ",", "+5", "-5", "5 5", "5\u{b}", "0x5", "5.", "5;5", "\u{661}"] {
            check(bad, Err(Bad));
        }
        let twice = |a, b| body(&[("CONTENT-LENGTH", a), ("content-length", b)]);
        assert_eq!(twice("7", "7"), Ok(BodyEnd::Fixed(7)));
        assert_eq!(twice("7", "7, 7"), Ok(BodyEnd::Fixed(7)));
        assert_eq!(twice("7", "8"), Err(Conflicting));
        assert_eq!(twice("7", ""), Err(Bad));
    }

    #[test]
    fn transfer_encodings() {
        let check = |value: &str, expected| {
            assert_eq!(body(&[("Transfer-Encoding", value)]), expected, "{value:?}");
        };
        check("chunked", Ok(BodyEnd::Chunked));
        check(" ChUnKeD\t", Ok(BodyEnd::Chunked));
        check("gzip, chunked", Ok(BodyEnd::Chunked));
        check("gzip;q=1,,chunked,", Ok(BodyEnd::Chunked));
        check("gzip", Ok(BodyEnd::UntilClose));
        check("identity", Ok(BodyEnd::UntilClose));
        check("chunked, gzip", Ok(BodyEnd::UntilClose));
        check("xchunked", Ok(BodyEnd::UntilClose));
        let bad = [
            "",
            ",",
            "chunked, chunked",
            "chunked, gzip, chunked",
            "chunked;a=b",
            "\u{b}chunked",
            "chunked\u{b}",
            "chunked x",
            "a;b=\"c, chunked",
            "\"chunked\"",
        ];
        for bad in bad {
            check(bad, Err(ProtocolError::BadTransferEncoding));
        }
        let both = body(&[("Transfer-Encoding", "chunked"), ("Content-Length", "5")]);
        assert_eq!(both, Err(ProtocolError::ConflictingFraming));
        let two = body(&[("Transfer-Encoding", "gzip"), ("transfer-encoding", "chunked")]);
        assert_eq!(two, Ok(BodyEnd::Chunked));
    }

    #[test]
    fn connections() {
        let check = |minor, value: &str, expected| {
            let mut framing = FramingFields::default();
            framing.field(b"Connection", value.as_bytes());
            assert_eq!(framing.closes(minor), expected, "1.{minor} {value:?}");
        };
        check(1, "", false);
        check(1, "keep-alive", false);
        check(1, "close", true);
        check(1, "x, CLOSE ,y", true);
        check(1, "closed", false);
        check(1, "keep-alive, close", true);
        check(0, "", true);
        check(0, "Keep-Alive", false);
        check(0, "keep-alive, close", true);
    }
}
