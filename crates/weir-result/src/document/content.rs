//! The document: all its sections.

use serde::{Deserialize, Serialize};

use super::{
    AssertionResult, DeparturesSection, Environment, FleetSection, Latency, MessagesSection,
    Metric, NameSection, Note, OccupancySection, PartSection, ProbeSection, ProveClientSection,
    RawSection, Results, Run, SelfcheckSection, SeriesStationarity, ServerSection, StageSection,
    StampsSection, Tool, Verdict, WitnessSection,
};
use crate::counters::{
    Accounting, ConnectionsSection, NetworkSection, Phases, ScriptSection, SeriesEntry, SliceEntry,
    Throughput, TlsSection,
};
use crate::evidence::ClientHealth;
use crate::plan::Plan;

/// Version of the document's schema that this program writes and reads.
pub const SCHEMA_VERSION: u32 = 4;

/// Result of a run: one JSON document.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// Results of all measured requests: outcomes, rates of responses, and their times.
    pub results: Results,
    /// Requests put on the wire.
    pub accounting: Accounting,
    /// Other times of requests, and those of connects.
    pub latency: Latency,
    /// Rates of sends and bytes inside the measured window, and its length.
    pub throughput: Throughput,
    /// Messages within responses, beside those of the results; absent if they are not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Box<MessagesSection>>,
    /// Results by name, of the requests of a list; absent without one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<NameSection>,
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
    /// Results by stage of the load; absent without stages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageSection>,
    /// Parts of the window by planned time, from which confidence intervals are computed: equal, or
    /// with stages equal within each.
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
    /// The agents that carried out the parts; absent without agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<FleetSection>,
    /// Notes attached to the finished run.
    pub notes: Vec<Note>,
}

impl Document {
    /// Returns the time of a name of [`Results::TIMES`] or [`Latency::NAMES`]; `None` if the run
    /// has none.
    pub fn time(&self, name: &str) -> Option<&Metric> {
        self.results.time(name).or_else(|| self.latency.named(name))
    }

    /// Returns the time that a report shows first, with its name: from the due times on, or from
    /// the sends if requests have none.
    pub fn headline_time(&self) -> (&'static str, &Metric) {
        match self.plan.has_due_times() {
            true => ("response time", &self.results.response_time),
            false => ("service time", &self.results.service_time),
        }
    }

    /// Returns the time from the actual sends on, with its name, if it is not the one that a report
    /// shows first.
    pub fn time_beside(&self) -> Option<(&'static str, &Metric)> {
        let service_time = ("service time", &self.results.service_time);
        self.plan.has_due_times().then_some(service_time)
    }
}
