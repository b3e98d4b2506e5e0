//! Statistics for the document: pure functions of numbers, and the histograms of its times.
//!
//! This crate does no input or output and reads no clock. Random resampling uses a fixed seed: the
//! same numbers always get the same verdict.
#![forbid(unsafe_code)]

mod binomial;
mod changes;
mod comparison;
mod energy;
pub mod histogram;
mod interval;
mod knee;
mod moments;
mod search;
mod shuffle;
mod stationarity;
mod student;
mod support;
mod trend;
mod usl;
mod warmup;

pub use binomial::{binomial_at_least, binomial_at_most};
pub use changes::{ChangePoint, change_points};
pub use comparison::{
    Difference, EffectVerdict, LOOK_LEVEL, LOOKS, Levels, RUNS_MIN, SHIFT_LEVELS, holm, judge,
    look, outliers, paired_at, pairs_needed, shift_function, unpaired,
};
pub use interval::{
    MeanInterval, PercentileInterval, SliceTail, Standing, ValueInterval, guard_of, mean_interval,
    percentile_interval, ratio_interval,
};
pub use knee::{FoundKnee, RampPart, knee};
pub use moments::{mean, median, variance};
pub use search::{
    Durations, End, Found, Goal, IntervalBound, Limiter, RateClass, Search, ShareInterval, Step,
    TrialResult, share_interval,
};
pub use shuffle::Shuffle;
pub use stationarity::{MonotonicTrend, Shift, Stationarity, Thirds};
pub use student::{normal_cdf, normal_quantile, t_cdf, t_quantile};
pub use support::{SUPPORT, count_needed, has_beyond, is_supported, least_count, rank_of};
pub use trend::regression;
pub use usl::{SweepPoint, USL_POINTS_CHECKED, Usl, UslFit, fit_usl};
pub use warmup::{Transient, mser};

#[cfg(test)]
mod tests;
