//! An event as the backends of the real machine keep it until it is lent.

use std::io;

use crate::{ConnId, Event, EventKind, Nanos};

/// An event; `B` says where its bytes lie.
pub(crate) struct Happened<B> {
    pub(crate) conn: u32,
    pub(crate) generation: u16,
    pub(crate) at: Nanos,
    pub(crate) what: What<B>,
}

pub(crate) enum What<B> {
    Connected,
    Accepted,
    Received(B),
    Discarded(u64),
    Closed,
    Failed(io::Error),
}

impl<B> Happened<B> {
    /// The event, with the bytes that `find` finds.
    #[inline]
    pub(crate) fn lend<'a>(self, find: impl FnOnce(B) -> &'a mut [u8]) -> Event<'a> {
        let kind = match self.what {
            What::Connected => EventKind::Connected,
            What::Accepted => EventKind::Accepted,
            // A later piece of work fills `rx_at` in, by recvmsg with SO_TIMESTAMPNS.
            What::Received(bytes) => EventKind::Received { bytes: find(bytes), rx_at: None },
            What::Discarded(bytes) => EventKind::Discarded(bytes),
            What::Closed => EventKind::Closed,
            What::Failed(error) => EventKind::Failed(error),
        };
        Event { conn: ConnId(self.conn), generation: self.generation, at: self.at, kind }
    }
}
