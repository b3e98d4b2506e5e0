//! State of one connection in the io_uring backend.

use std::os::fd::OwnedFd;

use crate::outgoing::Queue;

/// Null index in the table of slow sends or of time stamps.
pub(super) const NONE: u32 = u32::MAX;

/// Value of `armed` if the kernel has no pending request that reports received bytes.
pub(super) const NOTHING: u8 = u8::MAX;

/// One connection. Its size dominates the memory of a hundred thousand of them.
pub(super) struct Conn {
    /// Socket; if the connection is closed, its last socket, if that can connect again.
    pub(super) fd: Option<OwnedFd>,
    pub(super) generation: u16,
    pub(super) state: State,
    /// `errno` of a failed send, reported once everything received has been returned. All values on
    /// Linux fit.
    pub(super) send_error: u8,
    pub(super) unsent: Queue,
    /// Bytes of the stream that the backend may still discard.
    pub(super) discard: u32,
    /// Entry in the table of slow sends, or [`NONE`].
    pub(super) slow: u32,
    /// Entry in the table of time stamps if the connection is stamped, otherwise [`NONE`].
    pub(super) stamps: u32,
    /// Address family of a socket that can connect again after closing; otherwise 0.
    pub(super) family: u8,
    /// True if the number was taken from `numbers`; it is returned there on close.
    pub(super) numbered: bool,
    /// True if large bodies are discarded.
    pub(super) discards: bool,
    /// True if the connection is in `notes.sends`.
    pub(super) dirty: bool,
    /// True if the connection is in `notes.receives`.
    pub(super) unarmed: bool,
    /// Pending request that reports received bytes: a kind of token, or [`NOTHING`].
    pub(super) armed: u8,
    /// True if the end was reported by a poll: read until the end is seen.
    pub(super) drains: bool,
    /// True if `Closed` has been reported.
    pub(super) ended: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Closed,
    /// `Failed` is queued in `arrived`; there is no socket any more.
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

    /// True if there is a socket that its owner may use.
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
