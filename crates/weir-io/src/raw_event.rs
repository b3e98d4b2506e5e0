//! Internal form of an event, as the backends store it until it is returned.

use crate::backend::{Event, EventKind};

/// Location of received bytes in a backend's buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Filled {
    pub(crate) buffer: u16,
    /// Offset of the bytes in the buffer.
    pub(crate) start: u32,
    pub(crate) len: u32,
}

pub(crate) type RawEvent = Event<Filled>;

pub(crate) type RawEventKind = EventKind<Filled>;
