//! Errors of a run, by their cause: the specification, the server, the machine, or weir itself.

use std::ffi::OsStr;
use std::io;

use weir_engine::RunError;
use weir_machine::sys::Signal;
use weir_result::document::BrokenInvariant;
use weir_serve::ServeError;
use weir_text::printable;

/// The reason why a run has no result, with its context in one line.
#[derive(Debug, thiserror::Error)]
#[error("{cause:#}")]
pub struct Error {
    /// The cause.
    pub kind: ErrorCause,
    cause: anyhow::Error,
}

/// The cause of an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorCause {
    /// The specification, or a file that it names, is wrong: the user can correct it.
    Usage,
    /// The server makes a load impossible: it has no address, or no connection can be opened.
    NoServer,
    /// Not all agents of a fleet can begin: no load was sent.
    NotStarted,
    /// The load of a fleet was sent, and no part of its result has arrived.
    Unreported,
    /// The machine lacks a resource: a thread, a descriptor, an io_uring instance.
    Machine,
    /// Inconsistent numbers, or another internal error: no result would be true.
    Internal,
    /// A signal came before anything was measured.
    Interrupted(Signal),
}

impl ErrorCause {
    /// Returns the cause of an error; one without a kind of its own is the user's.
    pub fn of(error: &anyhow::Error) -> ErrorCause {
        match (error.downcast_ref(), error.downcast_ref()) {
            _ if error.is::<BrokenInvariant>() => ErrorCause::Internal,
            (Some(RunError::Panicked { .. }), _) => ErrorCause::Internal,
            (Some(_), _) => ErrorCause::Machine,
            (None, Some(ServeError::Worker(_))) => ErrorCause::Machine,
            _ if error.is::<NoThread>() => ErrorCause::Machine,
            _ if error.is::<NoServer>() => ErrorCause::NoServer,
            _ if error.is::<NotStarted>() => ErrorCause::NotStarted,
            _ if error.is::<Unreported>() => ErrorCause::Unreported,
            _ => match error.downcast_ref() {
                Some(Interrupted(signal)) => ErrorCause::Interrupted(*signal),
                None => ErrorCause::Usage,
            },
        }
    }
}

impl Error {
    /// Returns the same error with another text.
    pub(crate) fn in_words(self, change: impl FnOnce(String) -> String) -> Error {
        let text = self.to_string();
        let changed = change(text.clone());
        let cause = if changed == text { self.cause } else { anyhow::Error::msg(changed) };
        Error { cause, ..self }
    }
}

impl From<anyhow::Error> for Error {
    fn from(cause: anyhow::Error) -> Error {
        Error { kind: ErrorCause::of(&cause), cause }
    }
}

/// A server that makes a load impossible: it has no address, or no connection to it can be opened.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct NoServer(pub(crate) String);

/// A fleet of which not all agents can begin.
#[derive(Debug, thiserror::Error)]
#[error("not started, and {}: {}", sent_in_words(.probing_agent.as_deref()), .reasons.join("; "))]
pub struct NotStarted {
    /// The reasons.
    pub reasons: Vec<String>,
    /// Agent that was asked to look at the target before the load, if one was.
    pub probing_agent: Option<String>,
}

fn sent_in_words(probing_agent: Option<&str>) -> String {
    match probing_agent {
        None => "nothing was sent".to_owned(),
        Some(agent) => format!("no load was sent (only agent {agent} may have probed the target)"),
    }
}

/// A load of a fleet of which no part has arrived, with the reason of each agent.
#[derive(Debug, thiserror::Error)]
#[error("no agent has delivered what it measured: {}", .0.join("; "))]
pub struct Unreported(pub Vec<String>);

/// A thread that could not be started.
#[derive(Debug, thiserror::Error)]
#[error("a thread cannot be started: {0}; raise the limit (ulimit -u, ulimit -v, pids.max)")]
pub struct NoThread(pub io::Error);

/// A signal that came before anything was measured.
#[derive(Debug, thiserror::Error)]
#[error("interrupted before the load: nothing was measured")]
pub struct Interrupted(pub Signal);

/// Printable form, for messages, of the name of a file.
pub(crate) fn shown(name: impl AsRef<OsStr>) -> String {
    printable(&name.as_ref().to_string_lossy()).into_owned()
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[test]
    fn errors_have_the_kind_of_their_cause() {
        let check = |cause: anyhow::Error, kind| {
            let error = Error::from(cause.context("context"));
            assert_eq!(error.kind, kind, "{error}");
            assert!(error.to_string().starts_with("context: "), "{error}");
        };
        check(NoServer("gone".to_owned()).into(), ErrorCause::NoServer);
        check(NoThread(io::ErrorKind::WouldBlock.into()).into(), ErrorCause::Machine);
        check(RunError::Panicked { worker: 0 }.into(), ErrorCause::Internal);
        check(Interrupted(Signal::HangUp).into(), ErrorCause::Interrupted(Signal::HangUp));
        let wrong: anyhow::Result<()> = Err(io::Error::other("x")).context("y");
        check(wrong.expect_err("an error"), ErrorCause::Usage);
    }
}
