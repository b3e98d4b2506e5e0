//! The network between client and server: delays in order, and segments of any size.

use weir_io::Nanos;

use crate::law::Law;
use crate::random::{Random, Seed};

/// The network. Each connection is a stream: bytes never overtake each other.
#[derive(Clone, Copy, Debug)]
pub struct Network {
    /// Time from `connect` to its success or refusal.
    pub connect: Law,
    /// Delay from client to server, for each segment.
    pub up: Law,
    /// Delay from server to client, for each segment.
    pub down: Law,
    /// Longest segment in bytes; each segment has its own delay.
    pub segment_bytes: usize,
    /// Splitting of arrived bytes on their way to the client.
    pub split: Split,
}

impl Default for Network {
    fn default() -> Network {
        Network {
            connect: Law::ZERO,
            up: Law::ZERO,
            down: Law::ZERO,
            segment_bytes: usize::MAX,
            split: Split::Whole,
        }
    }
}

/// The splitting of arrived bytes into the pieces that the client receives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Split {
    /// No splitting: all arrived bytes are delivered at once, responses together.
    #[default]
    Whole,
    /// At random positions; now and then the rest is left for the next `wait`.
    Random,
    /// After every byte, within one `wait`.
    EveryByte,
}

/// The running network.
#[derive(Debug)]
pub(crate) struct Wire {
    pub(crate) network: Network,
    random: Random,
}

/// Arrival times of the last segment in each direction, so that a later one is not earlier.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinkTimes {
    up_at: Nanos,
    down_at: Nanos,
}

impl Wire {
    pub(crate) fn new(network: Network, seed: Seed) -> Wire {
        assert!(network.segment_bytes > 0, "a segment holds at least one byte");
        Wire { network, random: Random::new(seed, 1) }
    }

    /// Returns the time at which a `connect` at `now` completes.
    pub(crate) fn connected_at(&mut self, now: Nanos) -> Nanos {
        now.after(self.network.connect.draw(&mut self.random))
    }

    /// Returns the time at which a segment sent by the client at `now` reaches the server.
    pub(crate) fn up_at(&mut self, link: &mut LinkTimes, now: Nanos) -> Nanos {
        let at = now.after(self.network.up.draw(&mut self.random));
        link.up_at = link.up_at.max(at);
        link.up_at
    }

    /// Returns the time at which a segment sent by the server at `now` reaches the client.
    pub(crate) fn down_at(&mut self, link: &mut LinkTimes, now: Nanos) -> Nanos {
        let at = now.after(self.network.down.draw(&mut self.random));
        link.down_at = link.down_at.max(at);
        link.down_at
    }
}
