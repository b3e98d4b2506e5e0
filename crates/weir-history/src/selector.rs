//! Selection of saved runs on a command line: `12`, `nginx-default`, `nginx-default@2`.

use std::fmt;
use std::str::FromStr;

use crate::name::{Name, NameError, Tag};

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
