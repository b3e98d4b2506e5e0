//! Sockets of the epoll backend that are closed once their bytes are sent.

use std::os::fd::OwnedFd;

use crate::outgoing::Queue;

/// A socket closed by its owner with bytes still unsent, which are sent first.
pub(super) struct LingeringClose {
    pub(super) fd: OwnedFd,
    pub(super) unsent: Queue,
}
