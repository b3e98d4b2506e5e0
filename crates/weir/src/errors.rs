//! Errors with exit codes of their own.

use std::{fmt, io};

/// A result that could not be written to a file or to standard output.
#[derive(Debug)]
pub(crate) struct NotWritten {
    pub(crate) place: &'static str,
    pub(crate) error: io::Error,
}

impl fmt::Display for NotWritten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cannot be written: {}", self.place, self.error)
    }
}

impl std::error::Error for NotWritten {}
