//! The document of a run: everything that is known about it, in one versioned value from which
//! every report is printed and which can be merged with others without loss.
//!
//! It is made by [`Document::assemble`], which refuses numbers that do not add up, read by
//! [`Document::load`], and written by weir-report. It knows no sockets, no clocks and no layout.

mod accounting;
mod assemble;
mod assertions;
mod bounds;
mod check;
mod connection_failure;
mod connections;
mod departures;
mod environment;
mod health;
mod intervals;
mod latency;
mod load;
mod merge;
mod network;
mod occupancy;
mod probe;
mod prove_client;
mod raw;
mod recorded;
mod script;
mod selfcheck;
mod stamps;
mod stationarity;
mod summary;
mod throughput;
mod timeline;
mod verdict;
mod witness;

pub use accounting::{Accounting, SentCounts};
pub use assemble::{DocumentParts, RunParts, Trials};
pub use assertions::{AssertionOutcome, AssertionResult};
pub use check::BrokenInvariant;
pub use connection_failure::ConnectionFailure;
pub use connections::{ConnectionsSection, DestinationSection};
pub use departures::{CountedSpan, DeparturesSection, Dispersion};
pub use environment::Environment;
pub use latency::{ExactByOutcome, ExactFigures, HistogramTexts, Latency, Metric, PackedHistogram};
pub use load::LoadError;
pub use merge::MergeError;
pub use network::NetworkSection;
pub use occupancy::OccupancySection;
pub use probe::{ProbeSection, ProbeTimes, Probed};
pub use prove_client::{ProofPair, ProveClientSection};
pub use raw::RawSection;
pub use script::ScriptSection;
pub use selfcheck::{Floor, SelfcheckSection};
pub use stamps::StampsSection;
pub use stationarity::{
    Change, SeriesStationarity, ShiftFigures, SliceSeries, ThirdsFigures, TrendFigures,
};
pub use summary::{PercentileValue, Range, Summary, UnsupportedPercentile};
pub use throughput::{RateInterval, Throughput};
pub use timeline::{SeriesEntry, SeriesPhase, SliceEntry};
pub use verdict::{
    ClientOverhead, Delivery, Direction, Grade, Limit, LimitedBy, LoadLine, Rule, RuleOutcome,
    Subject, TargetLine, TargetState, Verdict,
};
pub use witness::{Estimate, RatioEstimate, WitnessSection};

use serde::{Deserialize, Serialize};

use crate::evidence::{ClientHealth, WorkerUsage};
use crate::plan::Plan;

/// The version of the document's schema that this program writes and the newest it reads.
pub const SCHEMA_VERSION: u32 = 2;

/// The document of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// The version of this schema; a changed meaning is a new version.
    pub schema_version: u32,
    /// The program that made it.
    pub tool: Tool,
    /// Which run it was.
    pub run: Run,
    /// The grade, and the lines `Target`, `Load` and `Limit`: derived from what is below.
    pub verdict: Verdict,
    /// What was asked.
    pub plan: Plan,
    /// The phases as each worker observed them.
    pub phases: Vec<Phases>,
    /// Where it ran.
    pub environment: Environment,
    /// What became of the connections.
    pub connections: ConnectionsSection,
    /// What became of every planned request.
    pub accounting: Accounting,
    /// The times.
    pub latency: Latency,
    /// The rates.
    pub throughput: Throughput,
    /// The kernel's view of some of the requests; absent when no connection was stamped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stamps: Option<StampsSection>,
    /// How requests left, by the millisecond; absent in a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub departures: Option<DeparturesSection>,
    /// Requests on the wire, counted twice; absent when they were not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occupancy: Option<OccupancySection>,
    /// The target before the load, over one connection; absent when it was not probed, or did not
    /// respond in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<ProbeSection>,
    /// This run's TCP sockets; absent where there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkSection>,
    /// What the client's machine did in the window, the worst of all parts; absent when nobody
    /// watched it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<ClientHealth>,
    /// What a few requests beside the load saw; absent when there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness: Option<WitnessSection>,
    /// The noise floor; absent when nobody asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selfcheck: Option<SelfcheckSection>,
    /// What a thread more made of the same load; absent when nobody asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prove_client: Option<ProveClientSection>,
    /// What the script took; absent when there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<ScriptSection>,
    /// Whether the window was the same all along, by series; empty with fewer than ten slices.
    #[serde(default)]
    pub stationarity: Vec<SeriesStationarity>,
    /// The window in equal parts by planned time: what intervals of confidence are made from.
    pub slices: Vec<SliceEntry>,
    /// The run over time, warm-up and drain included, by when things happened.
    pub series: Vec<SeriesEntry>,
    /// Files that hold every request, one of each part; absent where nobody asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub raw: Vec<RawSection>,
    /// What the numbers were asked to be, and whether they are; absent where nobody asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assertions: Vec<AssertionResult>,
    /// What a reader must know beside the numbers.
    pub notes: Vec<Note>,
}

impl Document {
    /// Measured requests that got a complete answer, good or bad. A run with none has no result:
    /// exit code 1.
    pub fn answered(&self) -> u64 {
        self.accounting.ok + self.accounting.bad_response
    }

    /// Measured requests that did not end as `ok`.
    pub fn failed(&self) -> u64 {
        self.accounting.planned.saturating_sub(self.accounting.ok)
    }
}

/// The program that made a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// `weir`.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// Which run it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Tells runs apart; the same for all parts of one run.
    pub id: String,
    /// Wall-clock time of the epoch, RFC 3339.
    pub epoch: String,
    /// Wall-clock time of the epoch in nanoseconds since 1970, UTC. The monotonic times of this
    /// document count from the epoch.
    pub epoch_unix_ns: u64,
    /// This part of the run, from 1.
    pub part: u32,
    /// Parts that the run has.
    pub parts: u32,
    /// A signal ended it before its plan did.
    pub interrupted: bool,
    /// The warm-up was to end when the load is steady, and ended because it took too long; absent
    /// otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unsettled: bool,
    /// The command line, word by word, with `[redacted]` for credentials.
    pub command: Option<Vec<String>>,
    /// What the URL answered before the load, where it was asked.
    pub preflight: Option<Preflight>,
    /// What the run took of its own machine.
    pub client: ClientUsage,
}

/// The answer to the request sent before the load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Preflight {
    /// The status code.
    pub status: u16,
    /// The protocol of the answer: `HTTP/1.1`.
    pub http_version: String,
    /// The `Server` header.
    pub server: Option<String>,
    /// The `Location` header of a redirect.
    pub location: Option<String>,
    /// Length of the answer's body in bytes, where it was read to its end.
    pub body_bytes: Option<u64>,
    /// The address that answered.
    pub address: String,
    /// From the send to the last byte, in nanoseconds.
    pub elapsed_ns: u64,
}

/// What a run took of its own machine; over all parts after a merge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ClientUsage {
    /// CPU time in user space, in nanoseconds.
    pub cpu_user_ns: u64,
    /// CPU time in the kernel, in nanoseconds.
    pub cpu_system_ns: u64,
    /// Greatest resident memory in bytes.
    pub max_resident_bytes: u64,
}

/// The phases of one worker as it observed them, in nanoseconds since its part's epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Phases {
    /// The part of the run it belongs to; each part has an epoch of its own.
    pub part: u32,
    /// Its number within the part, from 0.
    pub worker: u32,
    /// The CPU it was pinned to.
    pub cpu: Option<u32>,
    /// Its connections.
    pub connections: u32,
    /// It began to connect.
    pub connect_ns: u64,
    /// All its connections were up or had failed once.
    pub connected_ns: u64,
    /// The schedule's start: the same for all workers of a part.
    pub start_ns: u64,
    /// Its first clock reading at or after the planned t0.
    pub t0_ns: u64,
    /// Its first clock reading at or after the planned t1.
    pub t1_ns: u64,
    /// The load ended: every measured slot was resolved, or the drain's limit was reached; under
    /// the flags of wrk and wrk2 at t1.
    pub tail_end_ns: u64,
    /// The drain ended: everything sent was answered, or the drain's limit was reached. The sockets
    /// were closed.
    pub drained_ns: u64,
    /// CPU time of its thread, user and system, in nanoseconds.
    pub cpu_time_ns: u64,
    /// What its thread took and lost inside the window; its `wall_ns` is 0 where that is not known.
    #[serde(default)]
    pub usage: WorkerUsage,
}

/// Something a reader must know beside the numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Note {
    /// Stable, for programs: `few_connections`.
    pub code: String,
    /// A sentence, for people.
    pub text: String,
}

impl Note {
    /// A note.
    pub fn new(code: &str, text: impl Into<String>) -> Note {
        Note { code: code.to_owned(), text: text.into() }
    }
}
