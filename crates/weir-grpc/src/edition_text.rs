//! The first statement of a text of an edition, `edition = "2023";`, which the compiler of texts
//! does not know. Independent of the rest of the text.

use std::fmt::{self, Debug};
use std::ops::Range;

use thiserror::Error;

use crate::editions::edition_of;

/// A text that begins with an edition.
#[derive(Debug)]
pub(crate) struct EditionText<'a> {
    text: &'a str,
    year: &'a str,
    statement: Range<usize>,
}

/// An edition that is not read.
#[derive(Error)]
#[error("edition {0:?} is not read: write the file for 2023 or 2024")]
pub(crate) struct UnknownEdition(String);

/// The same as its text: the compiler shows errors in this form.
impl Debug for UnknownEdition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl<'a> EditionText<'a> {
    /// Finds the edition of a text; `None` if it has none.
    pub(crate) fn of(text: &'a str) -> Option<EditionText<'a>> {
        let rest = skip_comments(text);
        let begin = text.len() - rest.len();
        let rest = skip_comments(skip_comments(rest.strip_prefix("edition")?).strip_prefix('=')?);
        let quote = rest.chars().next().filter(|char| matches!(char, '"' | '\''))?;
        let (year, rest) = rest[1..].split_once(quote)?;
        let rest = skip_comments(rest).strip_prefix(';')?;
        Some(EditionText { text, year, statement: begin..text.len() - rest.len() })
    }

    /// Returns its number in descriptors.
    ///
    /// # Errors
    /// If it is not read.
    pub(crate) fn number(&self) -> Result<i32, UnknownEdition> {
        edition_of(self.year).ok_or_else(|| UnknownEdition(self.year.to_owned()))
    }

    /// Returns the text as proto3, with the same lines.
    pub(crate) fn as_proto3(&self) -> String {
        let before = &self.text[..self.statement.start];
        let after = &self.text[self.statement.end..];
        let lines = self.text[self.statement.clone()].matches('\n').count();
        format!("{before}syntax = \"proto3\";{}{after}", "\n".repeat(lines))
    }
}

/// Returns the text after white space and comments.
fn skip_comments(text: &str) -> &str {
    let mut rest = text.trim_start_matches('\u{feff}').trim_start();
    loop {
        let after = match rest.strip_prefix("/*") {
            Some(comment) => comment.split_once("*/").map(|(_, after)| after),
            None => rest
                .strip_prefix("//")
                .map(|comment| comment.split_once('\n').map_or("", |(_, after)| after)),
        };
        match after {
            Some(after) => rest = after.trim_start(),
            None => return rest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_statement_may_be_an_edition() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(EditionText::of(text).map(|found| found.as_proto3()).as_deref(), expected);
        };
        check("edition = \"2023\"; message A {}", Some("syntax = \"proto3\"; message A {}"));
        check(
            "// a\n/* b\n */ edition='2024'\n;\n",
            Some("// a\n/* b\n */ syntax = \"proto3\";\n\n"),
        );
        for text in
            ["", "/*", "syntax = \"proto3\";", "edition", "edition = 2023;", "edition = \"2"]
        {
            check(text, None);
        }
        let unknown = EditionText::of("edition = \"2031\";").expect("one").number();
        assert!(unknown.is_err_and(|error| error.to_string().contains("2031")));
    }
}
