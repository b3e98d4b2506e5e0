//! Users of a plan, who send the requests of a list as the steps of scenarios.

use serde::{Deserialize, Serialize};

/// Users of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UsersPlan {
    /// Users at a time, each on a connection of its own, or on a stream of one.
    pub at_a_time: u32,
    /// Scenarios, in file order.
    pub scenarios: Vec<ScenarioPlan>,
}

/// A scenario of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScenarioPlan {
    /// Name.
    pub name: String,
    /// Users in one pass over the scenarios.
    pub weight: u32,
    /// Steps, in file order. Their requests have the names of the list, in the same order over all
    /// scenarios.
    pub steps: Vec<StepPlan>,
}

/// A step of a scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepPlan {
    /// Name.
    pub name: String,
    /// Turns that a user takes at it, one after the other.
    pub turns: u16,
    /// Mean pause after its response, in nanoseconds.
    pub think_mean_ns: u64,
}
