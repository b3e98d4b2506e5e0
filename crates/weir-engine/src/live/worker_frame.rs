//! The state of a worker during the load, for the program to show. The worker copies it four times
//! per second, and sends nothing meanwhile: it holds few buckets.

use std::collections::BTreeMap;

use weir_io::Nanos;
use weir_result::{ErrorKind, Interval, NameTotals, SparseHistogram};

/// State of a worker at one instant of the load. The times are from measured requests; a warm-up
/// has none.
#[derive(Clone, Debug, Default)]
pub struct WorkerFrame {
    /// The instant, on the run's clock.
    pub at: Nanos,
    /// The interval in progress, cut at the instant.
    pub interval: Interval,
    /// Open connections.
    pub open: u64,
    /// CPU time of the worker's thread so far, less idle spinning, in nanoseconds.
    pub busy_ns: u64,
    /// Send lags so far; none in a closed loop.
    pub send_lag: SparseHistogram,
    /// Times so far that requests waited for a connection, without those that did not wait.
    pub connection_wait: SparseHistogram,
    /// Greatest scheduling lag so far, in nanoseconds.
    pub sched_lag_max_ns: u64,
    /// Response times so far of successful requests with kernel time stamps.
    pub stamped: SparseHistogram,
    /// The same times without scheduling lag and rx delay, the client's share of each.
    pub stamped_outside: SparseHistogram,
    /// Times so far to the first message within a response; none if messages are not measured.
    pub first_message: SparseHistogram,
    /// Times so far from one message of a response to the next.
    pub message_gap: SparseHistogram,
    /// Transport errors so far, by kind.
    pub errors: BTreeMap<ErrorKind, u64>,
    /// Totals so far of the names of a list that have slices, and those of all others together if
    /// there are some. An empty latency is one whose turn it is not: it is as it was.
    pub names: Vec<NameTotals>,
}

impl WorkerFrame {
    /// Doublings of the bucket width of a frame's histograms: their percentiles exceed the exact
    /// ones by at most 8 thousandths. The widths of `interval` are not doubled.
    pub const COARSENESS: u32 = 3;

    /// Number of frames over which the latencies of all names are spread. The copy of one takes
    /// about 20 µs, in which the worker sends nothing.
    pub const NAME_TURNS: usize = 8;
}
