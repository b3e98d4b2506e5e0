//! Internal form of an event, as the backends store it until it is returned.

use std::io;

use crate::{ConnId, Event, EventKind, Nanos};

/// An event; `B` locates its bytes.
pub(crate) struct RawEvent<B> {
    pub(crate) conn: u32,
    pub(crate) generation: u16,
    pub(crate) at: Nanos,
    pub(crate) what: RawEventKind<B>,
}

pub(crate) enum RawEventKind<B> {
    Connected,
    Accepted,
    /// Bytes, and the time at which the kernel received the last of them.
    Received(B, Option<Nanos>),
    Discarded(u64),
    Transmitted(Nanos),
    Closed,
    Failed(io::Error),
}

impl<B> RawEvent<B> {
    /// Converts to the public event; `find` resolves the location of the bytes.
    #[inline]
    pub(crate) fn lend<'a>(self, find: impl FnOnce(B) -> &'a mut [u8]) -> Event<'a> {
        let kind = match self.what {
            RawEventKind::Connected => EventKind::Connected,
            RawEventKind::Accepted => EventKind::Accepted,
            RawEventKind::Received(bytes, rx_at) => {
                EventKind::Received { bytes: find(bytes), rx_at }
            }
            RawEventKind::Discarded(bytes) => EventKind::Discarded(bytes),
            RawEventKind::Transmitted(tx_at) => EventKind::Transmitted { tx_at },
            RawEventKind::Closed => EventKind::Closed,
            RawEventKind::Failed(error) => EventKind::Failed(error),
        };
        Event { conn: ConnId(self.conn), generation: self.generation, at: self.at, kind }
    }
}
