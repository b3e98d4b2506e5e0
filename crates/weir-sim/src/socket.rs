//! One socket of the client: the events that have arrived for it and were not yet delivered.

use std::collections::VecDeque;
use std::io;

use weir_io::{ConnId, EventKind, Nanos, SocketOptions, StampRequest};

use crate::network::{LinkTimes, Split};
use crate::random::Random;
use crate::world::{Discards, World};

/// One socket of the client.
#[derive(Debug, Default)]
pub(crate) struct Socket {
    pub(crate) conn: ConnId,
    pub(crate) generation: u16,
    pub(crate) options: SocketOptions,
    pub(crate) state: State,
    /// Events that have arrived and were not yet delivered, in order.
    pub(crate) pending: VecDeque<Pending>,
    /// True if the socket is in a queue of sockets with events pending.
    pub(crate) is_queued: bool,
    /// Bytes that the next submit sends.
    pub(crate) outgoing: Vec<u8>,
    /// Bytes that may still be discarded.
    pub(crate) discard_bytes: u64,
    /// True if the system provided a descriptor.
    pub(crate) has_descriptor: bool,
    pub(crate) link: LinkTimes,
    /// Sends until the next stamped one, on a connection that requests a sample.
    until_stamped: u32,
    /// Bytes of its failed sends.
    pub(crate) unsent_bytes: u64,
}

/// The state of a socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum State {
    /// Its connect has neither succeeded nor failed, or that was not yet delivered.
    #[default]
    Connecting,
    /// The socket can send.
    Open,
    /// The socket is closed or failed.
    Closed,
}

/// An event that arrived.
#[derive(Debug)]
pub(crate) enum Pending {
    Connected,
    Bytes {
        at: Nanos,
        bytes: Vec<u8>,
        used: usize,
    },
    End,
    Failed(i32),
    /// Delivered only ahead of bytes; wakes no thread.
    Transmitted(Nanos),
}

impl Socket {
    pub(crate) fn new(conn: ConnId, generation: u16, options: SocketOptions) -> Socket {
        Socket { conn, generation, options, has_descriptor: true, ..Socket::default() }
    }

    /// Counts a send; returns true if it is stamped.
    pub(crate) fn stamps_send(&mut self) -> bool {
        match self.options.stamps {
            StampRequest::None => false,
            StampRequest::All => true,
            StampRequest::Sample => {
                let is_first = self.until_stamped == 0;
                let until = if is_first { StampRequest::SAMPLE } else { self.until_stamped };
                self.until_stamped = until - 1;
                is_first
            }
        }
    }

    /// Ends the socket and drops its events and bytes.
    pub(crate) fn end(&mut self) {
        self.state = State::Closed;
        self.pending = VecDeque::new();
        self.outgoing = Vec::new();
    }

    /// True if there is an event for the client.
    pub(crate) fn is_ready(&self) -> bool {
        self.pending.iter().any(|pending| !matches!(pending, Pending::Transmitted(_)))
    }

    /// Removes and returns the next event; its bytes go to `event_bytes`.
    pub(crate) fn take(
        &mut self,
        world: &World,
        random: &mut Random,
        event_bytes: &mut Vec<u8>,
    ) -> Option<EventKind<()>> {
        let is_transmitted = |pending: &&Pending| matches!(pending, Pending::Transmitted(_));
        let transmitted = self.pending.iter().take_while(is_transmitted).count();
        match self.pending.get(transmitted)? {
            Pending::Bytes { .. } if transmitted == 0 => {
                return Some(self.take_bytes(world, random, event_bytes));
            }
            Pending::Bytes { .. } => {}
            // No response follows that the stamp could precede.
            _ => drop(self.pending.drain(..transmitted)),
        }
        Some(match self.pending.pop_front()? {
            Pending::Connected => {
                self.state = State::Open;
                EventKind::Connected
            }
            Pending::End => EventKind::Closed,
            Pending::Failed(errno) => {
                self.end();
                EventKind::Failed(io::Error::from_raw_os_error(errno))
            }
            Pending::Transmitted(tx_at) => EventKind::Transmitted { tx_at },
            Pending::Bytes { .. } => unreachable!("bytes are taken above"),
        })
    }

    fn take_bytes(
        &mut self,
        world: &World,
        random: &mut Random,
        event_bytes: &mut Vec<u8>,
    ) -> EventKind<()> {
        let split = world.network.split;
        let available: usize = self
            .pending
            .iter()
            .take(if split == Split::EveryByte { 1 } else { usize::MAX })
            .map_while(|pending| match pending {
                Pending::Bytes { bytes, used, .. } => Some(bytes.len() - used),
                _ => None,
            })
            .sum();
        let any = |random: &mut Random, most: usize| {
            usize::try_from(random.between(1, most as u64)).expect("at most what is available")
        };
        let permitted = usize::try_from(self.discard_bytes).unwrap_or(usize::MAX).min(available);
        let discards = match world.client.discards {
            _ if permitted == 0 => false,
            Discards::Always => true,
            Discards::Never => false,
            Discards::Random => random.chance(0.5),
        };
        let most = if discards { permitted } else { available.min(world.client.read_bytes) };
        let bytes = match split {
            Split::Whole => most,
            Split::Random => any(random, most),
            Split::EveryByte => 1,
        };
        event_bytes.clear();
        let at = self.move_bytes(bytes, event_bytes);
        self.discard_bytes = self.discard_bytes.saturating_sub(bytes as u64);
        if discards {
            return EventKind::Discarded(bytes as u64);
        }
        let is_stamped = self.options.stamps != StampRequest::None;
        EventKind::Received { bytes: (), rx_at: is_stamped.then_some(at) }
    }

    /// Moves `bytes` arrived bytes to `event_bytes`; returns the arrival time of the last of them.
    fn move_bytes(&mut self, bytes: usize, event_bytes: &mut Vec<u8>) -> Nanos {
        let mut last_at = Nanos::ZERO;
        while event_bytes.len() < bytes {
            let Some(Pending::Bytes { at, bytes: arrived, used }) = self.pending.front_mut() else {
                unreachable!("so many bytes are pending");
            };
            let taken = (bytes - event_bytes.len()).min(arrived.len() - *used);
            event_bytes.extend_from_slice(&arrived[*used..*used + taken]);
            *used += taken;
            last_at = *at;
            if *used == arrived.len() {
                self.pending.pop_front();
            }
        }
        last_at
    }
}
