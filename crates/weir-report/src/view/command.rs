//! A command line, as a shell takes it.

use std::iter;

use super::{Fact, Form, Line};

/// A command line of weir: `weir -c10 'http://h/?a&b'`.
pub(super) fn line(words: &[String]) -> Line {
    let words = iter::once("weir").chain(words.iter().map(String::as_str)).map(quoted);
    let command = Fact::text(words.collect::<Vec<_>>().join(" "));
    Line { form: Form::Command, facts: vec![command] }
}

/// Quotes a word if a shell would not take it as it is.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+[]".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_a_shell_would_change_are_quoted() {
        for (word, expected) in [
            ("-c10", "-c10"),
            ("http://h:80/a?b=1&c=2", "'http://h:80/a?b=1&c=2'"),
            ("Authorization: [redacted]", "'Authorization: [redacted]'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }
}
