//! A header that the user adds to responses, and its syntax. It depends on no other option.

use std::str::FromStr;

use crate::units::ParseError;

/// A user-defined header line: written `Name: value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtraHeader {
    /// The name, a token (RFC 9110 §5.6.2).
    pub name: String,
    /// The value: visible characters, blanks and tabs.
    pub value: String,
}

/// True if `text` is a token (RFC 9110 §5.6.2).
pub(crate) fn is_token(text: &str) -> bool {
    let is_of_tokens = |c: u8| c.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&c);
    !text.is_empty() && text.bytes().all(is_of_tokens)
}

impl FromStr for ExtraHeader {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<ExtraHeader, ParseError> {
        let usage = || {
            ParseError(format!(
                "`{text}` is not a header: write for instance \"Cache-Control: no-store\""
            ))
        };
        let (name, value) = text.split_once(':').ok_or_else(usage)?;
        let value = value.trim();
        let is_text = |c: char| c == '\t' || !c.is_control();
        if !is_token(name) || !value.chars().all(is_text) {
            return Err(usage());
        }
        let owned = ["content-length", "transfer-encoding", "connection"];
        if owned.iter().any(|own| name.eq_ignore_ascii_case(own)) {
            return Err(ParseError(format!(
                "`{name}` follows from the other options: use --size, --chunked, --until-close or \
                 --close"
            )));
        }
        Ok(ExtraHeader { name: name.to_string(), value: value.to_string() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers() {
        let header: ExtraHeader = "Cache-Control: no-store".parse().expect("valid");
        assert_eq!((&*header.name, &*header.value), ("Cache-Control", "no-store"));
        for text in ["", "name", ": v", "a b: v", "a: b\r\nc: d", "Content-Length: 5"] {
            assert!(text.parse::<ExtraHeader>().is_err(), "{text}");
        }
    }
}
