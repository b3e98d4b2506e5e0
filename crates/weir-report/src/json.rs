//! The document as JSON: pretty, in the order of the schema, ending with a newline. All characters
//! that a terminal would interpret are escaped.

use std::fmt::Write as _;
use std::io::{self, Write};

use serde::Serialize;
use weir_result::study::Comparison;
use weir_result::{Document, STUDY_VERSION, Study};
use weir_text::is_unprintable;

/// Writes the document.
pub fn write(document: &Document, out: &mut dyn Write) -> io::Result<()> {
    write_value(document, out)
}

/// Writes a study: one line, since it holds a document for each trial.
pub fn write_study(study: &Study, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", escaped(serde_json::to_string(study)?))
}

/// Writes a comparison that is no study, with the version of its schema.
pub fn write_comparison(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let value = serde_json::json!({ "study_version": STUDY_VERSION, "comparison": comparison });
    write_value(&value, out)
}

/// Writes a result.
pub fn write_value(value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", escaped(serde_json::to_string_pretty(value)?))
}

/// Escapes all characters that a terminal would interpret, except line feeds between values.
pub fn escaped(json: String) -> String {
    // serde_json has already escaped line feeds within values.
    let must_go = |c: char| is_unprintable(c) && c != '\n';
    if !json.contains(must_go) {
        return json;
    }
    let mut escaped = String::with_capacity(json.len());
    for c in json.chars() {
        if must_go(c) {
            write!(escaped, "\\u{:04x}", u32::from(c)).expect("a string takes all that is written");
        } else {
            escaped.push(c);
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_escaped_and_read_back() {
        let value = vec!["a\u{1b}\n", "\u{7f}\u{9b}", "\u{202e}µ"];
        let text = escaped(serde_json::to_string_pretty(&value).expect("it can be written"));
        let expected = "[\n  \"a\\u001b\\n\",\n  \"\\u007f\\u009b\",\n  \"\\u202eµ\"\n]";
        assert_eq!(text, expected);
        let read: Vec<String> = serde_json::from_str(&text).expect("it is JSON");
        assert_eq!(read, value);
    }
}
