//! A row that cannot be used.

use thiserror::Error;

/// A row that cannot be used, or a list that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {text}")]
pub struct RowError {
    /// Line, from 1; in a HAR file the number of the entry, 0 for the whole file.
    pub line: u64,
    /// Reason, which fits behind a colon.
    pub text: String,
}

impl RowError {
    pub(crate) fn new(line: u64, text: impl Into<String>) -> RowError {
        RowError { line, text: text.into() }
    }
}
