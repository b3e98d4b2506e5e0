//! The phases of one worker as it observed them. They are listed, one entry for each worker, and
//! never merged.

use serde::{Deserialize, Serialize};

use crate::evidence::WorkerUsage;
use crate::rules;

counters! {
    /// The phases of one worker, in nanoseconds since the epoch, as it observed them.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    measured WorkerPhases;
    /// The phases of one worker as it observed them, in nanoseconds since its part's epoch.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    stored Phases;

    /// Part of the run that the worker belongs to; each part has an epoch of its own.
    stored part: u32;
    /// Number of the worker, from 0, counted over all parts of the plan.
    counter worker: u32 => rules::own;
    /// CPU that the worker was pinned to; null if it was not pinned.
    counter cpu: Option<u32> => rules::own;
    /// Connections of the worker.
    counter connections: u32 => rules::own;
    /// Start of connecting.
    counter connect_ns: u64 => rules::own;
    /// End of connecting: all connections of the worker were up or had failed once.
    counter connected_ns: u64 => rules::own;
    /// Start of the schedule: the same for all workers of a part.
    counter start_ns: u64 => rules::own;
    /// First clock reading of the worker at or after the planned t0.
    counter t0_ns: u64 => rules::own;
    /// First clock reading of the worker at or after the planned t1.
    counter t1_ns: u64 => rules::own;
    /// End of the load: every measured slot was resolved, or the drain's limit was reached; under
    /// the flags of wrk and wrk2 at t1.
    counter tail_end_ns: u64 => rules::own;
    /// End of the window's last request: it had a response, or was given up; 0 in documents that do
    /// not tell.
    counter resolved_ns: u64 => rules::own, #[serde(default)];
    /// End of the drain: all that was sent got a response, or the drain's limit was reached. The
    /// sockets were closed.
    counter drained_ns: u64 => rules::own;
    /// t0 and t1 as the worker used them.
    measured window_ns: (u64, u64) => rules::own;
    /// CPU time of the worker's thread, user and system, in nanoseconds.
    counter cpu_time_ns: u64 => rules::own;
    /// CPU time, waiting and stalls of the worker's thread inside the window; its `wall_ns` is 0 if
    /// they are unknown.
    counter usage: WorkerUsage => rules::own, #[serde(default)];
}
