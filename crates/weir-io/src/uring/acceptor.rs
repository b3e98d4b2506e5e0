//! A listener of the io_uring backend. Independent of connections.

use std::io;
use std::os::fd::AsRawFd;

use io_uring::{opcode, types};

use super::kind;
use super::ring::Ring;
use crate::listener::Listener;
use crate::socket;
use crate::token::Token;

/// A listener.
pub(super) struct UringAcceptor {
    pub(super) listener: Listener,
    /// True if the kernel is accepting on it.
    pub(super) armed: bool,
    /// True if no descriptor was left: wait until `retry_at`.
    pub(super) paused: bool,
}

impl UringAcceptor {
    pub(super) fn new(listener: Listener) -> io::Result<UringAcceptor> {
        socket::set_nonblocking(&listener.fd, false)?;
        Ok(UringAcceptor { listener, armed: false, paused: false })
    }

    /// Makes the kernel accept on it, as number `at` of the listeners, unless it does or must not.
    pub(super) fn arm(&mut self, at: u32, ring: &mut Ring) -> io::Result<()> {
        if self.armed || self.paused {
            return Ok(());
        }
        self.armed = true;
        let target = types::Fd(self.listener.as_raw_fd());
        let entry = opcode::AcceptMulti::new(target).flags(libc::SOCK_CLOEXEC).build();
        let word = Token::pack(kind::ACCEPTOR, 0, at);
        // SAFETY: the entry points to nothing, as no address is requested.
        unsafe { ring.push(&entry.user_data(word)) }
    }
}
