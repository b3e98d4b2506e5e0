//! The network as the kernel saw it on this run's own TCP sockets: round trips and retransmitted
//! segments (METHOD 1.9). Other sockets of the machine are not part of it.

use super::NetworkSection;
use crate::counters::TcpUsage;
use crate::evidence::RoundTrips;
use crate::rules::Merge;

impl NetworkSection {
    /// Makes the section from the load's sockets and the handshakes beside it; `None` if there was
    /// no TCP.
    pub fn of(tcp: &TcpUsage, round_trips: RoundTrips) -> Option<NetworkSection> {
        if tcp.sampled == 0 && round_trips.connects == 0 {
            return None;
        }
        Some(NetworkSection {
            rtt_min_ns: tcp.rtt_min_ns(),
            rtt_loaded_ns: round_trips.rtt_ns,
            handshakes: round_trips.connects,
            ..NetworkSection::from(tcp)
        })
    }

    /// Round trip to compare service times with: the greater of both.
    pub fn round_trip_ns(&self) -> Option<u64> {
        self.rtt_min_ns.max(self.rtt_loaded_ns)
    }

    /// Adds another part: counts add up, and the longer round trips remain.
    pub(super) fn add(&mut self, other: &NetworkSection) {
        let mut tcp = TcpUsage::from(&*self);
        tcp.merge(&TcpUsage::from(other));
        let timeouts = self.retransmission_timeouts.zip(other.retransmission_timeouts);
        *self = NetworkSection {
            retransmission_timeouts: timeouts.map(|(mine, theirs)| mine + theirs),
            rtt_min_ns: self.rtt_min_ns.max(other.rtt_min_ns),
            rtt_loaded_ns: self.rtt_loaded_ns.max(other.rtt_loaded_ns),
            handshakes: self.handshakes + other.handshakes,
            ..NetworkSection::from(&tcp)
        };
    }
}
