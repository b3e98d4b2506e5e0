//! The value of a field as a key, by which a message and its echo are matched.

use std::fmt;

use crate::expect::ExpectError;
use crate::expect::json::{Pointer, Scalar};

/// A field of JSON texts whose value is a key.
#[derive(Clone, Debug)]
pub struct FieldKey(Pointer);

impl FieldKey {
    /// Parses the place of the field: a JSON pointer (RFC 6901).
    ///
    /// # Errors
    /// If it is no pointer.
    pub fn parse(pointer: &str) -> Result<FieldKey, ExpectError> {
        Pointer::parse(pointer).map(FieldKey)
    }

    /// Returns the value of the field in a text; `None` if the text is not JSON, has no such field,
    /// or has an array or object there.
    pub fn of(&self, text: &[u8]) -> Option<Vec<u8>> {
        match self.0.find(text).ok()?? {
            Scalar::Compound => None,
            value => Some(value.to_string().into_bytes()),
        }
    }
}

impl fmt::Display for FieldKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_values_of_fields() {
        let key = FieldKey::parse("/a/id").expect("a pointer");
        let of = |text: &str| key.of(text.as_bytes()).map(|key| String::from_utf8(key).unwrap());
        assert_eq!(of(r#"{"a":{"id":7},"b":1}"#).as_deref(), Some("7"));
        assert_eq!(of(r#"{"b":[],"a":{"id":"7"}}"#).as_deref(), Some("\"7\""));
        for text in ["", "{", r#"{"a":{}}"#, r#"{"a":{"id":[]}}"#, r#"{"id":7}"#] {
            assert_eq!(of(text), None, "{text}");
        }
        assert!(FieldKey::parse("id").is_err());
    }
}
