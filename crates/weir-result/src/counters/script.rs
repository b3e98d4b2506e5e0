//! Usage of scripts while the load ran.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::rules;

counters! {
    /// Usage of the workers' scripts.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    measured ScriptUsage;
    /// Usage of the run's script.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    stored ScriptSection;

    /// Script file as given; null if it is not known.
    stored file: Option<String>;
    /// Lua states of the workers.
    counter states: u32 => rules::saturating;
    /// Memory of the largest state at the end of the run, in bytes.
    counter memory_max_bytes: u64 => rules::max;
    /// Calls while the load ran, by callback.
    counter callbacks: BTreeMap<Callback, CallbackUsage> => rules::by_key;
    /// Requests that were not ready when they were due: `request()` was slower than the plan.
    counter ran_dry: u64 => rules::sum;
    /// Responses of which `response()` got only the beginning of the body: it was longer than 64
    /// MiB, or `--script-memory` was used up.
    counter bodies_cut: u64 => rules::sum, #[serde(default)];
    /// Workers that ended before their plan did, because the script stopped them or failed.
    counter stopped: u32 => rules::sum;
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
    /// All callbacks, in the order of their declaration.
    pub const ALL: [Callback; 3] = [Callback::Request, Callback::Delay, Callback::Response];

    /// Returns the name used in scripts.
    pub fn name(self) -> &'static str {
        match self {
            Callback::Request => "request",
            Callback::Delay => "delay",
            Callback::Response => "response",
        }
    }
}

merged! {
    /// Calls and time of one callback.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub struct CallbackUsage {
        /// Number of calls.
        pub calls: u64 => rules::sum,
        /// Wall time in calls, in nanoseconds.
        pub time_ns: u64 => rules::sum,
        /// Longest call in nanoseconds.
        pub longest_ns: u64 => rules::max,
        /// Of `time_ns`: calls of 1 ms and more, which delay all other connections of the worker.
        pub long_ns: u64 => rules::sum,
    }
}
