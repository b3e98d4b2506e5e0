//! Names and tags of saved runs: words that need no quotes in a shell and are no path.

use std::fmt;
use std::str::FromStr;

/// Greatest length of a name or a tag, in bytes.
const BYTES_MAX: usize = 64;

/// Name under which runs are saved: letters, digits, `-`, `_`, `.`, `:` and `+`. The first
/// character is a letter or a digit, and not all are digits, since a number is the ID of a run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name(pub(crate) String);

/// Tag of a saved run, such as a version. It has the characters of a name, and may be a number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tag(pub(crate) String);

/// Reason why a word is no name or tag.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// It has no characters, or too many; with its length in bytes.
    #[error("it has {0} bytes: use 1 to {BYTES_MAX}")]
    Length(usize),
    /// A character that a shell, a path or a selector would interpret.
    #[error(
        "use letters, digits and -_.:+ only (no blank, slash or @), with a letter or digit first"
    )]
    Character,
    /// A number, which would be read as an ID.
    #[error("a number is the ID of a run: add a letter")]
    Number,
    /// No number of 1 or more after `@`.
    #[error("write NAME@2 for the run before the newest: @ takes a number from 1")]
    Place,
}

impl FromStr for Name {
    type Err = NameError;

    /// Checks a name.
    fn from_str(text: &str) -> Result<Name, NameError> {
        let word = checked(text)?;
        match word.bytes().all(|byte| byte.is_ascii_digit()) {
            true => Err(NameError::Number),
            false => Ok(Name(word)),
        }
    }
}

impl FromStr for Tag {
    type Err = NameError;

    /// Checks a tag.
    fn from_str(text: &str) -> Result<Tag, NameError> {
        checked(text).map(Tag)
    }
}

fn checked(text: &str) -> Result<String, NameError> {
    if !(1..=BYTES_MAX).contains(&text.len()) {
        return Err(NameError::Length(text.len()));
    }
    let is_word = |c: char| c.is_ascii_alphanumeric() || "-_.:+".contains(c);
    match text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.chars().all(is_word) {
        true => Ok(text.to_owned()),
        false => Err(NameError::Character),
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A selection of saved runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selector {
    /// The run with this ID.
    Id(i64),
    /// All runs of a name.
    Name(Name),
    /// The run of a name at this place, counted back in time: 1 is the newest.
    Nth(Name, u32),
}

/// Runs that a list or a trend is about.
#[derive(Clone, Copy, Debug, Default)]
pub struct Filter<'a> {
    /// Name of the runs; all names without it.
    pub name: Option<&'a Name>,
    /// Tag that the runs have.
    pub tag: Option<&'a Tag>,
    /// Greatest number of runs, the newest ones; all without it.
    pub count: Option<u32>,
}

impl FromStr for Selector {
    type Err = NameError;

    /// Parses `ID`, `NAME` or `NAME@N`.
    fn from_str(text: &str) -> Result<Selector, NameError> {
        let digits = text.strip_prefix('#').unwrap_or(text);
        if digits.bytes().all(|byte| byte.is_ascii_digit())
            && let Ok(id) = digits.parse()
        {
            return Ok(Selector::Id(id));
        }
        let Some((name, place)) = text.split_once('@') else {
            return text.parse().map(Selector::Name);
        };
        let name = name.parse()?;
        match place.parse() {
            Ok(place @ 1..) => Ok(Selector::Nth(name, place)),
            _ => Err(NameError::Place),
        }
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Selector::Id(id) => write!(f, "#{id}"),
            Selector::Name(name) => write!(f, "{name}"),
            Selector::Nth(name, place) => write!(f, "{name}@{place}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words() {
        for name in ["nginx-default", "a", "v1.2", "2026-11-23", "api:get_item", "1a"] {
            assert_eq!(name.parse::<Name>().expect(name).0, name);
        }
        let long = "n".repeat(65);
        for (text, expected) in [
            ("", NameError::Length(0)),
            (long.as_str(), NameError::Length(65)),
            ("-n", NameError::Character),
            ("a b", NameError::Character),
            ("a/b", NameError::Character),
            ("a@1", NameError::Character),
            ("é", NameError::Character),
            ("a\u{1b}", NameError::Character),
            ("12", NameError::Number),
        ] {
            assert_eq!(text.parse::<Name>(), Err(expected), "{text:?}");
        }
    }

    #[test]
    fn a_tag_may_be_a_number() {
        assert_eq!("12".parse::<Tag>().expect("a tag").0, "12");
        assert_eq!("a b".parse::<Tag>(), Err(NameError::Character));
    }

    #[test]
    fn numbers_are_ids_and_words_are_names() {
        let name: Name = "nginx".parse().expect("a name");
        for (text, expected) in [
            ("12", Selector::Id(12)),
            ("#12", Selector::Id(12)),
            ("nginx", Selector::Name(name.clone())),
            ("nginx@1", Selector::Nth(name.clone(), 1)),
            ("nginx@30", Selector::Nth(name, 30)),
        ] {
            assert_eq!(text.parse(), Ok(expected), "{text}");
        }
        for text in ["nginx@0", "nginx@", "nginx@x", "nginx@-1"] {
            assert_eq!(text.parse::<Selector>(), Err(NameError::Place), "{text}");
        }
        assert_eq!("run.json/".parse::<Selector>(), Err(NameError::Character));
        assert!("9".repeat(30).parse::<Selector>().is_err());
    }

    #[test]
    fn a_selector_prints_as_it_is_written() {
        for text in ["#12", "nginx", "nginx@2"] {
            assert_eq!(text.parse::<Selector>().expect(text).to_string(), text);
        }
    }
}
