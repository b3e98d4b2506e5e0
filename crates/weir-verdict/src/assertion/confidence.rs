//! The one-sided confidence that the true value lies on the measured side of a limit (METHOD 1.11).
//! It is 1 less the probability of data like these if the true value were the limit.

use weir_stats::{binomial_at_least, binomial_at_most, t_cdf};

use weir_result::histogram::lowest_in;
use weir_result::quantile::Bound;
use weir_result::{ByOutcome, Histogram};

/// A measured number.
#[derive(Clone, Debug)]
pub(super) struct Estimate {
    pub(super) value: f64,
    /// The relation of the value to the true one.
    pub(super) bound: Bound,
    /// Part of a time that the client added, in nanoseconds.
    pub(super) client_ns: Option<u64>,
    pub(super) is_rate: bool,
    pub(super) evidence: ConfidenceData,
}

/// Data from which a confidence is computed.
#[derive(Clone, Debug)]
pub(super) enum ConfidenceData {
    /// No data: the number is a fact or a count of this run, and stands for no other.
    Fact,
    /// No data, although the number is one of a sample; with the reason.
    Unknown(&'static str),
    /// A percentile.
    Tail(Box<Tail>),
    /// Hits among this many effective requests.
    Share { hits: f64, of: f64 },
    /// A rate with its standard error over slices, and the degrees of freedom.
    Rate { rps: f64, error_rps: f64, df: f64 },
}

/// Requests that a percentile is of.
#[derive(Clone, Debug)]
pub(super) struct Tail {
    /// The percentile, 0 to 1.
    pub(super) p: f64,
    pub(super) times: ByOutcome,
    /// Number of requests.
    pub(super) count: u64,
    /// Number of independent requests that those are worth: n/DEFF.
    pub(super) effective: f64,
}

/// Reason why a number is not known, and a remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Missing {
    pub(super) why: String,
    pub(super) advice: Option<String>,
}

impl Missing {
    pub(super) fn new(why: String) -> Missing {
        Missing { why, advice: None }
    }
}

impl Estimate {
    /// A value that stands for this run alone.
    pub(super) fn fact(value: f64) -> Estimate {
        Estimate {
            value,
            bound: Bound::Exact,
            client_ns: None,
            is_rate: false,
            evidence: ConfidenceData::Fact,
        }
    }

    /// A figure of a sample without a known confidence.
    pub(super) fn without_confidence(value: f64, why: &'static str) -> Estimate {
        Estimate { evidence: ConfidenceData::Unknown(why), ..Estimate::fact(value) }
    }
}

/// A side of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LimitSide {
    pub(super) is_below: bool,
    /// True if times equal to the limit count as beyond it.
    pub(super) counts_equal: bool,
}

/// Returns the confidence that the true value lies on this side of the limit. `times` is the length
/// of the run: 1 for this one, 2 for one twice as long with the same results.
pub(super) fn of(
    evidence: &ConfidenceData,
    limit: f64,
    side: LimitSide,
    times: f64,
) -> Option<f64> {
    match evidence {
        ConfidenceData::Fact | ConfidenceData::Unknown(_) => None,
        ConfidenceData::Share { hits, of } => {
            Some(1.0 - by_chance(hits * times, of * times, limit.clamp(0.0, 1.0), side))
        }
        ConfidenceData::Tail(tail) => {
            let beyond = beyond(tail, limit, side) as f64 * tail.effective / tail.count as f64;
            Some(1.0 - by_chance(beyond * times, tail.effective * times, 1.0 - tail.p, side))
        }
        ConfidenceData::Rate { rps, error_rps, df } => {
            let distance = if side.is_below { limit - rps } else { rps - limit };
            let error = error_rps / times.sqrt();
            // Slices that are all equal have an error of zero.
            let t = if distance == 0.0 { 0.0 } else { distance / error };
            Some(t_cdf(t, *df))
        }
    }
}

/// The probability of at most, or at least, this many hits if the true share were `share`.
fn by_chance(hits: f64, of: f64, share: f64, side: LimitSide) -> f64 {
    match side.is_below {
        true => binomial_at_most(hits, of, share),
        false => binomial_at_least(hits, of, share),
    }
}

/// Counts requests beyond the limit. If a bucket or a failure leaves it open, they count against
/// the side to show.
fn beyond(tail: &Tail, limit: f64, side: LimitSide) -> u64 {
    let is_beyond = |ns: u64| match side.counts_equal {
        true => ns as f64 >= limit,
        false => ns as f64 > limit,
    };
    let known = |histogram: &Histogram| -> u64 {
        let hit = histogram.buckets().filter(|(bucket, _)| match side.is_below {
            true => is_beyond(histogram.upper_in(*bucket)),
            false => is_beyond(lowest_in(*bucket).max(histogram.exact().min_ns)),
        });
        hit.map(|(_, count)| count).sum()
    };
    let failures = [&tail.times.bad, &tail.times.failed_at, &tail.times.censored];
    let failed: u64 = match side.is_below {
        // A failure is slower than any response.
        true => failures.iter().map(|histogram| histogram.count()).sum(),
        false => failures.iter().map(|histogram| known(histogram)).sum(),
    };
    known(&tail.times.ok) + failed
}
