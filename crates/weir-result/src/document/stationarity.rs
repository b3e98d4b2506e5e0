//! Stationarity of the run: the figures of METHOD 1.10 for each series of slices. weir-verdict
//! computes them, and draws the conclusions.

use serde::{Deserialize, Serialize};

/// Stationarity of one series of slices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SeriesStationarity {
    /// Series that the figures are of.
    pub series: SliceSeries,
    /// S1: trend; null for a constant series.
    pub trend: Option<TrendFigures>,
    /// S2: first third against last third; null for a constant series.
    pub thirds: Option<ThirdsFigures>,
    /// S3: level shift; null for a constant series.
    pub shift: Option<ShiftFigures>,
    /// S4: correlation of each slice with the next, −1 to 1.
    pub lag1: f64,
    /// Greatest `lag1` that is consistent with independent slices.
    pub lag1_limit: f64,
    /// Rules that fired: the change is both significant and large.
    pub fired: Vec<Deviation>,
}

/// Figure that is computed for each slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SliceSeries {
    /// Complete responses per second.
    Throughput,
    /// Mean response time of `ok` requests.
    Mean,
    /// Share of requests slower than the whole run's p50.
    BeyondP50,
    /// Share of requests slower than the whole run's p90.
    BeyondP90,
    /// Share of requests slower than the whole run's p99.
    BeyondP99,
}

/// Kind of deviation from stationarity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Deviation {
    /// S1: the series rose or fell over the whole window.
    Trend,
    /// S2: the first third differs from the last.
    Drift,
    /// S3: the level shifted.
    Shift,
    /// S4: slices correlate with their neighbours, so that intervals are too narrow.
    Correlated,
}

/// S1: Mann–Kendall test and Sen's slope.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrendFigures {
    /// Test statistic, in standard deviations from no trend.
    pub z: f64,
    /// Sen's slope per slice, in the unit of the series.
    pub slope: f64,
    /// Change of the slope over the window, as a share of the median.
    pub magnitude: f64,
}

/// S2: comparison of the first third with the last.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThirdsFigures {
    /// Probability of such a difference by chance.
    pub p: f64,
    /// Change from the first third to the last, as a share of the first.
    pub difference: f64,
}

/// S3: the best split into two levels.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShiftFigures {
    /// Start of the new level, in seconds from t0.
    pub at_s: f64,
    /// Probability of such a split by chance.
    pub p: f64,
    /// Change of the mean, as a share of the mean before.
    pub magnitude: f64,
}
