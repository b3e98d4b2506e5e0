//! Lacks in the responses to users' steps.

use weir_requests::scenario::MissingValue;
use weir_result::MissKind;

/// A lack in the response to a user's step.
#[derive(Clone, Debug)]
pub(crate) struct UserMiss {
    pub(crate) kind: MissKind,
    /// Example of it; `None` if it missed an expectation, which has one.
    pub(crate) lack: Option<UserLack>,
}

/// An example of what a response lacks.
#[derive(Clone, Debug)]
pub(crate) struct UserLack {
    pub(crate) expected: String,
    pub(crate) found: String,
}

impl UserMiss {
    /// Returns the lack of a value that a step keeps.
    pub(super) fn of_value(MissingValue { why, source }: MissingValue<'_>) -> UserMiss {
        let lack = UserLack { expected: format!("capture {source}"), found: why.to_string() };
        UserMiss { kind: why.kind(), lack: Some(lack) }
    }
}
