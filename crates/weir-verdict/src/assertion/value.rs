//! A measured number, and the data of its confidence.

use weir_result::ByOutcome;
use weir_result::quantile::Bound;

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
