//! Counts of the steps of scenarios.

use serde::{Deserialize, Serialize};

use crate::rules;

merged! {
    /// Turns at one step of a scenario, of the users who arrived in the window and began. The four
    /// ends add up to these users times the turns that each has.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub struct StepCounts {
        /// Requests that were sent.
        pub reached: u64 => rules::sum,
        /// Of `reached`: users who failed there.
        pub failed: u64 => rules::sum,
        /// Turns that the user's chance or condition left out.
        pub skipped: u64 => rules::sum,
        /// Turns that users did not reach, because they failed there or before.
        pub not_reached: u64 => rules::sum,
        /// Turns that users who were in progress at the end of the run had not taken.
        pub left_at_end: u64 => rules::sum,
    }
}

impl StepCounts {
    /// Returns all turns.
    pub fn turns(&self) -> u64 {
        let parts = [self.reached, self.skipped, self.not_reached, self.left_at_end];
        parts.into_iter().fold(0, u64::saturating_add)
    }
}
