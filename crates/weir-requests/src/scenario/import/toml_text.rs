//! Texts, keys and tables of TOML, as a person would write them.

use toml::de::{DeTable, DeValue};

use crate::scenario::file_value;
use crate::scenario::import::json_text::JsonNode;

/// Greatest length of JSON that becomes a table, in bytes.
const TABLE_MAX_BYTES: usize = 4_096;

/// Returns a text in quotes: literal ones where its characters permit.
pub(super) fn text(text: &str) -> String {
    let is_control = |c: char| c.is_control() && c != '\t';
    match text.contains('\'') || text.contains(is_control) {
        false => format!("'{text}'"),
        true => basic(text),
    }
}

/// Returns a text of several lines in quotes, which begin a line of their own.
pub(super) fn lines(lines: &str) -> String {
    let is_control = |c: char| c.is_control() && c != '\t' && c != '\n';
    let is_literal = lines.contains('\n')
        && !lines.contains("''")
        && !lines.ends_with('\'')
        && !lines.contains(is_control);
    match is_literal {
        true => format!("'''\n{lines}'''"),
        false => text(lines),
    }
}

/// Returns a text with escapes.
fn basic(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted += "\\\"",
            '\\' => quoted += "\\\\",
            '\n' => quoted += "\\n",
            '\r' => quoted += "\\r",
            '\t' => quoted += "\\t",
            c if c.is_control() => quoted += &format!("\\u{:04X}", u32::from(c)),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

/// Returns a key, bare if it can be.
pub(super) fn key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match !name.is_empty() && name.chars().all(is_bare) {
        true => name.to_owned(),
        false => text(name),
    }
}

/// Returns the members of a JSON object as keys and values of TOML; `None` if they would not be
/// read as the same JSON.
pub(super) fn members(json: &str) -> Option<Vec<(String, String)>> {
    let node = JsonNode::parse(json).filter(|_| json.len() <= TABLE_MAX_BYTES)?;
    // An escape may hide braces, which would become a field.
    if json.to_ascii_lowercase().contains("\\u007b") {
        return None;
    }
    let JsonNode::Object(members) = &node else { return None };
    let member = |(name, node): &(String, JsonNode<'_>)| Some((key(name), value(node)?));
    let members: Vec<(String, String)> = members.iter().map(member).collect::<Option<_>>()?;
    let document = format!("json = {}", inline(&members));
    let table = DeTable::parse(&document).ok()?;
    let read: &DeValue<'_> = table.get_ref().get("json")?.get_ref();
    (file_value::json(read).ok()? == node.compact()).then_some(members)
}

/// Returns a value of JSON; `None` if TOML has none.
fn value(node: &JsonNode<'_>) -> Option<String> {
    Some(match node {
        JsonNode::Plain(_, "null") => return None,
        JsonNode::Plain(_, plain) => (*plain).to_owned(),
        JsonNode::Text(_, value) => text(value),
        JsonNode::Array(items) => {
            let items = items.iter().map(value).collect::<Option<Vec<String>>>()?;
            format!("[{}]", items.join(", "))
        }
        JsonNode::Object(members) => {
            let member = |(name, node): &(String, JsonNode<'_>)| Some((key(name), value(node)?));
            inline(&members.iter().map(member).collect::<Option<Vec<_>>>()?)
        }
    })
}

/// Returns a table in one line, of keys and values in TOML.
pub(super) fn inline(members: &[(String, String)]) -> String {
    let members = members.iter().map(|(key, value)| format!("{key} = {value}"));
    match members.collect::<Vec<_>>().join(", ") {
        members if members.is_empty() => "{}".to_owned(),
        members => format!("{{ {members} }}"),
    }
}

/// Returns keys and values of texts by name, of which several with one name are an array.
pub(super) fn words(words: &[(String, String)]) -> Vec<(String, String)> {
    let mut members: Vec<(String, Vec<String>)> = Vec::new();
    for (name, word) in words {
        match members.iter_mut().find(|(known, _)| known == name) {
            Some((_, values)) => values.push(text(word)),
            None => members.push((name.clone(), vec![text(word)])),
        }
    }
    let member = |(name, values): (String, Vec<String>)| match &values[..] {
        [one] => (key(&name), one.clone()),
        several => (key(&name), format!("[{}]", several.join(", "))),
    };
    members.into_iter().map(member).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the text of a value as TOML's parser reads it.
    fn read(value: &str) -> String {
        let document = format!("a = {value}");
        let table = DeTable::parse(&document).unwrap_or_else(|error| panic!("{value}: {error}"));
        let read = table.get_ref().get("a").and_then(|value| value.get_ref().as_str());
        read.expect("a text").to_owned()
    }

    #[test]
    fn texts_read_back() {
        for (given, written) in [
            ("", "''"),
            ("a \"b\" \\d\t", "'a \"b\" \\d\t'"),
            ("it's", "\"it's\""),
            ("a\r\nb\u{7f}\u{1b}\u{85}\\\"", "\"a\\r\\nb\\u007F\\u001B\\u0085\\\\\\\"\""),
            ("ü\u{1F600}", "'ü\u{1F600}'"),
        ] {
            assert_eq!((text(given).as_str(), read(written).as_str()), (written, given));
        }
        for (given, is_literal) in [
            ("{\n  \"a\": 1\n}\n", true),
            ("\n\n", true),
            ("a\n'b'", false),
            ("a\n''b", false),
            ("a\r\nb", false),
            ("one line", false),
        ] {
            let written = lines(given);
            assert_eq!(read(&written), given);
            assert_eq!(written.starts_with("'''"), is_literal, "{given:?}");
        }
    }

    #[test]
    fn objects_of_json_become_tables_if_they_are_read_the_same() {
        let of = |json: &str| members(json).map(|members| inline(&members));
        let json = r#"{"b c": "x's", "a": [1, -2.5e3, true, {"k": ""}], "": {}}"#;
        let expected = r#"{ 'b c' = "x's", a = [1, -2.5e3, true, { k = '' }], '' = {} }"#;
        assert_eq!(of(json).as_deref(), Some(expected));
        for json in ["[1]", "{\"a\": null}", "{\"a\": 1, \"a\": 2}", r#"{"a": "\u007b{"}"#, "x"] {
            assert_eq!(of(json), None, "{json}");
        }
        let long = "{ a = 123456789012345678901234567890 }";
        assert_eq!(of("{\"a\": 123456789012345678901234567890}").as_deref(), Some(long));
    }

    #[test]
    fn names_that_come_twice_are_arrays() {
        let word = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let members = words(&[word("A", "1"), word("B.c", "2"), word("A", "3")]);
        assert_eq!(inline(&members), "{ A = ['1', '3'], 'B.c' = '2' }");
    }
}
