//! Designs of studies: which runs are made, how often, and in which order.

use serde::{Deserialize, Serialize};

use super::search::SearchEffort;
use crate::plan::Arrivals;

/// Question of a study, and the plan of its trials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Design {
    /// The same run several times (`weir repeat`).
    Repeat {
        /// Number of runs.
        runs: u32,
        /// Metrics of the result, by name.
        metrics: Vec<String>,
    },
    /// Two runs in interleaved pairs (`weir ab`): cell 0 is A, cell 1 is B.
    Ab {
        /// Metrics of the result, by name; the first is the primary one.
        metrics: Vec<String>,
        /// Least relative change that matters: 0.02 is 2%.
        threshold: f64,
        /// Number of pairs fixed in advance; absent for looks at 8, 12, 16 and 20 pairs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pairs: Option<u32>,
    },
    /// All combinations of some values (`weir sweep`).
    Sweep {
        /// Factors in the order given, the last one varying fastest.
        factors: Vec<Factor>,
        /// Number of runs of each cell.
        repetitions: u32,
        /// Name of a factor with two values, whose ratio is in the result; absent for none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ratio: Option<String>,
        /// Metrics of the result, by name.
        metrics: Vec<String>,
    },
    /// The highest rate that meets an objective (`weir search`). Each trial has a rate, a duration
    /// and a number of connections of its own.
    Search {
        /// The objective as given: `p99 < 10ms and errors < 0.1%`.
        objective: String,
        /// Lengths of trials, and the width of the interval.
        effort: SearchEffort,
        /// Arrival process of the trials; with Poisson arrivals the seed of the first one.
        arrivals: Arrivals,
        /// Number of connections of the first trial.
        connections: u32,
        /// Greatest number of connections.
        connections_max: u32,
        /// Highest rate to try, in requests per second; absent if not limited.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rate_max_rps: Option<f64>,
    },
}

/// A choice of a run that a sweep varies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Factor {
    /// Name, as given: `c`, `rate`, `close`.
    pub name: String,
    /// Values in the order given.
    pub values: Vec<String>,
}

impl Design {
    /// Returns the name of the command that makes such studies.
    pub fn name(&self) -> &'static str {
        match self {
            Design::Repeat { .. } => "repeat",
            Design::Ab { .. } => "ab",
            Design::Sweep { .. } => "sweep",
            Design::Search { .. } => "search",
        }
    }
}

/// A kind of run that trials repeat.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cell {
    /// Name: `A`, `c=100 close=none`. Hooks get it as `WEIR_VARIANT`.
    pub name: String,
    /// Command line of one run, word by word, with `[redacted]` for credentials.
    pub words: Vec<String>,
    /// Specification of one run, as in its document; absent if the name of a file is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<serde_json::Value>,
    /// Values of the factors, in their order; empty if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<Level>,
}

/// Value of a factor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Level {
    /// Name of the factor.
    pub factor: String,
    /// Its value.
    pub value: String,
}
