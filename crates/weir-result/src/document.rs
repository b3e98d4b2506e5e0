//! The document of a run: all data about it, in one versioned value. Every report is printed from
//! it, and documents merge without loss.
//!
//! [`Unjudged::assemble`] makes it and refuses numbers that do not add up, [`Document::load`] reads
//! it, weir-verdict judges it, and weir-report writes it. It depends on no sockets, no clocks and
//! no layout.

mod accounting;
mod assemble;
mod assertions;
mod check;
mod connections;
mod content;
mod coverage;
mod departures;
mod environment;
mod fleet;
mod health;
mod input;
mod intervals;
mod latency;
mod load;
mod merge;
mod messages;
mod name_in_stage;
mod names;
mod network;
mod note;
mod occupancy;
mod parts;
mod probe;
mod prove_client;
mod rates;
mod raw;
mod recorded;
mod results;
mod rule;
mod run;
mod scope_span;
mod script;
mod selfcheck;
mod server;
mod side_records;
mod stages;
mod stamps;
mod stationarity;
mod summary;
mod throughput;
mod timeline;
mod tls;
mod unjudged;
mod verdict;
mod witness;

pub use assemble::DocumentParts;
pub use assertions::{AssertionOutcome, AssertionResult};
pub use check::BrokenInvariant;
pub use content::{Document, SCHEMA_VERSION};
pub use coverage::PartWindow;
pub use departures::{DeparturesSection, Dispersion};
pub use environment::Environment;
pub use fleet::{AgentEnd, AgentSection, FleetSection};
pub use input::{Input, InputRole};
pub use latency::{Latency, Metric};
pub use load::LoadError;
pub use merge::MergeError;
pub use messages::{
    CountSummary, FirstByPrompt, GoodputSection, MessageStamps, MessagesSection, ScopeMessages,
    ShareRange, TokensSection,
};
pub use names::{NameSection, StepSection};
pub use note::Note;
pub use occupancy::OccupancySection;
pub use parts::{PartCounts, PartSection, SendMethod};
pub use probe::{ProbeSection, ProbeTimes, Probed};
pub use prove_client::{ProofPair, ProveClientSection};
pub use raw::RawSection;
pub use results::Results;
pub use rule::{Direction, Rule, RuleOutcome, RuleUnit, Subject};
pub use run::{Aborted, ClientUsage, Preflight, Run, Tool};
pub use selfcheck::{Floor, SelfcheckSection};
pub use server::{
    AccessLogSection, Capture, CommandSection, MetricSeries, NginxSample, NginxSection, Point,
    Polls, ProcessSample, ProcessSection, PrometheusSection, ServerLoad, ServerSection,
};
pub use side_records::SideRecords;
pub use stages::{RampKnee, StageSection, StageVerdict};
pub use stamps::StampsSection;
pub use stationarity::{
    Deviation, SeriesStationarity, ShiftFigures, SliceSeries, ThirdsFigures, TrendFigures,
};
pub use summary::{PercentileValue, Range, Summary, UnsupportedPercentile};
pub use unjudged::Unjudged;
pub use verdict::{
    ClientOverhead, Delivery, Grade, Limit, LimitedBy, LoadLine, TargetLine, TargetState, Verdict,
};
pub use witness::{RatioEstimate, TimeEstimate, WitnessSection};

pub use crate::connection_failure::ConnectionFailure;
pub use crate::counters::{
    Accounting, Certificate, ConnectionsSection, DestinationSection, NetworkSection, Phases,
    RateInterval, ScriptSection, SentCounts, SeriesEntry, SeriesPhase, SliceEntry, Throughput,
    TlsParameters, TlsSection,
};
