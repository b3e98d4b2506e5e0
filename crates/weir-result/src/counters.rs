//! Counters of a run, each declared once: in [`Measurements`](crate::Measurements), as a worker
//! counts them, and in a section of the document, as they are stored.
//!
//! A declaration is the counter's name, a sentence, and the rule that merges two workers' values.
//! From it come both fields, the merge, the conversions, and the description in the schema. Nothing
//! here is derived, and nothing counts: sections are derived in `document`.

#[macro_use]
mod declare;

mod accounting;
mod by_name;
mod by_outcome;
mod by_stage;
mod connections;
mod messages;
mod network;
mod outcomes;
mod phases;
mod results;
mod script;
mod steps;
mod throughput;
mod timeline;
mod tls;

pub use accounting::{Accounting, Sent, SentCounts};
pub use by_name::{NameTotals, NamedSlice};
pub use by_outcome::ByOutcome;
pub use by_stage::StageLags;
pub use connections::{Connections, ConnectionsSection, DestinationCounts, DestinationSection};
pub use messages::{
    GapDoubts, GoodputDoubts, MessageCounts, MessageShare, PromptLength, StampedMessages,
    TokenCounts, TokenTotals,
};
pub use network::{NetworkSection, TcpUsage};
pub use outcomes::{OutcomeClass, OutcomePart, Outcomes};
pub use phases::{Phases, WorkerPhases};
pub use results::ResultCounts;
pub use script::{Callback, CallbackUsage, ScriptSection, ScriptUsage};
pub use steps::StepCounts;
pub use throughput::{RateInterval, Throughput, Window};
pub(crate) use timeline::merge_intervals;
pub use timeline::{Interval, SeriesEntry, SeriesPhase, Slice, SliceEntry, coarsen_intervals};
pub use tls::{Certificate, HandshakeKind, TlsCounts, TlsParameters, TlsSection};
