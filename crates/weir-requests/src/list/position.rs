//! Position of a row in its list.

use std::fmt::{self, Display};

/// Position of a row, or of an error, in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// A line, from 1.
    Line(u64),
    /// An entry of a HAR file, from 1.
    Entry(u64),
    /// The list itself.
    Whole,
}

impl From<u64> for Position {
    fn from(line: u64) -> Position {
        Position::Line(line)
    }
}

impl Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Position::Line(line) => write!(f, "line {line}"),
            Position::Entry(entry) => write!(f, "entry {entry}"),
            Position::Whole => f.write_str("the list"),
        }
    }
}
