//! What the desk wants done: values only.

use weir_io::{ConnId, Nanos};

use crate::answer::Answer;
use crate::fault::FaultKind;

/// Something to do to a connection now.
#[derive(Clone, Debug)]
pub(crate) enum Deed {
    /// Send the plain answer this many times.
    Plain { conn: ConnId, copies: u32 },
    /// Give an answer that was decided earlier.
    Give(Due),
    /// Close in order.
    Close { conn: ConnId },
}

/// A decided answer with its connection.
#[derive(Clone, Debug)]
pub(crate) struct Due {
    pub(crate) conn: ConnId,
    /// Which life of the connection it belongs to.
    pub(crate) life: u32,
    /// It went through the waiting line.
    pub(crate) was_queued: bool,
    pub(crate) answer: Answer,
    pub(crate) fault: Option<FaultKind>,
    pub(crate) pieces: u32,
    pub(crate) piece: u32,
    /// When piece 0 was due; the others count from here.
    pub(crate) first_due_at: Nanos,
    /// Its place among answers due at the same instant.
    pub(crate) turn: u64,
}
