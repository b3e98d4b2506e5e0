//! The parts of a run that several machines carried out together: facts of each part that do not
//! add up.

use serde::{Deserialize, Serialize};

use super::environment::Environment;
use super::note::Note;
use super::run::{Run, Tool};
use super::server::ServerSection;
use super::verdict::Verdict;
use crate::plan::{IoEngine, Pacing, Part};

/// The way in which a client sends: a machine may lack what another one has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SendMethod {
    /// I/O engine.
    pub io: IoEngine,
    /// Send strategy.
    pub pacing: Pacing,
}

/// Counts of one part: its share of the load, and what came of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PartCounts {
    /// Connections of its plan.
    pub connections: u32,
    /// Measured requests that were due.
    pub planned: u64,
    /// Of `planned`: requests that ended as `ok`.
    pub ok: u64,
    /// Of `planned`: requests that did not.
    pub failed: u64,
    /// Good responses per second of its window.
    pub good_rps: f64,
}

/// One part of a merged document: facts that do not add up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PartSection {
    /// Part of the plan.
    pub part: Part,
    /// Program that wrote the part's document.
    pub tool: Tool,
    /// Identity and circumstances of the part.
    pub run: Run,
    /// Machine and program that ran the part.
    pub environment: Environment,
    /// Verdict on the part alone.
    pub verdict: Verdict,
    /// I/O engine and send strategy of the part; absent if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sends_by: Option<SendMethod>,
    /// Counts of the part alone; absent if they are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<PartCounts>,
    /// The server as this part watched it; absent if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerSection>,
    /// Notes attached to the part.
    pub notes: Vec<Note>,
}
