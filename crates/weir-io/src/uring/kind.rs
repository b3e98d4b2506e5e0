//! The kinds of [`Token`](crate::token::Token) of the io_uring backend.

/// A receive into a buffer of the pool.
pub(super) const RECV: u8 = 0;
/// A receive that discards.
pub(super) const SKIP: u8 = 1;
pub(super) const CONNECT: u8 = 2;
/// A send that completes within its enter.
pub(super) const SEND: u8 = 3;
/// A send that waits for room; the index is one of the table of slow sends.
pub(super) const SLOW: u8 = 4;
pub(super) const ACCEPTOR: u8 = 5;
pub(super) const WAKER: u8 = 6;
/// A request whose completion is ignored: cancels and closes.
pub(super) const QUIET: u8 = 7;
/// A receive into a buffer of the pool, with a time stamp before the bytes.
pub(super) const STAMPED: u8 = 8;
/// A poll that reports when there are bytes to receive.
pub(super) const POLL: u8 = 9;
pub(super) const ALARM: u8 = 10;
