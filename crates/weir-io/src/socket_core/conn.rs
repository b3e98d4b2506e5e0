//! State of one connection that all engines need.

use std::io;
use std::os::fd::OwnedFd;

use crate::backend::Close;
use crate::outgoing::Queue;
use crate::slab::NONE;
use crate::socket;

/// One connection. Its size dominates the memory of a hundred thousand of them.
#[derive(Default)]
pub(crate) struct Conn<C> {
    /// Socket; if the connection is closed, its last socket, if that can connect again.
    pub(crate) fd: Option<OwnedFd>,
    pub(crate) generation: u16,
    pub(crate) state: ConnState,
    /// `errno` of a failed send, reported once everything received has been returned. All values on
    /// Linux fit.
    pub(crate) send_error: u8,
    pub(crate) unsent: Queue,
    /// Bytes of the stream that the backend may still discard.
    pub(crate) discard: u32,
    /// Entry in the table of time stamps if the connection is stamped, otherwise [`NONE`].
    pub(crate) stamps: u32,
    /// Address family of a socket that can connect again after closing; otherwise 0.
    pub(crate) family: u8,
    /// True if the number was taken from `numbers`; it is returned there on close.
    pub(crate) numbered: bool,
    /// True if large bodies are discarded.
    pub(crate) discards: bool,
    /// True if the connection is in `to_send`.
    pub(crate) dirty: bool,
    /// True if the end of the stream or a failure was reported: receive until it is seen.
    pub(crate) drains: bool,
    /// True if `Closed` has been reported.
    pub(crate) ended: bool,
    /// State that only one engine has. Types without alignment leave no gap here.
    pub(crate) own: C,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ConnState {
    #[default]
    Closed,
    /// The failure is queued in `failures`; there is no socket any more.
    Failing,
    Connecting,
    Open,
}

impl<C: Default> Conn<C> {
    /// Creates a connection that has never been open.
    pub(super) fn new() -> Conn<C> {
        // The generation is one before the first.
        Conn { generation: u16::MAX, stamps: NONE, ..Conn::default() }
    }
}

impl<C> Conn<C> {
    /// True if there is a socket that its owner may use.
    #[inline]
    pub(crate) fn is_live(&self) -> bool {
        matches!(self.state, ConnState::Connecting | ConnState::Open)
    }

    /// True if a graceful close has to send bytes first.
    pub(crate) fn has_unsent(&self) -> bool {
        self.state == ConnState::Open && !self.unsent.is_empty()
    }

    /// Returns the error of a failed send.
    pub(crate) fn send_failure(&self) -> Option<io::Error> {
        (self.send_error != 0).then(|| io::Error::from_raw_os_error(self.send_error.into()))
    }

    /// Ends the connection on its socket, and takes out the socket if it can connect again. A new
    /// socket would cost a tenth more per connection.
    pub(super) fn spend(&mut self, how: Close) -> Option<OwnedFd> {
        if self.family == 0 || self.state != ConnState::Open {
            return None;
        }
        self.fd.take_if(|fd| match how {
            Close::Reset => socket::disconnect(fd).is_ok(),
            Close::Graceful if !self.unsent.is_empty() => false,
            Close::Graceful => self.ended && socket::end_for_another(fd).is_ok(),
        })
    }
}
