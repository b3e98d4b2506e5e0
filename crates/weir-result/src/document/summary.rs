//! Summary of a distribution: its percentiles, their intervals, and the requests that the imprecise
//! ones need (METHOD 1.6, 1.7, 1.11).

use serde::{Deserialize, Serialize};

use super::intervals::{Interval, Intervals, Standing};
use crate::absent::is_default;
use crate::counters::ByOutcome;
use crate::quantile::{AllOutcomes, Bound, PERCENTILES, Quantile, has_beyond, is_supported};
use weir_stats::histogram::Histogram;

/// Percentiles whose needs a document lists, in percent.
const WANTED: [f64; 6] = [50.0, 90.0, 99.0, 99.9, 99.99, 99.999];

/// Summary of a distribution.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Summary {
    /// Number of requests in the percentiles and the maximum.
    pub count: u64,
    /// Least time of the requests with a response, exact, in nanoseconds. Null if there is none.
    pub min_ns: Option<u64>,
    /// Greatest time, exact, in nanoseconds; a lower bound if there are failures. Null if there are
    /// no requests.
    pub max_ns: Option<u64>,
    /// Mean time of the requests with a response, from the exact sum, in nanoseconds. Null if there
    /// is none.
    pub mean_ns: Option<f64>,
    /// Standard deviation over the requests with a response, in nanoseconds. Null if there is none.
    pub stdev_ns: Option<f64>,
    /// Kind of bound of the mean: `upper` if the client inflated it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub mean_bound: Bound,
    /// Percentiles beyond which at least one request lies, and the maximum (p = 100).
    pub percentiles: Vec<PercentileValue>,
    /// Of p50, p90, p99 and so on to p99.999: those without a supported value, and the requests
    /// they need. Absent if there are none, and for times without slices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsupported: Vec<UnsupportedPercentile>,
}

/// One percentile with its bound and its confidence interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PercentileValue {
    /// Percentile in percent.
    pub p: f64,
    /// Value in nanoseconds, never less than the true one; a lower bound is never more than it.
    pub ns: u64,
    /// The relation of `ns` to the true value.
    pub bound: Bound,
    /// Of `ns`: time added by the client, in nanoseconds. Absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_ns: Option<u64>,
    /// Range that holds the target's own value, beside an upper bound; absent otherwise, and
    /// without kernel time stamps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
    /// Lower end of the 95% interval within this run, in nanoseconds. Absent if there is no
    /// interval: the window has no slices, or they hold another time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low_ns: Option<u64>,
    /// Upper end of the 95% interval, in nanoseconds. Absent beside a lower end if the interval is
    /// unbounded: too few requests lie beyond, or those that do have failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high_ns: Option<u64>,
    /// Number of independent requests that those beyond the percentile are worth. Absent without
    /// slices of this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub support: Option<f64>,
    /// True if the support is below 10, so that the interval covers the true value less often than
    /// in 95% of runs. Reports mark it with `~`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub imprecise: bool,
}

/// Range from the wire time of the stamped requests to the measured time, each end widened by its
/// 95% sampling interval (METHOD 1.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Range {
    /// Lower end in nanoseconds.
    pub low_ns: u64,
    /// Upper end in nanoseconds.
    pub high_ns: u64,
}

/// A percentile with too few requests beyond it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnsupportedPercentile {
    /// Percentile in percent.
    pub p: f64,
    /// Number of requests that would support it.
    pub needed_samples: u64,
    /// Length of window, in seconds, that would measure `needed_samples` at the rate of this run;
    /// null if it is not known.
    pub needed_s: Option<f64>,
}

impl PercentileValue {
    /// Creates a value with everything else unknown.
    pub fn new(p: f64, ns: u64, bound: Bound) -> PercentileValue {
        PercentileValue { p, ns, bound, ..PercentileValue::default() }
    }

    fn of(p: f64, count: u64, quantile: Quantile, interval: Option<Interval>) -> PercentileValue {
        let plain = PercentileValue::new(p, quantile.ns, quantile.bound);
        let Some(interval) = interval else {
            return PercentileValue { imprecise: !is_supported(p, count), ..plain };
        };
        PercentileValue {
            low_ns: interval.ends.map(|ends| ends.low_ns),
            high_ns: interval.ends.and_then(|ends| ends.high_ns),
            support: Some(interval.support),
            imprecise: interval.standing != Standing::Supported,
            ..plain
        }
    }
}

impl Summary {
    pub(super) fn of_ok(ok: &Histogram, intervals: &Intervals) -> Summary {
        Summary::of(&AllOutcomes::of_ok(ok), ok, intervals)
    }

    pub(super) fn of_all(by_outcome: &ByOutcome, intervals: &Intervals) -> Summary {
        let mut answered = by_outcome.ok.clone();
        answered.add(&by_outcome.bad);
        Summary::of(&AllOutcomes::of(by_outcome), &answered, intervals)
    }

    /// Summarizes the times of responses that the document has no summary of, without intervals.
    /// `window_s` is the length of their window in seconds, 0 if unknown.
    pub fn of_responses(times: &Histogram, window_s: f64) -> Summary {
        Summary::of_ok(times, &Intervals::of_rate(times.count(), window_s))
    }

    /// Summarizes requests, those of `answered` with a response.
    fn of(all: &AllOutcomes<'_>, answered: &Histogram, intervals: &Intervals) -> Summary {
        let count = all.count();
        let listed = PERCENTILES.into_iter().filter(|p| has_beyond(*p, count));
        let percentiles = listed.filter_map(|p| {
            // The maximum is exact beside the buckets, and so is its bound.
            let value = if p == 100.0 { all.max() } else { all.percentile(p) };
            Some(PercentileValue::of(p, count, value?, intervals.of(p)))
        });
        Summary {
            count,
            min_ns: (!answered.is_empty()).then_some(answered.exact().min_ns),
            max_ns: all.max().map(|max| max.ns),
            mean_ns: answered.mean_ns(),
            stdev_ns: answered.stdev_ns(),
            mean_bound: Bound::Exact,
            percentiles: percentiles.collect(),
            unsupported: unsupported(count, intervals),
        }
    }

    /// Returns the value of percentile `p`, if the document lists it.
    pub fn percentile(&self, p: f64) -> Option<&PercentileValue> {
        self.percentiles.iter().find(|value| value.p == p)
    }
}

fn unsupported(count: u64, intervals: &Intervals) -> Vec<UnsupportedPercentile> {
    if count == 0 || !intervals.lists_needs {
        return Vec::new();
    }
    let lacking = WANTED.into_iter().filter(|p| !intervals.support(*p, count));
    lacking
        .map(|p| {
            let needed_samples = intervals.needed(p);
            let needed_s = intervals.rate_rps.map(|rate| needed_samples as f64 / rate);
            UnsupportedPercentile { p, needed_samples, needed_s }
        })
        .collect()
}
