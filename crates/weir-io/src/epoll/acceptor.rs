//! A listener of the epoll backend. Independent of connections.

use std::io;
use std::os::fd::AsRawFd;

use super::poller::Poller;
use crate::listener::Listener;
use crate::socket;

/// A listener, and a flag for connections in its backlog.
pub(super) struct Acceptor {
    pub(super) listener: Listener,
    pub(super) has_waiting: bool,
    /// True if no descriptor was left: wait until `retry_at`.
    pub(super) paused: bool,
}

impl Acceptor {
    /// Watches a listener, whose reports carry `word`.
    pub(super) fn new(listener: Listener, poller: &Poller, word: u64) -> io::Result<Acceptor> {
        socket::set_nonblocking(&listener.fd, true)?;
        // Edge-triggered: level-triggered events would repeat endlessly while nothing can be
        // accepted.
        poller.watch(listener.as_raw_fd(), libc::EPOLLIN | libc::EPOLLET, word)?;
        Ok(Acceptor { listener, has_waiting: false, paused: false })
    }
}
