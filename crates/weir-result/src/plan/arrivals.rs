//! Arrival processes.

use serde::{Deserialize, Serialize};

/// Arrival process of an open loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "process", rename_all = "snake_case")]
pub enum Arrivals {
    /// Evenly spaced arrivals, the first half a gap after the start.
    Uniform,
    /// Poisson process: independent exponential gaps.
    Poisson {
        /// Seed of the random gaps, which makes the plan repeatable.
        seed: u64,
    },
}
