//! Spread of metrics over equal runs.

use serde::{Deserialize, Serialize};

use crate::absent::is_default;

/// Result of `weir repeat`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Repetition {
    /// Number of measured runs.
    pub runs: u32,
    /// Spread of each metric, in the order of the design.
    pub metrics: Vec<MetricOverRuns>,
}

/// A metric over several runs, in its unit: nanoseconds, per second, bytes per second, or a share
/// of 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MetricOverRuns {
    /// Name of the metric.
    pub metric: String,
    /// Number of runs that have it.
    pub runs: u32,
    /// Arithmetic mean.
    pub mean: f64,
    /// Sample standard deviation (divisor n − 1); absent for one run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sd: Option<f64>,
    /// Lower end of the 95% interval of the mean (Student); absent for one run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end of that interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Least value.
    pub min: f64,
    /// Greatest value.
    pub max: f64,
    /// Number of runs in which the value is a bound of the true one (METHOD 1.9).
    #[serde(default, skip_serializing_if = "is_default")]
    pub bounds: u32,
    /// Numbers of the trials whose values are outliers: more than 14.8 median absolute deviations
    /// from the median. They are counted like all others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outliers: Vec<u32>,
}
