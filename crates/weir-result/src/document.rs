//! The document of a run: all data about it, in one versioned value. Every report is printed from
//! it, and documents merge without loss.
//!
//! [`Unjudged::assemble`] makes it and refuses numbers that do not add up, [`Stored::load`] reads it,
//! weir-verdict judges it, and weir-report writes it. It depends on no sockets, no clocks and no
//! layout.

mod accounting;
mod assemble;
mod assertions;
mod check;
mod connection_failure;
mod connections;
mod departures;
mod environment;
mod health;
mod input;
mod intervals;
mod latency;
mod load;
mod merge;
mod network;
mod occupancy;
mod parts;
mod probe;
mod prove_client;
mod raw;
mod recorded;
mod rule;
mod script;
mod selfcheck;
mod server;
mod stamps;
mod stationarity;
mod summary;
mod throughput;
mod timeline;
mod tls;
mod unjudged;
mod verdict;
mod witness;

pub use assemble::{DocumentParts, RunParts, Trials};
pub use assertions::{AssertionOutcome, AssertionResult};
pub use check::BrokenInvariant;
pub use connection_failure::ConnectionFailure;
pub use departures::{CountedSpan, DeparturesSection, Dispersion};
pub use environment::Environment;
pub use input::{Input, InputRole};
pub use latency::{Latency, Metric};
pub use load::{LoadError, Stored};
pub use merge::MergeError;
pub use occupancy::OccupancySection;
pub use parts::{PartSection, PartWindow};
pub use probe::{ProbeSection, ProbeTimes, Probed};
pub use prove_client::{ProofPair, ProveClientSection};
pub use raw::RawSection;
pub use rule::{Direction, Rule, RuleOutcome, RuleUnit, Subject};
pub use selfcheck::{Floor, SelfcheckSection};
pub use server::{
    AccessLogSection, Capture, CommandSection, MetricSeries, NginxSample, NginxSection, Point,
    Polls, ProcessSample, ProcessSection, PrometheusSection, ServerLoad, ServerSection,
};
pub use stamps::StampsSection;
pub use stationarity::{
    Change, SeriesStationarity, ShiftFigures, SliceSeries, ThirdsFigures, TrendFigures,
};
pub use summary::{PercentileValue, Range, Summary, UnsupportedPercentile};
pub use unjudged::Unjudged;
pub use verdict::{
    ClientOverhead, Delivery, Grade, Limit, LimitedBy, LoadLine, TargetLine, TargetState, Verdict,
};
pub use witness::{Estimate, RatioEstimate, WitnessSection};

pub use crate::counters::{
    Accounting, Certificate, ConnectionsSection, DestinationSection, NetworkSection, Phases,
    RateInterval, ScriptSection, SentCounts, SeriesEntry, SeriesPhase, SliceEntry, Throughput,
    TlsParameters, TlsSection,
};

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::evidence::ClientHealth;
use crate::plan::Plan;

/// Version of the document's schema that this program writes, and the newest that it reads.
pub const SCHEMA_VERSION: u32 = 2;

/// Result of a run: one JSON document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Document {
    /// Version of this schema; a changed meaning is a new version.
    pub schema_version: u32,
    /// Program that wrote the document.
    pub tool: Tool,
    /// Identity and circumstances of the run.
    pub run: Run,
    /// Grade of the run, and the lines `Target`, `Load` and `Limit`; derived from the other
    /// sections.
    pub verdict: Verdict,
    /// Plan of the run: the load as requested.
    pub plan: Plan,
    /// Phases of the run, as each worker observed them.
    pub phases: Vec<Phases>,
    /// Machine and program that ran the load; of several parts those of the first.
    pub environment: Environment,
    /// Connections: requested, opened, renewed, failed.
    pub connections: ConnectionsSection,
    /// Outcomes of all planned requests.
    pub accounting: Accounting,
    /// Times of requests and connects.
    pub latency: Latency,
    /// Rates inside the measured window.
    pub throughput: Throughput,
    /// Kernel time stamps of a sample of requests; absent if no connection was stamped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stamps: Option<StampsSection>,
    /// Sends per millisecond, actual and planned; absent in a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub departures: Option<DeparturesSection>,
    /// Requests on the wire, counted in two independent ways; absent if they were not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occupancy: Option<OccupancySection>,
    /// One-connection probe of the target before the load; absent if it did not run, or got no
    /// response in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<ProbeSection>,
    /// TCP sockets of this run; absent if there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkSection>,
    /// TLS handshakes and what was negotiated; absent without TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsSection>,
    /// Health of the client's machine in the window, the worst of all parts; absent if it was not
    /// watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<ClientHealth>,
    /// Probe thread: a few independent requests beside the load; absent if there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness: Option<WitnessSection>,
    /// The server as it was watched; absent if it was not. Of several parts each part has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerSection>,
    /// Noise floor (`--selfcheck`); absent if it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selfcheck: Option<SelfcheckSection>,
    /// The same load with one more thread (`--prove-client`); absent if it was not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prove_client: Option<ProveClientSection>,
    /// Usage of the script; absent without a script.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<ScriptSection>,
    /// Stationarity of the window, by series; empty with fewer than ten slices.
    #[serde(default)]
    pub stationarity: Vec<SeriesStationarity>,
    /// Equal parts of the window by planned time, from which confidence intervals are computed.
    pub slices: Vec<SliceEntry>,
    /// Time series of the run, warm-up and drain included, by when things happened.
    pub series: Vec<SeriesEntry>,
    /// Files that hold every request (`--raw`), one for each part; absent if none were written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub raw: Vec<RawSection>,
    /// Assertions (`--assert`) and their outcomes; absent if there were none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assertions: Vec<AssertionResult>,
    /// Parts that the document was merged from, in the order of their numbers; absent if it was not
    /// merged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartSection>,
    /// Notes attached to the finished run.
    pub notes: Vec<Note>,
}

impl Document {
    /// Number of measured requests with a complete response, good or bad. A run without any has no
    /// result: exit code 1.
    pub fn responses(&self) -> u64 {
        self.accounting.ok + self.accounting.bad_response
    }

    /// Number of measured requests that did not end as `ok`.
    pub fn failed(&self) -> u64 {
        self.accounting.planned.saturating_sub(self.accounting.ok)
    }
}

/// Program that wrote a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tool {
    /// Name of the program: `weir`.
    pub name: String,
    /// Version of the program.
    pub version: String,
}

/// Identity and circumstances of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Run {
    /// Identifier of the run; each part has one of its own.
    pub id: String,
    /// Wall-clock time of the epoch, RFC 3339.
    pub epoch: String,
    /// Wall-clock time of the epoch in nanoseconds since 1970, UTC. The monotonic times of this
    /// document count from the epoch.
    pub epoch_unix_ns: u64,
    /// Number of this part of the run, from 1; 1 for a whole run and a merged one.
    pub part: u32,
    /// Number of parts of the run; 1 for a whole run and a merged one.
    pub parts: u32,
    /// True if a signal ended the run before its plan did.
    pub interrupted: bool,
    /// True if the warm-up waited for a steady load and ended at its time limit instead; absent
    /// otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unsettled: bool,
    /// The command line, word by word, with `[redacted]` for credentials.
    pub command: Option<Vec<String>>,
    /// Specification of the run, as `weir --print-spec` writes it and `weir --spec` runs it, with
    /// `[redacted]` for credentials and without the content of files; absent in merged documents
    /// and in those of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<serde_json::Value>,
    /// Files that the run read; absent if there were none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<Input>,
    /// Facts about the run that the user gave (`--note`), by name; absent if there are none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// SHA-256 of the plan, in hexadecimal: of its JSON without blanks, the names of each object in
    /// ascending order, with 0 for `request.wire_bytes`, which depends on the secrets; absent in
    /// documents of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_sha256: Option<String>,
    /// Response of the URL before the load, if a preflight was sent.
    pub preflight: Option<Preflight>,
    /// CPU time and memory that weir used.
    pub client: ClientUsage,
}

/// Response to the request sent before the load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Preflight {
    /// The status code.
    pub status: u16,
    /// Protocol of the response: `HTTP/1.1`.
    pub http_version: String,
    /// The `Server` header.
    pub server: Option<String>,
    /// The `Location` header of a redirect.
    pub location: Option<String>,
    /// Length of the response's body in bytes, if it was read to its end.
    pub body_bytes: Option<u64>,
    /// Address that responded.
    pub address: String,
    /// Time from the send to the last byte, in nanoseconds.
    pub elapsed_ns: u64,
}

/// CPU time and memory that weir used; over all parts after a merge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClientUsage {
    /// CPU time in user space, in nanoseconds.
    pub cpu_user_ns: u64,
    /// CPU time in the kernel, in nanoseconds.
    pub cpu_system_ns: u64,
    /// Peak resident memory in bytes.
    pub max_resident_bytes: u64,
}

/// A note attached to the finished run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Note {
    /// Stable code, for programs: `few_connections`.
    pub code: String,
    /// Sentence, for people.
    pub text: String,
}

impl Note {
    /// Creates a note.
    pub fn new(code: &str, text: impl Into<String>) -> Note {
        Note { code: code.to_owned(), text: text.into() }
    }
}
