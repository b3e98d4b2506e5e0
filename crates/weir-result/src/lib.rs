//! The document of a run: the plan, the measurements, and what is derived from them.
//!
//! This crate opens no socket and reads no clock. The engine provides [`Measurements`]; readers,
//! scripts and other machines get the document made of them.
#![forbid(unsafe_code)]

mod absent;
mod bound;
mod connection_failure;
#[macro_use]
mod counters;
mod counts;
mod distinct;
pub mod document;
pub mod errno;
mod evidence;
mod failures;
mod measurements;
mod plan;
pub mod quantile;
mod raw;
mod rules;
#[cfg(feature = "schema")]
mod schema;
mod shape;
mod slices;
pub mod study;

pub use counters::{
    ByOutcome, Callback, CallbackUsage, Connections, DestinationCounts, GapDoubts, GoodputDoubts,
    HandshakeKind, Interval, MessageCounts, MessageShare, NameTotals, NamedSlice, OutcomeClass,
    OutcomePart, Outcomes, PromptLength, ResultCounts, ScriptUsage, Sent, Slice, StageLags,
    StampedMessages, StepCounts, TcpUsage, TlsCounts, TlsParameters, TokenCounts, TokenTotals,
    Window, WorkerPhases, coarsen_intervals,
};
pub use distinct::{distinct, distinct_us, summed};
pub use document::{
    AssertionOutcome, AssertionResult, Document, DocumentParts, Environment, LoadError, Note,
    SideRecords,
};
pub use evidence::{
    ClientHealth, DepartureSpan, Departures, Occupancy, RoundTrips, ServerCpu, Stamped, Stops,
    WorkerUsage,
};
pub use failures::{ErrorKind, FailureCause, FailureKind, FailurePhase, MissExample, MissKind};
pub use measurements::Measurements;
pub use plan::{
    AddressRange, AddressRangeError, Arrivals, Closer, ConnectionEnd, ConnectionLoad,
    ConnectionPlan, ConnectionStage, DueTimes, ExpectPlan, GoodputTerm, GoodputTime, Header,
    Http2Plan, HttpPlan, IoEngine, ListOrder, ListPlan, Load, MessagePlan, MessageProtocol,
    PART_WEIGHTS_MAX, Pacing, Part, Plan, Rate, ReplayPlan, RequestPlan, ScenarioPlan, Speed,
    Stage, StageSpan, StampChoice, StepPlan, SuccessRule, Target, TemplatePlan, TlsPlan,
    TlsVersion, UsersPlan, Wait, Warmup, WebSocketPlan, check_connection_stages, check_stages,
    connections_at, mean_rate, one_or_several, parse_connection_stages, parse_curve, parse_stages,
    stage_at,
};
pub use raw::{RawLog, RawRow, RawSink, RawSource, RowMessages, SlotPhase};
#[cfg(feature = "schema")]
pub use schema::{schema_json, study_schema_json};
pub use shape::ShapeError;
pub use slices::align_slices;
pub use study::{STUDY_VERSION, Study};
pub use weir_stats::histogram;
pub use weir_stats::histogram::{Histogram, SparseHistogram, Tally};
