//! Results of the assertions that a document was judged by.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::quantile::Bound;

/// The outcome of an assertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AssertionOutcome {
    /// The measured value is on the claimed side of the limit.
    Pass,
    /// The measured value is on the other side, is not known, or is less certain than required.
    Fail,
}

/// As in the document.
impl fmt::Display for AssertionOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// An assertion and its outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AssertionResult {
    /// The claim as given.
    pub assertion: String,
    /// Pass or fail.
    pub outcome: AssertionOutcome,
    /// Measured number, in nanoseconds, per second, as a share of 1 or as a plain number; null if
    /// it is not known.
    pub value: Option<f64>,
    /// The relation of `value` to the true one.
    pub bound: Bound,
    /// Limit of the claim, in the same unit.
    pub limit: f64,
    /// One-sided confidence, 0 to 1, that the true value lies on the same side of the limit as
    /// `value`; null if none is known.
    pub confidence: Option<f64>,
    /// Confidence below which the claim fails; absent if none was required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_confidence: Option<f64>,
    /// The measured value in words.
    pub measured: String,
    /// Reason of the failure and remedy, if `measured` does not show it.
    pub reason: Option<String>,
}
