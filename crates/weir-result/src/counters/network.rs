//! The kernel's counters of this run's own TCP sockets.

use serde::{Deserialize, Serialize};

use crate::absent::is_default;
use crate::rules::{self, Merge};

counters! {
    /// Kernel counters of a worker's TCP sockets, read as they are closed (`TCP_INFO`, tcp(7)).
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    measured TcpUsage;
    /// TCP sockets of this run.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    stored NetworkSection;

    /// TCP sockets of the load; all of them are closed by the end of the run.
    counter sockets: u64 => rules::sum;
    /// Of `sockets`: sockets read before the close (`TCP_INFO`, tcp(7)): the first 1,024 of each
    /// worker, all that failed, and one in 16 of the others.
    counter sampled: u64 => rules::sum;
    /// Segments retransmitted over the whole run, scaled from `sampled` to `sockets`.
    counter retransmitted_segments: u64 => rules::sum;
    /// Retransmission timeouts over the whole run, scaled likewise; null if the kernel does not
    /// report them (before Linux 6.7).
    counter retransmission_timeouts: Option<u64> => rules::own;
    /// Least round trip of each of the last sockets that were read, in nanoseconds.
    measured rtts_min_ns: Vec<u64> => rules::append;
    /// Median over `sampled` of the least round trip of each socket (`tcpi_min_rtt`), in
    /// nanoseconds: the path without its queues; null if no socket had one.
    stored rtt_min_ns: Option<u64>;
    /// Median round trip of handshakes inside the window, in nanoseconds: the path with the queues
    /// of this load; null if none was made.
    stored rtt_loaded_ns: Option<u64>;
    /// Handshakes made for `rtt_loaded_ns`; absent if there are none.
    stored handshakes: u64, #[serde(default, skip_serializing_if = "is_default")];
}

impl TcpUsage {
    /// Adds another worker's. Timeouts are unknown if one of them could have had some and does not
    /// know.
    pub(crate) fn add(&mut self, other: &TcpUsage) {
        self.retransmission_timeouts = match (self.sampled, other.sampled) {
            (_, 0) => self.retransmission_timeouts,
            (0, _) => other.retransmission_timeouts,
            _ => {
                let both = self.retransmission_timeouts.zip(other.retransmission_timeouts);
                both.map(|(mine, theirs)| mine + theirs)
            }
        };
        self.merge(other);
    }

    /// Returns the median of the least round trips.
    pub(crate) fn rtt_min_ns(&self) -> Option<u64> {
        let mut sorted = self.rtts_min_ns.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied()
    }
}
