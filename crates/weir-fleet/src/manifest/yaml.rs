//! YAML of JSON values, in blocks, for people to read. A string that YAML could take for something
//! else is quoted as in JSON, which is YAML, too.

use serde_json::Value;

/// Returns a value as a document.
pub(super) fn document(value: &Value) -> String {
    let mut out = String::new();
    block(value, 0, &mut out);
    out
}

/// Writes a value that begins on a line of its own.
fn block(value: &Value, indent: usize, out: &mut String) {
    let pad = " ".repeat(indent);
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                out.push_str(&format!("{pad}{}:", text(name)));
                after(value, indent + 2, out);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                let mut inner = String::new();
                block(item, indent + 2, &mut inner);
                // The dash takes the place of the first two blanks.
                out.push_str(&format!("{pad}- {}", &inner[indent + 2..]));
            }
        }
        scalar => out.push_str(&format!("{pad}{}\n", inline(scalar))),
    }
}

/// Writes a value behind the name of its field.
fn after(value: &Value, indent: usize, out: &mut String) {
    let is_nested = match value {
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    };
    match value {
        value if is_nested => {
            out.push('\n');
            block(value, indent, out);
        }
        Value::String(lines) if is_literal(lines) => {
            out.push_str(" |\n");
            for line in lines.lines() {
                let pad = if line.is_empty() { 0 } else { indent };
                out.push_str(&format!("{}{line}\n", " ".repeat(pad)));
            }
        }
        scalar => out.push_str(&format!(" {}\n", inline(scalar))),
    }
}

fn inline(value: &Value) -> String {
    match value {
        Value::String(string) => text(string),
        other => other.to_string(),
    }
}

/// True for lines that a literal block keeps as they are.
fn is_literal(lines: &str) -> bool {
    let is_plain = |c: char| matches!(c, ' '..='~' | '\n');
    lines.len() > 1
        && lines.ends_with('\n')
        && !lines.ends_with("\n\n")
        && !lines.starts_with([' ', '\n'])
        && lines.chars().all(is_plain)
}

/// Words that YAML 1.1 takes for truth values or for nothing.
const WORDS: [&str; 9] = ["true", "false", "yes", "no", "on", "off", "y", "n", "null"];

/// Returns a string plain if no parser takes it for anything else, else quoted.
fn text(string: &str) -> String {
    let is_fit = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    let is_word = WORDS.contains(&string.to_ascii_lowercase().as_str());
    let is_plain = string.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/') && !is_word;
    if is_plain && string.chars().all(is_fit) {
        return string.to_owned();
    }
    let quoted = Value::String(string.to_owned()).to_string();
    quoted.chars().map(escaped).collect()
}

/// Returns a character as it stands between quotes. JSON leaves some that YAML does not take, or
/// takes for ends of lines.
fn escaped(c: char) -> String {
    match c {
        '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {
            format!("\\u{:04x}", u32::from(c))
        }
        c => c.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn strings_stay_strings() {
        for (string, expected) in [
            ("apps/v1", "apps/v1"),
            ("", "\"\""),
            ("yes", "\"yes\""),
            ("No", "\"No\""),
            ("~", "\"~\""),
            ("0440", "\"0440\""),
            ("1:30", "\"1:30\""),
            ("1e3", "\"1e3\""),
            (".inf", "\".inf\""),
            ("a: b", "\"a: b\""),
            ("a #b", "\"a #b\""),
            ("-c", "\"-c\""),
            ("*a", "\"*a\""),
            ("say \"it\"", "\"say \\\"it\\\"\""),
            ("it's", "\"it's\""),
            ("a\\b", "\"a\\\\b\""),
            ("a\nb", "\"a\\nb\""),
            ("a\u{85}b\u{2028}", "\"a\\u0085b\\u2028\""),
            ("ä", "\"ä\""),
        ] {
            assert_eq!(text(string), expected);
        }
    }

    #[test]
    fn values_are_blocks() {
        let value = json!({
            "args": ["-c", { "b": 1, "a": ["x", [true]] }],
            "empty": [{}, []],
            "key.pem": "-----BEGIN\n\n# a\n",
            "odd": " a\n",
        });
        let expected = "args:\n  - \"-c\"\n  - a:\n      - x\n      - - true\n    b: 1\n\
                        empty:\n  - {}\n  - []\n\
                        key.pem: |\n  -----BEGIN\n\n  # a\n\
                        odd: \" a\\n\"\n";
        assert_eq!(document(&value), expected);
    }
}
