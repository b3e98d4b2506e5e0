//! The rule that separates successful responses from others (METHOD 1.6).

use serde::{Deserialize, Serialize};

/// Range of status codes that count as success. The default, as wrk's, is every code below 400.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SuccessRule {
    /// Lowest status code that counts as success.
    pub status_min: u16,
    /// Highest status code that counts as success, inclusive.
    pub status_max: u16,
}

impl Default for SuccessRule {
    fn default() -> SuccessRule {
        SuccessRule { status_min: 0, status_max: 399 }
    }
}

impl SuccessRule {
    /// True if a response with this status code is a success.
    #[inline]
    pub fn accepts(self, status: u16) -> bool {
        (self.status_min..=self.status_max).contains(&status)
    }
}
