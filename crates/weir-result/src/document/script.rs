//! Usage of the script: its calls, time and memory while the load ran.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::recorded::Recorded;
use crate::script_usage::{Callback, CallbackUsage, ScriptUsage};

/// Usage of the run's script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScriptSection {
    /// Script file as given; null if it is not known.
    pub file: Option<String>,
    /// Lua states of the workers.
    pub states: u32,
    /// Memory of the largest state at the end of the run, in bytes.
    pub memory_max_bytes: u64,
    /// Calls while the load ran, by callback.
    pub callbacks: BTreeMap<Callback, CallbackUsage>,
    /// Requests that were not ready when they were due: `request()` was slower than the plan.
    pub ran_dry: u64,
    /// Responses of which `response()` got only the beginning of the body: it was longer than 64
    /// MiB, or `--script-memory` was used up.
    #[serde(default)]
    pub bodies_cut: u64,
    /// Workers that ended before their plan did, because the script stopped them or failed.
    pub stopped: u32,
}

impl ScriptSection {
    pub(super) fn of(recorded: &Recorded) -> Option<ScriptSection> {
        let usage = recorded.measurements.script.as_ref()?;
        Some(ScriptSection {
            file: recorded.script_file.clone(),
            states: usage.states,
            memory_max_bytes: usage.memory_max_bytes,
            callbacks: usage.callbacks.clone(),
            ran_dry: usage.ran_dry,
            bodies_cut: usage.bodies_cut,
            stopped: usage.stopped,
        })
    }

    pub(super) fn to_usage(&self) -> ScriptUsage {
        ScriptUsage {
            states: self.states,
            memory_max_bytes: self.memory_max_bytes,
            callbacks: self.callbacks.clone(),
            ran_dry: self.ran_dry,
            bodies_cut: self.bodies_cut,
            stopped: self.stopped,
        }
    }
}
