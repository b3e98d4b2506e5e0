//! Errors about the command line in one sentence.

use clap::error::ErrorKind;

/// Returns an error about the command line.
pub(super) fn wrong(text: impl Into<String>) -> clap::Error {
    clap::Error::raw(ErrorKind::InvalidValue, text.into() + "\n")
}
