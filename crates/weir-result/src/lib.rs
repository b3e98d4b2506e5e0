//! The document of a run: the plan, the measurements, and the conversion of numbers to text.
//!
//! This crate opens no socket and reads no clock. The engine provides [`Measurements`]; readers,
//! scripts and other machines get the document made of them.
#![forbid(unsafe_code)]

mod assertion;
mod counts;
mod distinct;
pub mod document;
mod encoding;
pub mod errno;
mod evidence;
mod foreign;
pub mod histogram;
mod measurements;
mod plan;
pub mod quantile;
mod raw;
#[cfg(feature = "schema")]
mod schema;
mod script_usage;
pub mod units;

pub use assertion::{Assertion, AssertionError};
pub use distinct::{distinct, distinct_us};
pub use document::{
    AssertionOutcome, AssertionResult, Document, DocumentParts, Environment, LoadError, Note,
};
pub use evidence::{
    ClientHealth, DepartureSpan, Departures, Occupancy, RoundTrips, ServerCpu, Stamped, TcpUsage,
    WorkerUsage,
};
pub use foreign::{is_unprintable, printable, printable_lines};
pub use histogram::{Histogram, SparseHistogram, Tally};
pub use measurements::{
    ByOutcome, Connections, DestinationCounts, ErrorKind, FailureCause, FailureKind, FailurePhase,
    Interval, Measurements, Outcomes, Sent, Slice, Window, WorkerPhases,
};
pub use plan::{
    AddressRange, AddressRangeError, Arrivals, Closer, ConnectionPlan, Header, IoEngine, Load,
    Pacing, Plan, Rate, RequestPlan, StampChoice, SuccessRule, Target, Wait,
};
pub use raw::{RawLog, RawOutcome, RawPhase, RawRow, RawSink, RawSource};
#[cfg(feature = "schema")]
pub use schema::schema_json;
pub use script_usage::{Callback, CallbackUsage, ScriptUsage};
