//! Result of a search for the highest rate that meets an objective (METHOD 1.13): an interval, its
//! evidence, and every trial on the way. It is derived from the documents of the trials.

use serde::{Deserialize, Serialize};
use weir_text::setting::CONNECTIONS;

/// Result of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SearchResult {
    /// Claims that the objective consists of; a rate meets it if it meets all.
    pub claims: Vec<SearchClaim>,
    /// Trials that a bound needs, and the width of the interval.
    pub effort: SearchEffort,
    /// Highest rate shown to meet the objective; null if none was.
    pub lower: Option<SearchBound>,
    /// Lowest rate shown to miss the objective; null if none was.
    pub upper: Option<SearchBound>,
    /// Rates between the bounds that the trials could not decide.
    pub undecided_rps: Vec<f64>,
    /// Reason for the end of the search.
    pub end: SearchEnd,
    /// Independent requests beyond the objective, at its limit, in the trials at the lower bound.
    /// Below 10 the trials are too short for the objective. Null without a lower bound.
    pub support: Option<f64>,
    /// Trials in their order.
    pub trials: Vec<SearchTrial>,
}

/// A claim of the objective.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SearchClaim {
    /// The claim as written: `p99 < 10ms`.
    pub text: String,
    /// Largest share of requests that may violate it, 0 to 1.
    pub share_max: f64,
    /// Response time in nanoseconds above which a request violates it; null if only failures do.
    pub slow_ns: Option<u64>,
}

/// Trials that a bound needs, and the width of the interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SearchEffort {
    /// Duration of the first trial at a rate, in seconds.
    pub initial_s: f64,
    /// Duration of a full-length trial, in seconds.
    pub final_s: f64,
    /// Total duration of full-length trials at a bound, in seconds; more than half of it must agree
    /// with the bound.
    pub sum_s: f64,
    /// Requests that may violate the strictest claim, at its limit, for which a trial at half of
    /// the first guess is made long enough; 0 if lengths are fixed.
    pub violations_min: f64,
    /// Target width of the interval: (upper − lower)/upper.
    pub width: f64,
    /// Warm-up of each trial, in seconds.
    pub warmup_s: f64,
    /// Number of trials after which the search tries no more rates between two bounds and only
    /// confirms both.
    pub narrow_trials: u32,
    /// Number of trials after which the search ends in any case.
    pub trials_max: u32,
}

/// A bound of the interval, with its evidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SearchBound {
    /// Rate in requests per second.
    pub rate_rps: f64,
    /// Rate, furthest from this one, of the trials that count: higher ones for a lower bound, lower
    /// ones for an upper bound, since fewer requests do no harm. Absent if only trials at the rate
    /// itself count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reach_rps: Option<f64>,
    /// Trials that count and met the objective.
    pub good: u32,
    /// Trials that count and missed the objective.
    pub bad: u32,
    /// Requests of the deciding trials.
    pub requests: u64,
    /// Index of the claim that decides: the furthest above its limit, or the least below it.
    pub claim: u32,
    /// Share of requests that violate this claim, 0 to 1.
    pub share: f64,
    /// Lower end of the 99% interval of the share.
    pub share_low: f64,
    /// Upper end of the 99% interval of the share.
    pub share_high: f64,
    /// Growth of the backlog; absent unless it is beyond chance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub growth: Option<BacklogGrowth>,
}

/// Rise of the response time during trials, which shows a growing backlog: at a rate R above the
/// capacity C it is R/C − 1, whatever the limit of the objective.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BacklogGrowth {
    /// Rise of the mean response time, in seconds per second.
    pub rise: f64,
    /// Lower end of its 99% interval.
    pub low: f64,
    /// Upper end of its 99% interval.
    pub high: f64,
}

/// Reason for the end of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum SearchEnd {
    /// Both bounds exist, within the target width.
    WithinGoal,
    /// Both bounds exist. Trials of this length cannot decide the rates between them.
    Indistinct,
    /// The client was the limit at a rate: nothing is known from there on.
    LimitedByClient {
        /// The rate in requests per second.
        rate_rps: f64,
        /// Evidence in figures.
        text: String,
    },
    /// The connections were the limit at a rate, with as many of them as allowed.
    LimitedByConnections {
        /// The rate in requests per second.
        rate_rps: f64,
        /// Number of connections.
        connections: u32,
        /// Share of requests that waited for a connection, 0 to 1.
        waits: f64,
    },
    /// The highest rate allowed meets the objective.
    AboveRange,
    /// No rate that trials of this length can judge is known to meet the objective.
    BelowRange,
    /// The number of trials was spent before the interval was as narrow as the goal.
    OutOfTrials,
    /// The search was interrupted.
    Unfinished,
}

/// A trial of a search.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SearchTrial {
    /// Planned rate in requests per second; null for the closed loop at the start.
    pub rate_rps: Option<f64>,
    /// Number of connections.
    pub connections: u32,
    /// Length of the measured window in seconds.
    pub duration_s: f64,
    /// Complete responses per second.
    pub completed_rps: f64,
    /// Share of requests that violate each claim, 0 to 1, in the order of the claims; empty for the
    /// closed loop.
    pub shares: Vec<f64>,
    /// Share of requests that waited for a connection, 0 to 1; null if not known.
    pub waits: Option<f64>,
    /// Growth of the backlog; absent unless it is beyond chance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub growth: Option<BacklogGrowth>,
    /// Use of the trial in the search.
    pub used: TrialUse,
    /// Evidence against the client; empty unless it was the limit.
    pub text: String,
}

/// Use of a trial in the search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TrialUse {
    /// The closed loop, whose throughput is the first guess.
    #[default]
    Guess,
    /// It met the objective.
    Good,
    /// It missed the objective.
    Bad,
    /// Requests waited for connections: it is repeated with more.
    TooFewConnections,
    /// The server refused some of the connections: it is repeated with fewer.
    TooManyConnections,
    /// Requests waited for connections, of which there can be no more.
    ConnectionLimited,
    /// It missed the objective, and the client may be the cause.
    ClientLimited,
}

impl TrialUse {
    /// Returns the outcome as reports print it.
    pub fn in_words(self) -> String {
        match self {
            TrialUse::Guess => "closed loop".to_owned(),
            TrialUse::Good => "good".to_owned(),
            TrialUse::Bad => "bad".to_owned(),
            TrialUse::TooFewConnections => format!("raise {CONNECTIONS}"),
            TrialUse::TooManyConnections => format!("lower {CONNECTIONS}"),
            TrialUse::ConnectionLimited => format!("limited by {CONNECTIONS}"),
            TrialUse::ClientLimited => "limited by the client".to_owned(),
        }
    }
}
