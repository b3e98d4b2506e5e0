//! The value at a JSON pointer (RFC 6901), found while the text is read: nothing but that value is
//! kept, so that no text takes more memory than its own.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::expect::ExpectError;

/// Place of a value in a JSON text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pointer {
    text: String,
    /// Names of members or indices of elements, from the outside in.
    tokens: Vec<String>,
}

impl Pointer {
    /// Parses a pointer: empty for the whole text, else `/a/0`.
    ///
    /// # Errors
    /// If it does not begin with `/`, or has a `~` that is neither `~0` nor `~1`.
    pub(super) fn parse(text: &str) -> Result<Pointer, ExpectError> {
        let wrong = || ExpectError::Pointer(text.to_owned());
        let mut tokens = text.split('/');
        if tokens.next() != Some("") {
            return Err(wrong());
        }
        let tokens = tokens.map(|token| {
            let is_escaped = |rest: &str| rest.starts_with(['0', '1']);
            let is_valid = token.split('~').skip(1).all(is_escaped);
            is_valid.then(|| token.replace("~1", "/").replace("~0", "~")).ok_or_else(wrong)
        });
        Ok(Pointer { text: text.to_owned(), tokens: tokens.collect::<Result<_, _>>()? })
    }

    /// Returns the value in a JSON text; `None` if it has none there.
    ///
    /// # Errors
    /// If the text is not JSON; with the reason.
    pub(super) fn find(&self, text: &[u8]) -> Result<Option<Scalar>, String> {
        self.read(text).map_err(|error| error.to_string())
    }

    fn read<'de, T: Deserialize<'de>>(&self, text: &'de [u8]) -> serde_json::Result<Option<T>> {
        let mut json = serde_json::Deserializer::from_slice(text);
        let found = Seek::new(&self.tokens).deserialize(&mut json)?;
        json.end().map(|()| found)
    }
}

/// Place of a value in JSON texts (RFC 6901), as `/choices/0/delta`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonPointer(Pointer);

impl JsonPointer {
    /// True if a JSON text has a value there that is neither null nor an empty string. A text that
    /// is no JSON has none.
    pub fn has_value(&self, text: &[u8]) -> bool {
        match self.0.find(text) {
            Ok(Some(Scalar::Text(text))) => !text.is_empty(),
            Ok(Some(Scalar::Null) | None) | Err(_) => false,
            Ok(Some(_)) => true,
        }
    }

    /// Returns the value that a JSON text has there, as text; `None` if there is none that is a
    /// string, a number or a boolean. A number has the digits of the text, however many.
    pub fn value(&self, text: &[u8]) -> Option<String> {
        plain_text(self.raw(text).ok()??)
    }

    /// Returns the value that a JSON text has there, as it is written; `None` if there is none.
    ///
    /// # Errors
    /// If the text is no JSON.
    pub(crate) fn raw<'t>(&self, text: &'t [u8]) -> serde_json::Result<Option<&'t str>> {
        Ok(self.0.read::<&RawValue>(text)?.map(RawValue::get))
    }
}

/// Returns the text of a JSON value; `None` if it is no string, number or boolean.
pub(crate) fn plain_text(raw: &str) -> Option<String> {
    match raw.as_bytes().first()? {
        b'"' => serde_json::from_str(raw).ok(),
        b'n' | b'{' | b'[' => None,
        _ => Some(raw.to_owned()),
    }
}

impl FromStr for JsonPointer {
    type Err = ExpectError;

    fn from_str(text: &str) -> Result<JsonPointer, ExpectError> {
        Pointer::parse(text).map(JsonPointer)
    }
}

impl fmt::Display for JsonPointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A JSON value; nothing is kept of one that has values below it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    Integer(i128),
    Float(f64),
    Text(String),
    /// An array or an object.
    Compound,
}

/// An expected value.
#[derive(Clone, Debug)]
pub(super) struct Expected {
    text: String,
    value: Scalar,
}

impl Expected {
    /// Returns the value that a text means: null, a boolean, a number, else the text itself.
    pub(super) fn of(text: &str) -> Expected {
        let value = match serde_json::from_str::<Value>(text) {
            Ok(Value::Null) => Scalar::Null,
            Ok(Value::Bool(is_true)) => Scalar::Bool(is_true),
            Ok(Value::Number(number)) => match number.as_i128() {
                Some(integer) => Scalar::Integer(integer),
                None => Scalar::Float(number.as_f64().unwrap_or(f64::NAN)),
            },
            _ => Scalar::Text(text.to_owned()),
        };
        Expected { text: text.to_owned(), value }
    }

    /// True if a found value is this one, or a string of its text.
    pub(super) fn accepts(&self, found: &Scalar) -> bool {
        match (&self.value, found) {
            (_, Scalar::Text(found)) => *found == self.text,
            (Scalar::Integer(integer), Scalar::Float(float))
            | (Scalar::Float(float), Scalar::Integer(integer)) => *integer as f64 == *float,
            (expected, found) => expected == found,
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Null => f.write_str("null"),
            Scalar::Bool(is_true) => write!(f, "{is_true}"),
            Scalar::Integer(integer) => write!(f, "{integer}"),
            Scalar::Float(float) => write!(f, "{float}"),
            Scalar::Text(text) => write!(f, "{text:?}"),
            Scalar::Compound => f.write_str("an array or object"),
        }
    }
}

/// Reads one value, and returns the one below it at these tokens.
struct Seek<'p, T> {
    tokens: &'p [String],
    found: PhantomData<T>,
}

impl<'p, T> Seek<'p, T> {
    fn new(tokens: &'p [String]) -> Seek<'p, T> {
        Seek { tokens, found: PhantomData }
    }
}

impl<'de, T: Deserialize<'de>> DeserializeSeed<'de> for Seek<'_, T> {
    type Value = Option<T>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Option<T>, D::Error> {
        match self.tokens {
            [] => T::deserialize(json).map(Some),
            _ => json.deserialize_any(self),
        }
    }
}

/// A value with others below it; those without have nothing at the tokens that are left.
impl<'de, T: Deserialize<'de>> Visitor<'de> for Seek<'_, T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Option<T>, E> {
        Ok(None)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Option<T>, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Option<T>, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Option<T>, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Option<T>, E> {
        Ok(None)
    }

    fn visit_str<E>(self, _: &str) -> Result<Option<T>, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Option<T>, A::Error> {
        let mut found = None;
        let (first, rest) = self.tokens.split_first().unzip();
        // No sign and no leading zero (RFC 6901 §4).
        let wanted = first.and_then(|first| {
            let index: usize = first.parse().ok()?;
            (index.to_string() == *first).then_some(index)
        });
        for index in 0.. {
            if wanted == Some(index) {
                match elements.next_element_seed(Seek::new(rest.unwrap_or_default()))? {
                    Some(element) => found = element,
                    None => break,
                }
            } else if elements.next_element::<IgnoredAny>()?.is_none() {
                break;
            }
        }
        Ok(found)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Option<T>, A::Error> {
        let mut found = None;
        let wanted = self.tokens.split_first();
        while let Some(BorrowedName(name)) = members.next_key()? {
            match wanted {
                // Of members with the same name the last one counts, as in most readers.
                Some((first, rest)) if *first == name => {
                    found = members.next_value_seed(Seek::new(rest))?
                }
                _ => {
                    members.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(found)
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Scalar, D::Error> {
        json.deserialize_any(ScalarVisitor)
    }
}

struct ScalarVisitor;

impl<'de> Visitor<'de> for ScalarVisitor {
    type Value = Scalar;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Scalar, E> {
        Ok(Scalar::Null)
    }

    fn visit_bool<E>(self, is_true: bool) -> Result<Scalar, E> {
        Ok(Scalar::Bool(is_true))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Scalar, E> {
        Ok(Scalar::Integer(number.into()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Scalar, E> {
        Ok(Scalar::Integer(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Scalar, E> {
        Ok(Scalar::Float(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Scalar, E> {
        Ok(Scalar::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Scalar, A::Error> {
        while elements.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Scalar::Compound)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Scalar, A::Error> {
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Scalar::Compound)
    }
}

/// The name of a member, borrowed if it has no escapes.
#[derive(Deserialize)]
struct BorrowedName<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"a": {"b": [1, 2.5, {"c": "x"}], "": 0}, "m~n": true, "k/l": null,
        "big": 18446744073709551615, "twice": 1, "twice": 2, "\u0065s\"c": -3}"#;

    fn find(pointer: &str, text: &str) -> Result<Option<Scalar>, String> {
        Pointer::parse(pointer).expect(pointer).find(text.as_bytes())
    }

    #[test]
    fn pointers_find_values() {
        let check = |pointer: &str, expected: Option<Scalar>| {
            assert_eq!(find(pointer, TEXT), Ok(expected), "{pointer}");
        };
        check("", Some(Scalar::Compound));
        check("/a/b", Some(Scalar::Compound));
        check("/a/b/0", Some(Scalar::Integer(1)));
        check("/a/b/1", Some(Scalar::Float(2.5)));
        check("/a/b/2/c", Some(Scalar::Text("x".to_owned())));
        check("/a/", Some(Scalar::Integer(0)));
        check("/m~0n", Some(Scalar::Bool(true)));
        check("/k~1l", Some(Scalar::Null));
        check("/big", Some(Scalar::Integer(u64::MAX.into())));
        check("/twice", Some(Scalar::Integer(2)));
        check("/es\"c", Some(Scalar::Integer(-3)));
        for missing in ["/x", "/a/b/3", "/a/b/01", "/a/b/-", "/a/b/+0", "/a/b/0/d", "/A"] {
            check(missing, None);
        }
    }

    #[test]
    fn what_is_not_json_is_an_error() {
        for text in ["", "{", "[1,", "{\"a\": 1} x", "nul", "{\"a\": 01}"] {
            assert!(find("/a", text).is_err(), "{text}");
        }
        // Behind the value that is found, too.
        assert!(find("/a", "{\"a\": 1, \"b\": }").is_err());
        let deep = "[".repeat(1_000_000);
        assert!(find("/0/0", &deep).is_err());
    }

    #[test]
    fn expected_values_are_compared_as_values_or_as_text() {
        let check = |expected: &str, json: &str, is_accepted: bool| {
            let found = find("", json).expect(json).expect("the whole text");
            let accepted = Expected::of(expected).accepts(&found);
            assert_eq!(accepted, is_accepted, "{expected} {json}");
        };
        check("done", "\"done\"", true);
        check("done", "\"Done\"", false);
        check("3", "3", true);
        check("3", "\"3\"", true);
        check("3.0", "3", true);
        check("3", "3.0", true);
        check("1e3", "1000", true);
        check("3", "4", false);
        check("3", "true", false);
        check("true", "true", true);
        check("true", "\"true\"", true);
        check("false", "true", false);
        check("null", "null", true);
        check("", "\"\"", true);
        check("{}", "{}", false);
        check("18446744073709551615", "18446744073709551615", true);
        check("18446744073709551615", "18446744073709551614", false);
    }

    #[test]
    fn pointers_are_checked() {
        for text in ["a", "a/b", "/~", "/~2", "/a~"] {
            assert_eq!(Pointer::parse(text), Err(ExpectError::Pointer(text.to_owned())));
        }
        // `~01` is `~1`, not `/` (RFC 6901 §4).
        assert_eq!(find("/~01", "{\"~1\": 7}"), Ok(Some(Scalar::Integer(7))));
    }
}
