//! The figures of a report, and which of its lines are printed.

use std::fmt;

use serde::{Deserialize, Serialize};
use weir_result::Histogram;

/// A tool whose command line and report weir has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// wrk 4.2: a closed loop.
    Wrk,
    /// wrk2 4.0: a constant rate.
    Wrk2,
}

/// As in specifications.
impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Figures of the lines printed after the run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Latencies in nanoseconds.
    pub latency: Histogram,
    /// Latencies from the send in nanoseconds; wrk2 calls them uncorrected.
    pub uncorrected: Histogram,
    /// Samples of a thread's completions per second; the unit is 1/s, not ns.
    pub thread_rates: Histogram,
    /// Requests sent.
    pub sent: u64,
    /// Completed requests.
    pub requests: u64,
    /// The time in which `requests` and `bytes` were counted, in nanoseconds.
    pub run_time_ns: u64,
    /// Bytes received, heads included.
    pub bytes: u64,
    /// Requests and connections that failed.
    pub errors: SocketErrors,
    /// Of `requests`: responses with a status above 399.
    pub bad_status: u64,
}

/// Failures under wrk's names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketErrors {
    /// Connections that could not be opened.
    pub connect: u64,
    /// Failures while a response was expected.
    pub read: u64,
    /// Failures while a request was written.
    pub write: u64,
    /// Requests without a response in time.
    pub timeout: u64,
}

/// Selection of the optional blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OptionalBlocks {
    /// True if the percentiles are printed; for wrk2, with their whole spectrum.
    pub latency: bool,
    /// wrk2 only: true if the same is printed for the uncorrected latencies.
    pub uncorrected: bool,
    /// DeathStarBench's wrk2 only: true if the number of sent requests is printed.
    pub sent: bool,
}
