//! Usage of scripts while the load ran.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Usage of the workers' scripts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScriptUsage {
    /// Lua states of the workers.
    pub states: u32,
    /// Memory of the largest state at the end of the run, in bytes.
    pub memory_max_bytes: u64,
    /// Calls while the load ran, by callback.
    pub callbacks: BTreeMap<Callback, CallbackUsage>,
    /// Requests that were not ready when their slot was due: `request()` was slower than the plan.
    pub ran_dry: u64,
    /// Responses of which `response()` got only the beginning of the body.
    pub bodies_cut: u64,
    /// Workers that ended early because `wrk.thread:stop()` was called, or a script failed.
    pub stopped: u32,
}

/// A function of a script that is called while the load runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Callback {
    /// `request()`.
    Request,
    /// `delay()`.
    Delay,
    /// `response()`.
    Response,
}

impl Callback {
    /// Returns the name used in scripts.
    pub fn name(self) -> &'static str {
        match self {
            Callback::Request => "request",
            Callback::Delay => "delay",
            Callback::Response => "response",
        }
    }
}

/// Calls and time of one callback.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallbackUsage {
    /// Number of calls.
    pub calls: u64,
    /// Wall time in calls, in nanoseconds.
    pub time_ns: u64,
    /// Longest call in nanoseconds.
    pub longest_ns: u64,
    /// Of `time_ns`: calls of 1 ms and more, which delay all other connections of the worker.
    pub long_ns: u64,
}

impl ScriptUsage {
    pub(crate) fn add(&mut self, other: &ScriptUsage) {
        // Saturates: a document may hold the greatest number of 32 bits.
        self.states = self.states.saturating_add(other.states);
        self.memory_max_bytes = self.memory_max_bytes.max(other.memory_max_bytes);
        for (callback, usage) in &other.callbacks {
            let mine = self.callbacks.entry(*callback).or_default();
            mine.calls += usage.calls;
            mine.time_ns += usage.time_ns;
            mine.longest_ns = mine.longest_ns.max(usage.longest_ns);
            mine.long_ns += usage.long_ns;
        }
        self.ran_dry += other.ran_dry;
        self.bodies_cut += other.bodies_cut;
        self.stopped += other.stopped;
    }
}
