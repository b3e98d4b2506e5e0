//! A study: its design, its trials and its result.

use serde::{Deserialize, Serialize};

use super::comparison::Comparison;
use super::design::{Cell, Design};
use super::repeat::Repetition;
use super::search::SearchResult;
use super::sweep::Sweep;
use super::trial::Trial;
use crate::document::{Document, Note, Tool};

/// Version of the study's schema that this program writes, and the newest that it reads.
pub const STUDY_VERSION: u32 = 2;

/// A study: several runs for one question. One JSON document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Study {
    /// Version of this schema; a changed meaning is a new version.
    pub study_version: u32,
    /// Program that wrote the study.
    pub tool: Tool,
    /// Wall-clock time of its start, RFC 3339.
    pub started: String,
    /// The command line, word by word, with `[redacted]` for credentials.
    pub command: Vec<String>,
    /// Question of the study, and the plan of its trials.
    pub design: Design,
    /// Seed of the order of the trials.
    pub seed: u64,
    /// Commands around each trial.
    #[serde(default, skip_serializing_if = "Hooks::is_empty")]
    pub hooks: Hooks,
    /// Kinds of run that the trials repeat.
    pub cells: Vec<Cell>,
    /// Trials in the order in which they were made.
    pub trials: Vec<Trial>,
    /// State of the study.
    pub state: StudyState,
    /// Result of the trials; absent while the study runs, and if there are too few for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<StudyResult>,
    /// Notes attached to the study.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
}

/// Commands that the user runs around each trial.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hooks {
    /// Command before each trial; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// Command after each trial; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Time after which a command is ended, in nanoseconds.
    pub timeout_ns: u64,
}

impl Hooks {
    /// True if there is no command.
    pub fn is_empty(&self) -> bool {
        self.before.is_none() && self.after.is_none()
    }
}

/// State of a study.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum StudyState {
    /// More trials are planned. A study in a file with this state was killed.
    Running,
    /// All trials that the design wants are made.
    Complete,
    /// A signal ended it.
    Interrupted,
    /// A trial could not be made.
    Stopped {
        /// Reason, with the number of the trial.
        reason: String,
    },
}

/// Result of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum StudyResult {
    /// Spread of each metric over equal runs.
    Repeat(Repetition),
    /// Difference between two systems.
    Comparison(Comparison),
    /// Metrics of each cell.
    Sweep(Sweep),
    /// Highest rate that meets an objective.
    Search(SearchResult),
}

impl Study {
    /// Documents of the trials that were measured, with their trials.
    pub fn measured(&self) -> impl Iterator<Item = (&Trial, &Document)> {
        self.trials.iter().filter_map(|trial| Some((trial, trial.document()?)))
    }

    /// Documents of the measured trials of one cell, in the order in which they were made.
    pub fn documents_of(&self, cell: u32) -> impl Iterator<Item = &Document> {
        self.measured().filter(move |(trial, _)| trial.cell == cell).map(|(_, document)| document)
    }

    /// True if the design wants more trials.
    pub fn is_resumable(&self) -> bool {
        self.state != StudyState::Complete
    }
}
