//! The verdict as documents hold it: the grade, the lines `Target`, `Load` and `Limit`, and the
//! rules (METHOD 1.9). weir-verdict judges; nothing here does.

use serde::{Deserialize, Serialize};

use super::rule::{Rule, RuleOutcome};

/// The grade of a document, and the lines that explain it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verdict {
    /// Grade: the worst that applies of void, failed, bounded and clean.
    pub grade: Grade,
    /// Reason why the grade is not `clean`, in one line; empty if it is.
    pub reason: String,
    /// Line `Target`: the state of the target.
    pub target: TargetLine,
    /// Line `Load`: the delivery of the planned load.
    pub load: LoadLine,
    /// Line `Limit`: the limit of the throughput.
    pub limit: Limit,
    /// Ids of the rules that fired, ordered by their estimated effect on the printed numbers,
    /// greatest first.
    pub findings: Vec<String>,
    /// All rules that apply to a run of this kind.
    pub rules: Vec<Rule>,
    /// Client overhead of p50, p90, p99 and p99.9 of the response time of `ok` requests, as far as
    /// it is known.
    pub client_overhead: Vec<ClientOverhead>,
}

impl Verdict {
    /// The rules with this outcome.
    pub fn with(&self, outcome: RuleOutcome) -> impl Iterator<Item = &Rule> {
        self.rules.iter().filter(move |rule| rule.outcome == outcome)
    }

    /// The rules that fired, ordered by their estimated effect on the printed numbers, greatest
    /// first.
    pub fn fired(&self) -> impl Iterator<Item = &Rule> {
        self.findings.iter().filter_map(|id| self.rules.iter().find(|rule| rule.id == *id))
    }

    /// Ids of rules about the client that matter and could not be judged: `cpu-contention`,
    /// `cpu-steal`, `client-stopped`.
    pub fn not_judged(&self) -> Vec<&str> {
        let important = ["cpu-contention", "cpu-steal", "client-stopped"];
        let unknown = self.with(RuleOutcome::Unknown).map(|rule| rule.id.as_str());
        unknown.filter(|id| important.contains(id)).collect()
    }
}

/// Verdict in one word, in ascending order of severity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// The target responded, and the printed numbers are values.
    #[default]
    Clean,
    /// Some printed numbers are bounds, or the target is degraded.
    Bounded,
    /// The target failed.
    Failed,
    /// The client was stopped for so long, or its counts differ so much, that even bounds are
    /// useless; or nothing was measured.
    Void,
}

impl Grade {
    /// Returns the grade as reports and documents print it.
    pub fn in_words(self) -> &'static str {
        match self {
            Grade::Clean => "clean",
            Grade::Bounded => "bounded",
            Grade::Failed => "failed",
            Grade::Void => "void",
        }
    }
}

/// State of the target, with the most frequent failure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TargetLine {
    /// State in one word.
    pub state: TargetState,
    /// Share of the measured requests that were sent and failed, 0 to 1: `bad_response`,
    /// `transport_error`, `timed_out` and `in_flight_at_end`.
    pub failed_share: f64,
    /// Most frequent failure with its share, or the share of the window without a response; empty
    /// if the target is `ok`.
    pub text: String,
}

/// State of the target, in one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TargetState {
    /// Less than 0.1% of the requests failed, and the target did not fall silent.
    #[default]
    Ok,
    /// At least 0.1% of the requests failed, or the target was silent for a part of the window.
    Degraded,
    /// At least half of the requests failed, none succeeded, or the target was silent for at least
    /// half of the window.
    Failed,
}

/// Delivery of the planned load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadLine {
    /// Delivery in one word.
    pub delivery: Delivery,
    /// Sentence with the figures.
    pub text: String,
}

/// Delivery of the planned load, in one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// The load was sent as planned.
    #[default]
    AsPlanned,
    /// All requests were sent, but later than planned.
    Late,
    /// Some requests were never sent, or some connections never opened.
    Incomplete,
}

/// Limit of the throughput.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limit {
    /// Kind of limit.
    pub by: LimitedBy,
    /// Evidence in figures; empty if the limit is unknown.
    pub text: String,
}

/// Kind of limit of the throughput.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LimitedBy {
    /// The client's CPU time.
    ClientCpu,
    /// The planned rate, which was met.
    Rate,
    /// The round trip or the bandwidth between client and server.
    Network,
    /// The server.
    Server,
    /// The number of connections, which allow no higher rate at this service time.
    Connections,
    /// None that the measurements show.
    #[default]
    Unknown,
}

impl LimitedBy {
    /// Returns the name as reports print it.
    pub fn in_words(self) -> &'static str {
        match self {
            LimitedBy::ClientCpu => "client CPU",
            LimitedBy::Rate => "rate",
            LimitedBy::Network => "network",
            LimitedBy::Server => "server",
            LimitedBy::Connections => "connections",
            LimitedBy::Unknown => "unknown",
        }
    }
}

/// Client overhead of a percentile of the response time, over `ok` requests.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClientOverhead {
    /// Percentile in percent.
    pub p: f64,
    /// Value of the percentile in nanoseconds.
    pub ns: u64,
    /// Of `ns`: time added by the client, in nanoseconds.
    pub client_ns: u64,
    /// Of `client_ns`: time added by stops of the whole program, in nanoseconds, at most.
    #[serde(default)]
    pub stopped_ns: u64,
    /// `client_ns` as a share of `ns`, 0 to 1.
    pub share: f64,
    /// True if kernel time stamps do not reach this percentile, so that the time after the response
    /// had arrived is missing.
    pub is_partial: bool,
}
