//! The network as the kernel saw it on this run's own TCP sockets: round trips and retransmitted
//! segments (METHOD 1.9). Other sockets of the machine are not part of it.

use serde::{Deserialize, Serialize};

use super::accounting::is_zero;
use crate::evidence::{RoundTrips, TcpUsage};

/// TCP sockets of this run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NetworkSection {
    /// TCP sockets of the load; all of them are closed by the end of the run.
    pub sockets: u64,
    /// Of `sockets`: sockets read before the close (`TCP_INFO`, tcp(7)): the first 1,024 of each
    /// worker, all that failed, and one in 16 of the others.
    pub sampled: u64,
    /// Segments retransmitted over the whole run, scaled from `sampled` to `sockets`.
    pub retransmitted_segments: u64,
    /// Retransmission timeouts over the whole run, scaled likewise; null if the kernel does not
    /// report them (before Linux 6.7).
    pub retransmission_timeouts: Option<u64>,
    /// Median over `sampled` of the least round trip of each socket (`tcpi_min_rtt`), in
    /// nanoseconds: the path without its queues; null if no socket had one.
    pub rtt_min_ns: Option<u64>,
    /// Median round trip of handshakes inside the window, in nanoseconds: the path with the queues
    /// of this load; null if none was made.
    pub rtt_loaded_ns: Option<u64>,
    /// Handshakes made for `rtt_loaded_ns`; absent if there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub handshakes: u64,
}

impl NetworkSection {
    /// Makes the section from the load's sockets and the handshakes beside it; `None` if there was
    /// no TCP.
    pub fn of(tcp: &TcpUsage, round_trips: RoundTrips) -> Option<NetworkSection> {
        if tcp.sampled == 0 && round_trips.connects == 0 {
            return None;
        }
        Some(NetworkSection {
            sockets: tcp.sockets,
            sampled: tcp.sampled,
            retransmitted_segments: tcp.retransmitted_segments,
            retransmission_timeouts: tcp.retransmission_timeouts,
            rtt_min_ns: tcp.rtt_min_ns(),
            rtt_loaded_ns: round_trips.rtt_ns,
            handshakes: round_trips.connects,
        })
    }

    /// Round trip to compare service times with: the greater of both.
    pub fn round_trip_ns(&self) -> Option<u64> {
        self.rtt_min_ns.max(self.rtt_loaded_ns)
    }

    /// Adds another part: counts add up, and the longer round trips remain.
    pub(super) fn add(&mut self, other: &NetworkSection) {
        self.sockets += other.sockets;
        self.sampled += other.sampled;
        self.retransmitted_segments += other.retransmitted_segments;
        let timeouts = self.retransmission_timeouts.zip(other.retransmission_timeouts);
        self.retransmission_timeouts = timeouts.map(|(mine, theirs)| mine + theirs);
        self.rtt_min_ns = self.rtt_min_ns.max(other.rtt_min_ns);
        self.rtt_loaded_ns = self.rtt_loaded_ns.max(other.rtt_loaded_ns);
        self.handshakes += other.handshakes;
    }
}
