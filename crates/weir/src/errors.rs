//! Errors with exit codes of their own.

use std::{fmt, io};

/// The document was made, and could not be written to a place of the user's.
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

/// No load is possible, because of the server: it has no address, or no connection to it comes up.
#[derive(Debug)]
pub(crate) struct NoServer(pub(crate) String);

impl fmt::Display for NoServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoServer {}

/// A thread could not be started.
#[derive(Debug)]
pub(crate) struct NoThread(pub(crate) io::Error);

impl fmt::Display for NoThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NoThread(error) = self;
        write!(f, "a thread cannot be started: {error}; raise the limit (ulimit -u, pids.max)")
    }
}

impl std::error::Error for NoThread {}
