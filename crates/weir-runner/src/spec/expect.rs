//! The expectations of the responses of a run.

use serde::{Deserialize, Serialize};

/// Limit of a decoded body unless another is given, in bytes.
const BODY_MAX_BYTES: u64 = 8 << 20;

/// Expectations of responses. A list may have more, for its requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExpectSpec {
    /// Expectations of all responses: `status=200-299`, `header:etag`, `header:NAME=VALUE`,
    /// `body~REGEX`, `json:/status=done`, `same`.
    pub all: Vec<String>,
    /// Limit of a decoded body, in bytes, from 1 to 1 GiB.
    pub body_max_bytes: u64,
}

impl Default for ExpectSpec {
    fn default() -> ExpectSpec {
        ExpectSpec { all: Vec::new(), body_max_bytes: BODY_MAX_BYTES }
    }
}

impl ExpectSpec {
    pub(crate) fn is_default(&self) -> bool {
        *self == ExpectSpec::default()
    }
}
