//! Metrics over the cells of a sweep.

use serde::{Deserialize, Serialize};

use super::design::Level;
use super::repeat::MetricOverRuns;

/// Result of `weir sweep`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sweep {
    /// Cells that have runs, in the order of the design.
    pub cells: Vec<SweepCell>,
    /// Ratios of the primary metric between both values of one factor, one for each combination of
    /// the others; empty if none were wanted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ratios: Vec<SweepRatio>,
    /// Curves of the throughput over rates or, if they do not vary, over connections: one for each
    /// combination of the other factors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curves: Vec<SweepCurve>,
}

/// Throughput over rates or connections, the other factors being equal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SweepCurve {
    /// Values of the other factors; empty if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<Level>,
    /// Knee of the curve.
    pub knee: Knee,
    /// Law of scalability fitted to the throughput; absent unless the curve is over connections and
    /// has at least five values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fit: Option<Fit>,
}

/// Metrics of one cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SweepCell {
    /// Index of the cell.
    pub cell: u32,
    /// Number of runs.
    pub runs: u32,
    /// Limit of the throughput in most of its runs: `server`, `client`, …; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// Number of runs that are graded `failed` or `void`.
    #[serde(default)]
    pub refused: u32,
    /// Metrics in the order of the design.
    pub metrics: Vec<SweepMetric>,
}

/// Ratio of the primary metric between both values of one factor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SweepRatio {
    /// Values of the other factors; empty for the geometric mean of all ratios.
    pub levels: Vec<Level>,
    /// Mean with the first value, in the metric's unit; absent for the mean of all ratios.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<f64>,
    /// Mean with the second value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second: Option<f64>,
    /// Second divided by first.
    pub ratio: f64,
    /// Lower end of the ratio's 95% interval, over the runs of both; absent for single runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end of the ratio's 95% interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

/// A metric of one cell; absent values are not known.
pub type SweepMetric = Option<MetricOverRuns>;

/// Universal Scalability Law (METHOD 1.14): X(N) = λN / (1 + σ(N−1) + κN(N−1)).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fit {
    /// λ: throughput of one connection, per second.
    pub lambda: f64,
    /// σ: share of the work that is serial, 0 to below 1.
    pub sigma: f64,
    /// κ: cost of coherency per pair of connections, at least 0.
    pub kappa: f64,
    /// 95% intervals of λ, σ and κ; absent without repetitions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intervals: Option<[(f64, f64); 3]>,
    /// Number of connections with the greatest throughput and its 95% interval; absent if the data
    /// show none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak: Option<(f64, f64, f64)>,
    /// Number of values that a peak needs; absent if the curve has as many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_needs: Option<u32>,
    /// Per number of connections, ascending: measured throughput relative to the law's, minus 1.
    pub residuals: Vec<f64>,
    /// True if the law does not describe the system: its residuals are systematic.
    pub is_systematic: bool,
}

/// Knee of a curve: the last value before the system is saturated.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Knee {
    /// Name of the factor.
    pub factor: String,
    /// Value at the knee; absent if the first value is beyond saturation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Throughput there, per second.
    pub rate_rps: f64,
    /// First value beyond saturation; absent if no value is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saturated_from: Option<String>,
    /// True if the client was the limit beyond the knee: the system may carry more.
    #[serde(default)]
    pub is_client_limited: bool,
}
