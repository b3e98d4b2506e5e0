//! A distribution in a few numbers: its percentiles, their intervals, and how many requests the
//! imprecise ones need (METHOD 1.6, 1.7, 1.11).

use serde::{Deserialize, Serialize};

use super::intervals::{Interval, Intervals, Standing};
use crate::histogram::Histogram;
use crate::measurements::ByOutcome;
use crate::quantile::{AllOutcomes, Bound, PERCENTILES, Quantile, has_beyond, is_supported};

/// The percentiles whose needs a document lists, in percent.
const WANTED: [f64; 6] = [50.0, 90.0, 99.0, 99.9, 99.99, 99.999];

/// A distribution in a few numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// Requests in the percentiles and the greatest.
    pub count: u64,
    /// Least, exact; of answered requests. Null when there is none.
    pub min_ns: Option<u64>,
    /// Greatest, exact; a lower bound when there are failures. Null when there are no requests.
    pub max_ns: Option<u64>,
    /// Mean of answered requests, from the exact sum. Null when there is none.
    pub mean_ns: Option<f64>,
    /// Standard deviation of answered requests. Null when there is none.
    pub stdev_ns: Option<f64>,
    /// `upper` where the client inflated the mean.
    #[serde(default, skip_serializing_if = "is_exact")]
    pub mean_bound: Bound,
    /// The percentiles beyond which at least one request lies, and the greatest.
    pub percentiles: Vec<PercentileValue>,
    /// Of p50, p90, p99 and so on to p99.999: those without a supported value, and the requests
    /// they need. Absent when there are none, and for times of which no slices are kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsupported: Vec<UnsupportedPercentile>,
}

/// One percentile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PercentileValue {
    /// In percent.
    pub p: f64,
    /// Its value in nanoseconds, never less than the true one; for a lower bound never more.
    pub ns: u64,
    /// The relation of `ns` to the true value.
    pub bound: Bound,
    /// Of `ns`: added by the client, in nanoseconds. Absent where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_ns: Option<u64>,
    /// Where the target's own value lies, beside an upper bound; absent elsewhere, and without
    /// kernel timestamps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
    /// Lower end of its 95% interval within this run, in nanoseconds. Absent when it has none: the
    /// window was not in slices, or they hold another time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low_ns: Option<u64>,
    /// Upper end, in nanoseconds. Absent beside a lower end when nothing bounds it: too few
    /// requests lie beyond, or those that do have failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high_ns: Option<u64>,
    /// Independent requests that those beyond it are worth. Absent when slices do not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub support: Option<f64>,
    /// The support is below 10, so that the interval covers the truth less often than it says.
    /// Reports mark it with `~`.
    #[serde(default, alias = "weak", skip_serializing_if = "std::ops::Not::not")]
    pub imprecise: bool,
}

/// From the wire time of the stamped requests to the measured time, each end widened by its 95%
/// sampling interval (METHOD 1.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// Lower end in nanoseconds.
    pub low_ns: u64,
    /// Upper end in nanoseconds.
    pub high_ns: u64,
}

/// A percentile with too few requests beyond it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct UnsupportedPercentile {
    /// In percent.
    pub p: f64,
    /// Requests that would support it.
    pub needed_samples: u64,
    /// Seconds of window in which so many would be measured at the rate of this run; null where
    /// that is not known.
    pub needed_s: Option<f64>,
}

impl PercentileValue {
    /// A value of which nothing else is known.
    pub fn new(p: f64, ns: u64, bound: Bound) -> PercentileValue {
        PercentileValue {
            p,
            ns,
            bound,
            client_ns: None,
            range: None,
            low_ns: None,
            high_ns: None,
            support: None,
            imprecise: false,
        }
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
        let value = |p| ok.percentile(p).map(|ns| Quantile { ns, bound: Bound::Exact });
        let count = ok.count();
        Summary {
            count,
            min_ns: (count > 0).then_some(ok.exact().min_ns),
            max_ns: (count > 0).then_some(ok.exact().max_ns),
            mean_ns: ok.mean_ns(),
            stdev_ns: ok.stdev_ns(),
            mean_bound: Bound::Exact,
            percentiles: percentiles(count, intervals, value),
            unsupported: unsupported(count, intervals),
        }
    }

    pub(super) fn of_all(by_outcome: &ByOutcome, intervals: &Intervals) -> Summary {
        let all = AllOutcomes::of(by_outcome);
        let mut answered = by_outcome.ok.clone();
        answered.add(&by_outcome.bad);
        // The greatest is exact beside the buckets, its bound too.
        let value = |p| if p == 100.0 { all.max() } else { all.percentile(p) };
        let count = all.count();
        Summary {
            count,
            min_ns: (!answered.is_empty()).then_some(answered.exact().min_ns),
            max_ns: all.max().map(|max| max.ns),
            mean_ns: answered.mean_ns(),
            stdev_ns: answered.stdev_ns(),
            mean_bound: Bound::Exact,
            percentiles: percentiles(count, intervals, value),
            unsupported: unsupported(count, intervals),
        }
    }

    /// The value of percentile `p`, where the document lists it.
    pub fn percentile(&self, p: f64) -> Option<&PercentileValue> {
        self.percentiles.iter().find(|value| value.p == p)
    }
}

/// The percentiles beyond which at least one value lies, and the greatest.
fn percentiles(
    count: u64,
    intervals: &Intervals,
    value: impl Fn(f64) -> Option<Quantile>,
) -> Vec<PercentileValue> {
    let listed = PERCENTILES.into_iter().filter(|p| has_beyond(*p, count));
    listed
        .filter_map(|p| value(p).map(|value| PercentileValue::of(p, count, value, intervals.of(p))))
        .collect()
}

fn unsupported(count: u64, intervals: &Intervals) -> Vec<UnsupportedPercentile> {
    if count == 0 || !intervals.is_sliced() {
        return Vec::new();
    }
    let lacking = WANTED.into_iter().filter(|p| !intervals.support(*p, count));
    lacking
        .map(|p| {
            let needed_samples = intervals.needed(p);
            let needed_s = intervals.rate_rps().map(|rate| needed_samples as f64 / rate);
            UnsupportedPercentile { p, needed_samples, needed_s }
        })
        .collect()
}

fn is_exact(bound: &Bound) -> bool {
    *bound == Bound::Exact
}
