//! Internal form of an event, as the backends store it until it is returned.

use std::io;

use crate::{ConnId, Event, EventKind, Nanos};

/// Location of received bytes in a backend's buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Filled {
    pub(crate) buffer: u16,
    /// Offset of the bytes in the buffer.
    pub(crate) start: u32,
    pub(crate) len: u32,
}

/// An event.
pub(crate) struct RawEvent {
    pub(crate) conn: u32,
    pub(crate) generation: u16,
    pub(crate) at: Nanos,
    pub(crate) what: RawEventKind,
}

pub(crate) enum RawEventKind {
    Connected,
    Accepted,
    /// Bytes, and the time at which the kernel received the last of them.
    Received(Filled, Option<Nanos>),
    Discarded(u64),
    Transmitted(Nanos),
    Closed,
    Failed(io::Error),
}

impl RawEvent {
    /// Converts to the public event; `find` resolves the location of the bytes.
    #[inline]
    pub(crate) fn into_event<'a>(self, find: impl FnOnce(Filled) -> &'a mut [u8]) -> Event<'a> {
        let kind = match self.what {
            RawEventKind::Connected => EventKind::Connected,
            RawEventKind::Accepted => EventKind::Accepted,
            RawEventKind::Received(filled, rx_at) => {
                EventKind::Received { bytes: find(filled), rx_at }
            }
            RawEventKind::Discarded(bytes) => EventKind::Discarded(bytes),
            RawEventKind::Transmitted(tx_at) => EventKind::Transmitted { tx_at },
            RawEventKind::Closed => EventKind::Closed,
            RawEventKind::Failed(error) => EventKind::Failed(error),
        };
        Event { conn: ConnId(self.conn), generation: self.generation, at: self.at, kind }
    }
}
