//! What lies between client and server: delays in order, and pieces of any size.

use weir_io::Nanos;

use crate::law::Law;
use crate::random::{Random, Seed};

/// The network. Each connection is a stream: bytes never overtake each other.
#[derive(Clone, Copy, Debug)]
pub struct Network {
    /// From `connect` to the answer that it succeeded or was refused.
    pub connect: Law,
    /// One way, client to server, for each piece sent.
    pub up: Law,
    /// One way, server to client, for each piece sent.
    pub down: Law,
    /// Longest piece that travels as one; each piece has its own delay.
    pub segment_bytes: usize,
    /// How arrived bytes are cut when they are lent to the client.
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

/// How arrived bytes are cut when they are lent to the client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Split {
    /// Not at all: all that has arrived is lent at once, answers together.
    #[default]
    Whole,
    /// At random places; now and then the rest is left for the next harvest.
    Random,
    /// At every byte, within one harvest.
    EveryByte,
}

/// The network at work.
#[derive(Debug)]
pub(crate) struct Wire {
    pub(crate) network: Network,
    random: Random,
}

/// When the last piece of each direction arrives, so that a later one is not earlier.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Link {
    up_at: Nanos,
    down_at: Nanos,
}

impl Wire {
    pub(crate) fn new(network: Network, seed: Seed) -> Wire {
        assert!(network.segment_bytes > 0, "a segment holds at least one byte");
        Wire { network, random: Random::new(seed, 1) }
    }

    /// When `connect`, called now, is answered.
    pub(crate) fn connected_at(&mut self, now: Nanos) -> Nanos {
        now.after(self.network.connect.draw(&mut self.random))
    }

    /// When what leaves the client now reaches the server.
    pub(crate) fn up_at(&mut self, link: &mut Link, now: Nanos) -> Nanos {
        let at = now.after(self.network.up.draw(&mut self.random));
        link.up_at = link.up_at.max(at);
        link.up_at
    }

    /// When what leaves the server now reaches the client.
    pub(crate) fn down_at(&mut self, link: &mut Link, now: Nanos) -> Nanos {
        let at = now.after(self.network.down.draw(&mut self.random));
        link.down_at = link.down_at.max(at);
        link.down_at
    }
}
