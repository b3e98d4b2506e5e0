//! A trial of a study: one run, and what happened around it.

use serde::{Deserialize, Serialize};

use crate::document::Document;

/// One run of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trial {
    /// Number of the trial, from 1. Hooks get it as `WEIR_TRIAL`.
    pub number: u32,
    /// Index of its cell.
    pub cell: u32,
    /// Number of its pair or repetition, from 1.
    pub round: u32,
    /// Wall-clock time of its start, RFC 3339.
    pub started: String,
    /// Wait until the machine and the target had recovered from the trial before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settling: Option<Settling>,
    /// The command before the trial; absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<HookRun>,
    /// The command after the trial; absent if there was none, or it was not reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<HookRun>,
    /// True if its pair was begun again when the study was resumed: it is in no result.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_superseded: bool,
    /// Outcome of the run.
    pub outcome: TrialOutcome,
}

/// Outcome of a trial's run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TrialOutcome {
    /// The run was measured: its document.
    Measured(Box<Document>),
    /// The run was not measured, or not to its end. It is in no result, and is repeated when the
    /// study is resumed.
    Failed {
        /// Reason.
        reason: String,
        /// Document of what was measured before; absent if nothing was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        document: Option<Box<Document>>,
    },
}

/// Run of a hook's command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HookRun {
    /// Exit status; absent if a signal ended the command.
    pub status: Option<i32>,
    /// True if it was ended because its time was over.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
    /// Time that it took, in nanoseconds.
    pub elapsed_ns: u64,
    /// Its output and errors, cut to the last 16 KiB.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
}

impl HookRun {
    /// True if the command succeeded.
    pub fn is_success(&self) -> bool {
        self.status == Some(0) && !self.timed_out
    }
}

/// Wait between two trials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Settling {
    /// Time waited, in nanoseconds.
    pub waited_ns: u64,
    /// Local ports in TIME_WAIT to the target's port when the wait ended.
    pub time_wait: u64,
    /// Median service time of a few requests one after the other when the wait ended, in
    /// nanoseconds; absent if the target could not be probed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_ns: Option<u64>,
    /// True if the time was over before all had recovered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_incomplete: bool,
}

impl Trial {
    /// Document of the run, if it was measured and counts.
    pub fn document(&self) -> Option<&Document> {
        match &self.outcome {
            TrialOutcome::Measured(document) if !self.is_superseded => Some(document),
            _ => None,
        }
    }
}
