//! The error in the text of an assertion or of a metric.

/// Error in the text of an assertion: a fragment that fits after "invalid value: ".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AssertionError(pub(super) String);
