//! The expectations of responses (METHOD 1.6).

use serde::{Deserialize, Serialize};

/// Expectations of responses. Without one of the status code, a code below 400 is expected.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExpectPlan {
    /// Expectations of all responses, as they were written.
    pub all: Vec<String>,
    /// Requests of the list that have expectations of their own, whose text is in the list.
    pub rows: u64,
    /// Limit of a decoded body in bytes; absent if no expectation reads bodies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_max_bytes: Option<u64>,
}
