//! A row that cannot be used.

use thiserror::Error;

use crate::list::Position;

/// A row that cannot be used, or a list that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{position}: {text}")]
pub struct RowError {
    /// Its position.
    pub position: Position,
    /// Reason, which fits behind a colon.
    pub text: String,
}

impl RowError {
    /// Returns its text behind the name of its file: with its place, unless that is the whole file.
    pub fn of_file(&self) -> String {
        match self.position {
            Position::Whole => self.text.clone(),
            Position::Line(_) | Position::Entry(_) => self.to_string(),
        }
    }

    pub(crate) fn new(position: impl Into<Position>, text: impl Into<String>) -> RowError {
        RowError { position: position.into(), text: text.into() }
    }
}
