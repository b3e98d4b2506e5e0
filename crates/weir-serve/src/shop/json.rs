//! Flat JSON objects in requests (RFC 8259): the few fields that the shop reads. Objects and arrays
//! as values are refused.

use crate::units::parse_digits;

/// The fields of a flat JSON object, in order.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct JsonFields(Vec<(String, FieldValue)>);

/// A value of a field.
#[derive(Debug, PartialEq, Eq)]
enum FieldValue {
    Text(String),
    /// A number as it is written, or a word: `true`, `false` or `null`.
    Word(String),
}

impl JsonFields {
    /// Reads an object that is the whole text; `None` if it is none.
    pub(super) fn read(text: &[u8]) -> Option<JsonFields> {
        let mut rest = JsonRest(str::from_utf8(text).ok()?);
        let mut fields = Vec::new();
        rest.take('{')?;
        if rest.take('}').is_none() {
            loop {
                let name = rest.take_text()?;
                rest.take(':')?;
                fields.push((name, rest.take_value()?));
                if rest.take(',').is_none() {
                    break;
                }
            }
            rest.take('}')?;
        }
        rest.0.trim_start_matches(BLANKS).is_empty().then_some(JsonFields(fields))
    }

    /// Returns the text of a field.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        match self.find(name)? {
            FieldValue::Text(text) => Some(text),
            FieldValue::Word(_) => None,
        }
    }

    /// Returns the whole number of a field.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        match self.find(name)? {
            FieldValue::Text(_) => None,
            FieldValue::Word(digits) => parse_digits(digits.as_bytes()),
        }
    }

    /// Returns the text of a field, or its number as it is written.
    pub(super) fn text_or_number(&self, name: &str) -> Option<&str> {
        match self.find(name)? {
            FieldValue::Text(text) | FieldValue::Word(text) => Some(text),
        }
    }

    fn find(&self, name: &str) -> Option<&FieldValue> {
        self.0.iter().find(|(own, _)| own == name).map(|(_, value)| value)
    }
}

/// Blanks between the tokens of JSON.
const BLANKS: [char; 4] = [' ', '\t', '\r', '\n'];

/// The text that is not read yet.
struct JsonRest<'a>(&'a str);

impl JsonRest<'_> {
    /// Takes a character, and blanks before it.
    fn take(&mut self, expected: char) -> Option<()> {
        self.0 = self.0.trim_start_matches(BLANKS).strip_prefix(expected)?;
        Some(())
    }

    fn take_value(&mut self) -> Option<FieldValue> {
        let text = self.0.trim_start_matches(BLANKS);
        if text.starts_with('"') {
            return self.take_text().map(FieldValue::Text);
        }
        let is_of_word = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
        let end = text.find(|c| !is_of_word(c)).unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        let is_number = word.starts_with(|c: char| c == '-' || c.is_ascii_digit());
        let is_value = is_number || ["true", "false", "null"].contains(&word);
        self.0 = rest;
        is_value.then(|| FieldValue::Word(word.to_owned()))
    }

    /// Takes a string.
    fn take_text(&mut self) -> Option<String> {
        self.take('"')?;
        let mut text = String::new();
        loop {
            let mut chars = self.0.chars();
            let next = chars.next()?;
            self.0 = chars.as_str();
            match next {
                '"' => return Some(text),
                '\\' => text.push(self.take_escaped()?),
                control if control < ' ' => return None,
                other => text.push(other),
            }
        }
    }

    /// Takes the rest of an escape, behind its backslash.
    fn take_escaped(&mut self) -> Option<char> {
        let mut chars = self.0.chars();
        let kind = chars.next()?;
        self.0 = chars.as_str();
        Some(match kind {
            '"' | '\\' | '/' => kind,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let unit = self.take_unit()?;
                // A character beyond the first 65,536 is two escapes.
                let low = match unit {
                    0xd800..0xdc00 => {
                        self.0 = self.0.strip_prefix("\\u")?;
                        Some(self.take_unit()?)
                    }
                    _ => None,
                };
                char::decode_utf16([Some(unit), low].into_iter().flatten()).next()?.ok()?
            }
            _ => return None,
        })
    }

    /// Takes four hexadecimal digits.
    fn take_unit(&mut self) -> Option<u16> {
        let (digits, rest) = self.0.split_at_checked(4)?;
        self.0 = rest;
        let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        u16::from_str_radix(digits, 16).ok().filter(|_| is_hex)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read() {
        let text = r#" {"product": 7,"name":"a\"\u00fc\ud83d\ude00\n" ,"x":null,"y":-1.5e3} "#;
        let fields = JsonFields::read(text.as_bytes()).expect("an object");
        assert_eq!(fields.number("product"), Some(7));
        assert_eq!(fields.text("name"), Some("a\"ü😀\n"));
        assert_eq!(fields.text_or_number("product"), Some("7"));
        assert_eq!(fields.text_or_number("name"), Some("a\"ü😀\n"));
        assert_eq!((fields.number("y"), fields.number("name")), (None, None));
        assert_eq!((fields.text("product"), fields.text("none")), (None, None));
        assert_eq!(JsonFields::read(b"{}"), Some(JsonFields(Vec::new())));
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "7",
            "[]",
            "{",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{a:1}",
            "{\"a\":yes}",
            "{\"a\":{}}",
            "{\"a\":[1]}",
            "{\"a\":1}}",
            "{\"a\":\"b}",
            "{\"a\":\"\\x\"}",
            "{\"a\":\"\\u12\"}",
            "{\"a\":\"\\u+123\"}",
            "{\"a\":\"\\ud83d\"}",
            "{\"a\":\"\\udc00\"}",
            "{\"a\":\"\n\"}",
        ] {
            assert_eq!(JsonFields::read(text.as_bytes()), None, "{text}");
        }
        assert_eq!(JsonFields::read(b"{\"a\":\"\xff\"}"), None);
    }
}
