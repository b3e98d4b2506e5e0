//! Openings of connections: sockets to connect with, retries, and admission of accepted sockets.

use std::io;
use std::os::fd::OwnedFd;

use super::{Conn, ConnState, SocketCore};
use crate::backend::ConnId;
use crate::endpoint::Endpoint;
use crate::limits::RETRY_NS;
use crate::raw_event::{RawEvent, RawEventKind};
use crate::slab::NONE;
use crate::socket::{self, SockAddr};
use crate::socket_options::SocketOptions;
use crate::stamps::Stamps;
use crate::time::Nanos;

impl<C: Default> SocketCore<C> {
    /// True if a connection is not closed: it has a socket, or a failure to report.
    #[inline]
    pub(crate) fn is_in_use(&self, conn: ConnId) -> bool {
        self.conns.get(conn.index()).is_some_and(|conn| conn.state != ConnState::Closed)
    }

    /// Begins another generation of a connection that is new or closed. Returns its last socket, if
    /// that can connect to `to`.
    pub(crate) fn begin(
        &mut self,
        index: u32,
        to: &Endpoint,
        options: SocketOptions,
    ) -> Option<OwnedFd> {
        let family = socket::lasting_family(to, options);
        let spent = self.take_spent(index, family);
        let is_tcp = matches!(to, Endpoint::Tcp(_));
        let stamps = Stamps::new(options.stamps).filter(|_| is_tcp);
        let stamps = stamps.map_or(NONE, |stamps| self.stamps.states.insert(stamps));
        let conn = self.renew(index);
        conn.family = family;
        conn.stamps = stamps;
        // Discarded bytes have no time stamp.
        conn.discards = options.discard && is_tcp && stamps == NONE;
        conn.state = ConnState::Connecting;
        spent
    }

    /// Returns the last socket of a closed connection, if it can connect to that address family.
    fn take_spent(&mut self, index: u32, family: u8) -> Option<OwnedFd> {
        let conn = self.conns.get_mut(index as usize)?;
        let fits = conn.family == family;
        conn.fd.take().filter(|_| fits)
    }

    /// Starts another generation of a connection that is new or closed.
    fn renew(&mut self, index: u32) -> &mut Conn<C> {
        if self.conns.len() <= index as usize {
            self.conns.resize_with(index as usize + 1, Conn::new);
        }
        let conn = &mut self.conns[index as usize];
        debug_assert_eq!(conn.state, ConnState::Closed, "connection in use");
        self.stamps.states.remove(conn.stamps);
        *conn = Conn {
            generation: conn.generation.wrapping_add(1),
            // An entry in `to_send` stays valid for the new socket.
            dirty: conn.dirty,
            ..Conn::new()
        };
        conn
    }

    /// Records a failure that the kernel does not report again, for the next batch.
    pub(crate) fn fail_later(&mut self, index: u32, error: io::Error) {
        let generation = self.conns[index as usize].generation;
        self.failures.push_back((index, generation, error));
    }

    /// Records a connect that failed at once.
    pub(crate) fn never_begun(&mut self, index: u32, error: io::Error) {
        let conn = &mut self.conns[index as usize];
        self.outgoing.clear(&mut conn.unsent);
        conn.fd = None;
        conn.state = ConnState::Failing;
        self.fail_later(index, error);
    }

    /// Takes the next recorded failure of a socket that is still in use.
    pub(crate) fn take_failure(&mut self) -> Option<(u32, io::Error)> {
        while let Some((index, generation, error)) = self.failures.pop_front() {
            let conn = &self.conns[index as usize];
            if conn.generation == generation && conn.state != ConnState::Closed {
                return Some((index, error));
            }
        }
        None
    }

    /// Opens a connection whose connect succeeded, and returns the event.
    pub(crate) fn connected(&mut self, index: u32, at: Nanos) -> RawEvent {
        let conn = &mut self.conns[index as usize];
        conn.state = ConnState::Open;
        let is_stamped = conn.stamps != NONE;
        let has_unsent = !conn.unsent.is_empty();
        if is_stamped {
            self.begin_stamps(index);
        }
        if has_unsent {
            self.send_later(index);
        }
        self.raw_event(index, RawEventKind::Connected, at)
    }

    /// Records a connect that found the listener's backlog full.
    pub(crate) fn connect_later(&mut self, index: u32, address: &SockAddr) {
        self.retries.busy.push((index, self.conns[index as usize].generation, *address));
        self.retry_later();
    }

    /// Schedules a retry of operations whose readiness the kernel does not report.
    fn retry_later(&mut self) {
        self.retries.at = self.retries.at.min(self.clock.now().after(RETRY_NS));
    }

    /// Begins the retry that was due at `retry_at`, and returns the connects to repeat.
    pub(crate) fn take_busy(&mut self) -> Vec<(u32, SockAddr)> {
        self.retries.at = Nanos::MAX;
        let busy = std::mem::take(&mut self.retries.busy).into_iter();
        busy.filter(|(index, generation, _)| self.is_connecting(*index, *generation))
            .map(|(index, _, address)| (index, address))
            .collect()
    }

    /// True if the socket of this generation is connecting.
    pub(crate) fn is_connecting(&self, index: u32, generation: u16) -> bool {
        let conn = &self.conns[index as usize];
        conn.generation == generation && conn.state == ConnState::Connecting
    }

    /// Takes the number of a connection to accept.
    pub(crate) fn take_number(&mut self) -> Option<u32> {
        loop {
            let number = self.numbers.take()?;
            match self.conns.get_mut(number as usize) {
                // The caller has connected under this number; it becomes free once that connection
                // is closed.
                Some(conn) if conn.state != ConnState::Closed => conn.numbered = true,
                _ => return Some(number),
            }
        }
    }

    /// Opens an accepted connection under a number obtained from `take_number`.
    pub(crate) fn admit(&mut self, index: u32, fd: OwnedFd, is_tcp: bool) -> &mut Conn<C> {
        if is_tcp {
            // Failure means that the peer has already closed, and Nagle's algorithm no longer
            // matters.
            let _closed = socket::set_nodelay(&fd);
        }
        let conn = self.renew(index);
        conn.fd = Some(fd);
        conn.state = ConnState::Open;
        conn.numbered = true;
        conn
    }

    /// Handles a failed accept. Returns true if its listener must pause until `retry_at`.
    pub(crate) fn accept_failed(&mut self, error: &io::Error) -> bool {
        // The peer closed this connection before it was accepted (accept(2)), or the accept was
        // cancelled because no number was free.
        let passing = [libc::ECONNABORTED, libc::EINTR, libc::EPROTO, libc::ECANCELED];
        let is_passing = error.raw_os_error().is_some_and(|errno| passing.contains(&errno));
        if !is_passing {
            // No descriptor or no memory is left: without a pause this would spin.
            self.retry_later();
        }
        !is_passing
    }
}
