//! Values of a TOML file, with the lines that errors name.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::list::{RowError, form_encoded};

/// The text of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileText<'t>(pub(super) &'t str);

impl FileText<'_> {
    /// Returns the error at a place in bytes from the start of the file.
    pub(super) fn error(self, at: usize, text: impl Into<String>) -> RowError {
        RowError::new(self.line(at), text)
    }

    /// Returns the line, from 1, of a place.
    pub(super) fn line(self, at: usize) -> u64 {
        1 + self.0.bytes().take(at).filter(|byte| *byte == b'\n').count() as u64
    }
}

/// A table of a file: its keys, and how errors name it.
#[derive(Debug)]
pub(super) struct FileTable<'t> {
    file: FileText<'t>,
    table: &'t DeTable<'t>,
    /// Where it begins, in bytes.
    pub(super) at: usize,
    /// Its name in errors, such as `step "login"`; empty for the whole file.
    pub(super) name: String,
}

impl<'t> FileTable<'t> {
    /// Returns a table that begins at a place, and has no keys but these.
    ///
    /// # Errors
    /// If it has another key.
    pub(super) fn new(
        file: FileText<'t>,
        table: &'t DeTable<'t>,
        at: usize,
        name: &str,
        keys: &[&str],
    ) -> Result<FileTable<'t>, RowError> {
        let table = FileTable { file, table, at, name: name.to_owned() };
        let mut names = table.table.iter().map(|(key, _)| key);
        match names.find(|key| !keys.contains(&key.get_ref().as_ref())) {
            None => Ok(table),
            Some(key) => {
                let name: &str = key.get_ref().as_ref();
                let near = weir_text::similar(name, keys.iter().copied());
                let hint = near.map(|near| format!("did you mean `{near}`? "));
                let text = format!(
                    "unknown key `{name}`: {}the keys are {}",
                    hint.unwrap_or_default(),
                    keys.join(", ")
                );
                Err(table.error(key.span().start, text))
            }
        }
    }

    /// Returns the error at a place.
    pub(super) fn error(&self, at: usize, text: impl AsRef<str>) -> RowError {
        let text = text.as_ref();
        match self.name.is_empty() {
            true => self.file.error(at, text),
            false => self.file.error(at, format!("{}: {text}", self.name)),
        }
    }

    /// Returns the error of a key's value.
    pub(super) fn wrong(&self, key: &str, text: impl AsRef<str>) -> RowError {
        let at = self.value(key).map_or(self.at, |value| value.span().start);
        self.error(at, format!("`{key}` {}", text.as_ref()))
    }

    /// Returns the value of a key.
    pub(super) fn value(&self, key: &str) -> Option<&'t Spanned<DeValue<'t>>> {
        self.table.get(key)
    }

    /// Returns what `read` makes of the value of a key; `None` without it.
    ///
    /// # Errors
    /// If `read` refuses it, with a text that fits behind the key.
    pub(super) fn read<T>(
        &self,
        key: &str,
        read: impl FnOnce(&'t DeValue<'t>) -> Result<T, String>,
    ) -> Result<Option<T>, RowError> {
        let Some(value) = self.value(key) else { return Ok(None) };
        read(value.get_ref()).map(Some).map_err(|text| self.wrong(key, text))
    }

    /// Returns the text of a key; `None` without it.
    pub(super) fn text(&self, key: &str) -> Result<Option<String>, RowError> {
        self.read(key, text)
    }

    /// Returns the tables of a key, each with its place in bytes; none without it.
    pub(super) fn tables(&self, key: &str) -> Result<Vec<(usize, &'t DeTable<'t>)>, RowError> {
        let tables = self.read(key, |value| {
            let values = value.as_array().ok_or_else(|| lacks("tables", value))?;
            let table = |value: &'t Spanned<DeValue<'t>>| {
                let table = value.get_ref().as_table();
                let table = table.ok_or_else(|| lacks("tables", value.get_ref()));
                table.map(|table| (value.span().start, table))
            };
            values.iter().map(table).collect()
        });
        Ok(tables?.unwrap_or_default())
    }
}

/// Returns a text in quotes.
pub(super) fn text(value: &DeValue<'_>) -> Result<String, String> {
    value.as_str().map(str::to_owned).ok_or_else(|| lacks("a text in quotes", value))
}

/// Returns a text, or a number as it is written.
fn word(value: &DeValue<'_>) -> Result<String, String> {
    match value {
        DeValue::String(text) => Ok(text.clone().into_owned()),
        DeValue::Integer(number) if number.radix() == 10 => Ok(number.as_str().to_owned()),
        DeValue::Float(number) => Ok(number.as_str().to_owned()),
        DeValue::Boolean(is_true) => Ok(is_true.to_string()),
        _ => Err(lacks("a text, a number or a boolean", value)),
    }
}

/// Returns one text, or several.
pub(super) fn texts(value: &DeValue<'_>) -> Result<Vec<String>, String> {
    match value.as_array() {
        Some(values) => values.iter().map(|value| text(value.get_ref())).collect(),
        None => text(value).map(|text| vec![text]),
    }
}

/// Returns a whole number in these limits.
pub(super) fn whole(value: &DeValue<'_>, least: u32, most: u32) -> Result<u32, String> {
    let number = value.as_integer().filter(|number| number.radix() == 10);
    let number = number.and_then(|number| number.as_str().parse().ok());
    let number = number.filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| format!("must be a whole number from {least} to {most}"))
}

/// Returns a number, with or without a fraction.
pub(super) fn number(value: &DeValue<'_>) -> Result<f64, String> {
    let number = word(value).ok().and_then(|text| text.parse().ok());
    number.filter(|_| value.as_str().is_none()).ok_or_else(|| lacks("a number", value))
}

/// Returns the words of a table by name, in the order of the file; several of one name are an
/// array.
pub(super) fn words(value: &DeValue<'_>) -> Result<Vec<(String, String)>, String> {
    let table = value.as_table().ok_or_else(|| lacks("a table: { NAME = \"VALUE\" }", value))?;
    let mut all = Vec::new();
    for (name, value) in in_order(table) {
        let failed = |text: String| format!("has the name {name:?}, whose value {text}");
        match value.as_array() {
            Some(values) => {
                for value in values {
                    all.push((name.to_owned(), word(value.get_ref()).map_err(failed)?));
                }
            }
            None => all.push((name.to_owned(), word(value).map_err(failed)?)),
        }
    }
    Ok(all)
}

/// Returns a value as JSON, with members in the order of the file.
pub(super) fn json(value: &DeValue<'_>) -> Result<String, String> {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    Ok(match value {
        DeValue::String(text) => quoted(text),
        DeValue::Boolean(is_true) => is_true.to_string(),
        DeValue::Integer(_) | DeValue::Float(_) => {
            let written = word(value)?;
            let number: Result<serde_json::Number, _> = serde_json::from_str(&written);
            number.map_err(|_| format!("has {written}, which is no number of JSON"))?;
            written
        }
        DeValue::Array(values) => {
            let values = values.iter().map(|value| json(value.get_ref()));
            format!("[{}]", values.collect::<Result<Vec<_>, _>>()?.join(","))
        }
        DeValue::Table(table) => {
            let member = |(name, value): (&str, &DeValue<'_>)| {
                json(value).map(|value| format!("{}:{value}", quoted(name)))
            };
            let members = in_order(table).into_iter().map(member);
            format!("{{{}}}", members.collect::<Result<Vec<_>, _>>()?.join(","))
        }
        DeValue::Datetime(time) => quoted(&time.to_string()),
    })
}

/// Returns a form as its urlencoded text. Braces of fields stay, so that these are found in it.
pub(super) fn form(fields: &[(String, String)]) -> String {
    let encoded = |text: &str| {
        let mut encoded = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            let Some((field, after)) = after.split_once("}}") else { break };
            encoded += &form_encoded(before.as_bytes());
            encoded += &format!("{{{{{field}}}}}");
            rest = after;
        }
        encoded + &form_encoded(rest.as_bytes())
    };
    let fields = fields.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value)));
    fields.collect::<Vec<_>>().join("&")
}

fn in_order<'t>(table: &'t DeTable<'t>) -> Vec<(&'t str, &'t DeValue<'t>)> {
    let mut members: Vec<_> = table.iter().collect();
    members.sort_by_key(|(name, _)| name.span().start);
    let member = |(name, value): (&'t Spanned<_>, &'t Spanned<DeValue<'t>>)| {
        (AsRef::<str>::as_ref(name.get_ref()), value.get_ref())
    };
    members.into_iter().map(member).collect()
}

/// Returns the reason that a value has another type.
fn lacks(expected: &str, value: &DeValue<'_>) -> String {
    format!("must be {expected}; it is of type {}", value.type_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of<T>(text: &str, read: impl Fn(&DeValue<'_>) -> Result<T, String>) -> Result<T, String> {
        let table = DeTable::parse(text).expect(text);
        read(table.get_ref().get("a").expect("a key").get_ref())
    }

    #[test]
    fn json_is_written_in_order() {
        let text = "a = { z = \"1\", b = [1, 2.50, true, { c = \"\\\"\" }], n = {} }";
        let written = r#"{"z":"1","b":[1,2.50,true,{"c":"\""}],"n":{}}"#;
        assert_eq!(of(text, json).as_deref(), Ok(written));
        assert!(of("a = inf", json).is_err());
        assert!(of("a = [0x1F]", json).is_err());
    }

    #[test]
    fn forms_are_encoded_but_for_their_fields() {
        let fields = of("a = { \"x y\" = \"ä&{{user.a}}={\", n = 3, b = [1, 2] }", words);
        let form = form(&fields.expect("words"));
        assert_eq!(form, "x+y=%C3%A4%26{{user.a}}%3D%7B&n=3&b=1&b=2");
    }

    #[test]
    fn numbers_have_limits() {
        assert_eq!(of("a = 3", |value| whole(value, 1, 9)), Ok(3));
        for text in ["a = 0", "a = 10", "a = 0x5", "a = \"3\"", "a = 1.0"] {
            assert!(of(text, |value| whole(value, 1, 9)).is_err(), "{text}");
        }
        assert_eq!((of("a = 0.5", number), of("a = 1", number)), (Ok(0.5), Ok(1.0)));
        assert!(of("a = \"1\"", number).is_err());
    }
}
