//! What the ring's backend knows of one connection.

use std::os::fd::OwnedFd;

use crate::outgoing::Queue;

/// No entry of the table of slow sends, or of that of stamps.
pub(super) const NONE: u32 = u32::MAX;

/// The kernel works on nothing that would tell of received bytes.
pub(super) const NOTHING: u8 = u8::MAX;

/// One connection. The size of this is what a hundred thousand of them cost.
pub(super) struct Conn {
    /// Of a closed connection: its last socket, if that can connect again.
    pub(super) fd: Option<OwnedFd>,
    pub(super) generation: u16,
    pub(super) state: State,
    /// `errno` of a failed send, to be reported once everything received has been lent. Linux has
    /// none that needs more.
    pub(super) send_error: u8,
    pub(super) unsent: Queue,
    /// How many bytes of the stream nobody wants to see.
    pub(super) discard: u32,
    /// Its entry in the table of slow sends, or [`NONE`].
    pub(super) slow: u32,
    /// Of a stamped connection: its entry in the table of stamps; otherwise [`NONE`].
    pub(super) stamps: u32,
    /// The address family of a socket that may connect again afterwards; otherwise 0.
    pub(super) family: u8,
    /// Its number was taken from `numbers`, and goes back there when it closes.
    pub(super) numbered: bool,
    /// Is to discard large bodies.
    pub(super) discards: bool,
    /// Stands in `notes.sends`.
    pub(super) dirty: bool,
    /// Stands in `notes.receives`.
    pub(super) unarmed: bool,
    /// What the kernel works on that will tell of received bytes: a kind of token, or
    /// [`NOTHING`].
    pub(super) armed: u8,
    /// Where receives are polled for: the end has been announced, so read until it has been seen.
    pub(super) drains: bool,
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
            stamps: NONE,
            family: 0,
            numbered: false,
            discards: false,
            dirty: false,
            unarmed: false,
            armed: NOTHING,
            drains: false,
            ended: false,
        }
    }

    /// It has a socket that is its owner's to use.
    #[inline]
    pub(super) fn is_live(&self) -> bool {
        matches!(self.state, State::Connecting | State::Open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_are_thirty_six_megabytes() {
        assert_eq!(size_of::<Conn>(), 36);
    }
}
