//! What the ring's backend knows of one connection.

use std::os::fd::OwnedFd;

use crate::outgoing::Queue;
use crate::stamps::Stamps;

/// No entry of the table of slow sends.
pub(super) const NONE: u32 = u32::MAX;

/// One connection. The size of this is what a hundred thousand of them cost.
pub(super) struct Conn {
    pub(super) fd: Option<OwnedFd>,
    pub(super) generation: u16,
    pub(super) state: State,
    /// `errno` of a failed send, to be reported once everything received has been lent.
    pub(super) send_error: i32,
    pub(super) unsent: Queue,
    /// How many bytes of the stream nobody wants to see.
    pub(super) discard: u64,
    /// Its entry in the table of slow sends, or [`NONE`].
    pub(super) slow: u32,
    /// How the send of the submission under way stalled: bytes sent, or `-errno`. Zero: it did not.
    pub(super) stall: i32,
    /// Of a stamped connection.
    pub(super) stamps: Option<Box<Stamps>>,
    pub(super) is_tcp: bool,
    /// Its number was taken from `numbers`, and goes back there when it closes.
    pub(super) numbered: bool,
    /// Is to discard large bodies.
    pub(super) discards: bool,
    /// Stands in `notes.sends`.
    pub(super) dirty: bool,
    /// Stands in `notes.receives`.
    pub(super) unarmed: bool,
    /// The kind of receive that the kernel works on.
    pub(super) armed: Option<u8>,
    /// `Closed` has been lent.
    pub(super) ended: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Closed,
    /// Its `Failed` waits in `arrived`; there is no socket any more.
    Failing,
    Connecting,
    Open,
}

impl Conn {
    pub(super) fn new() -> Conn {
        Conn {
            fd: None,
            // One before the first.
            generation: u16::MAX,
            state: State::Closed,
            send_error: 0,
            unsent: Queue::EMPTY,
            discard: 0,
            slow: NONE,
            stall: 0,
            stamps: None,
            is_tcp: false,
            numbered: false,
            discards: false,
            dirty: false,
            unarmed: false,
            armed: None,
            ended: false,
        }
    }
}
