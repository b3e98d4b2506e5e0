//! Opening of the epoll backend's connections: connects and accepts.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use libc::c_int;

use super::{Conn, Epoll, RawEvent, State, WATCHED, kind};
use crate::limits::RETRY_NS;
use crate::raw_event::RawEventKind;
use crate::socket::{self, Begun, SockAddr};
use crate::stamps::Stamps;
use crate::token::Token;
use crate::{Close, Endpoint, Listener, Nanos, SocketOptions};

/// A listener, and a flag for connections in its backlog.
pub(super) struct Acceptor {
    listener: Listener,
    knocking: bool,
    /// True if no descriptor was left: wait until `retry_at`.
    paused: bool,
}

impl Acceptor {
    pub(super) fn knocked(&mut self) {
        self.knocking = true;
    }
}

impl Epoll {
    pub(super) fn open(&mut self, index: u32, to: &Endpoint, options: SocketOptions) {
        let family = socket::lasting_family(to, options);
        let spent = self.take_spent(index, family);
        let is_watched = spent.is_some();
        let conn = self.renew(index);
        conn.family = family;
        conn.is_tcp = matches!(to, Endpoint::Tcp(_));
        conn.stamps = Stamps::new(options.stamps).filter(|_| conn.is_tcp).map(Box::new);
        // Discarded bytes have no time stamp.
        conn.discards = options.discard && conn.is_tcp && conn.stamps.is_none();
        conn.state = State::Connecting;
        let made = SockAddr::new(to).and_then(|address| {
            if let Some(fd) = spent {
                return Ok((fd, address));
            }
            let fd = socket::open(address.family(), true)?;
            if matches!(to, Endpoint::Tcp(_)) {
                socket::set_nodelay(&fd)?;
                options.source.map_or(Ok(()), |source| socket::bind_source(&fd, source))?;
            }
            Ok((fd, address))
        });
        match made {
            Ok((fd, address)) => {
                self.conns[index as usize].fd = Some(fd);
                self.begin(index, &address, is_watched);
            }
            Err(error) => self.never_begun(index, error),
        }
    }

    /// Returns the last socket of a closed connection, if it can connect to that address family.
    fn take_spent(&mut self, index: u32, family: u8) -> Option<OwnedFd> {
        let conn = self.conns.get_mut(index as usize).filter(|conn| !conn.is_live())?;
        let fits = conn.family == family;
        conn.fd.take().filter(|_| fits)
    }

    /// Connects, or retries a connect that found the listener's backlog full.
    fn begin(&mut self, index: u32, address: &SockAddr, is_watched: bool) {
        let conn = &self.conns[index as usize];
        let Some(fd) = &conn.fd else { return };
        let word = Token::new(kind::CONN, conn.generation, index).pack();
        let begun = socket::connect(fd, address);
        let begun = match begun {
            // Watched only now: an unconnected socket reports a hang-up.
            Ok(Begun::InProgress | Begun::Connected) if is_watched => {
                self.poller.rename(fd.as_raw_fd(), WATCHED, word).and(begun)
            }
            Ok(Begun::InProgress | Begun::Connected) => {
                self.poller.watch(fd.as_raw_fd(), WATCHED, word).and(begun)
            }
            _ => begun,
        };
        match begun {
            // A connected socket becomes writable, which is the same event as the end of a connect.
            Ok(Begun::InProgress | Begun::Connected) => {}
            Ok(Begun::Busy) => {
                self.busy.push((index, conn.generation, *address));
                self.retry_at = self.retry_at.min(self.clock.now().after(RETRY_NS));
            }
            Err(error) => self.never_begun(index, error),
        }
    }

    /// Records a connect that failed at once, which the kernel does not report.
    fn never_begun(&mut self, index: u32, error: io::Error) {
        let conn = &mut self.conns[index as usize];
        self.outgoing.clear(&mut conn.unsent);
        conn.fd = None;
        conn.state = State::Failing;
        self.failed_connects.push_back((index, conn.generation, error));
    }

    pub(super) fn next_failed_connect(&mut self) -> Option<RawEvent> {
        while let Some((index, generation, error)) = self.failed_connects.pop_front() {
            let conn = &self.conns[index as usize];
            if conn.generation == generation && conn.state == State::Failing {
                return Some(self.fail(index, error));
            }
        }
        None
    }

    /// Handles an event of a connect in progress.
    pub(super) fn on_connected(&mut self, index: u32, events: c_int) -> Option<RawEvent> {
        const ENDED: c_int = libc::EPOLLOUT | libc::EPOLLERR | libc::EPOLLHUP;
        let conn = &mut self.conns[index as usize];
        if events & ENDED == 0 {
            return None;
        }
        match socket::take_error(conn.fd.as_ref()?) {
            Ok(()) => {
                conn.drain = events & (libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR) != 0;
                if conn.drain || events & libc::EPOLLIN != 0 {
                    self.read_again(index);
                }
                Some(self.connected(index))
            }
            Err(error) => Some(self.fail(index, error)),
        }
    }

    fn connected(&mut self, index: u32) -> RawEvent {
        let conn = &mut self.conns[index as usize];
        conn.state = State::Open;
        if conn.stamps.is_some() {
            self.begin_stamps(index);
        }
        if !self.conns[index as usize].unsent.is_empty() {
            self.write_later(index);
        }
        self.raw_event(index, RawEventKind::Connected)
    }

    /// Requests time stamps before anything is sent; a kernel without them is not an error. From
    /// then on the connection is not watched for room. Each stamp makes epoll check the socket,
    /// which nearly always has room, and would end the wait.
    fn begin_stamps(&mut self, index: u32) {
        let conn = &mut self.conns[index as usize];
        let (Some(fd), Some(stamps)) = (&conn.fd, &conn.stamps) else { return };
        if stamps.enable(fd).is_err() {
            conn.stamps = None;
            return;
        }
        let word = Token::new(kind::CONN, conn.generation, index).pack();
        let watched = self.poller.rename(fd.as_raw_fd(), WATCHED & !libc::EPOLLOUT, word);
        debug_assert!(watched.is_ok(), "a watched descriptor can be watched for less");
        // The first reading of the wall clock must precede the first stamp.
        self.wall.look();
    }

    /// Retries the operations whose readiness the kernel does not report.
    pub(super) fn retry(&mut self) {
        self.retry_at = Nanos::MAX;
        self.doors.iter_mut().for_each(|door| {
            door.knocking |= std::mem::take(&mut door.paused);
        });
        for (index, generation, address) in std::mem::take(&mut self.busy) {
            let conn = &self.conns[index as usize];
            if conn.generation == generation && conn.state == State::Connecting {
                self.begin(index, &address, false);
            }
        }
    }

    pub(super) fn open_door(&mut self, listener: Listener) -> io::Result<()> {
        let word = Token::new(kind::DOOR, 0, self.doors.len() as u32).pack();
        socket::set_nonblocking(&listener.fd, true)?;
        // Edge-triggered: level-triggered events would repeat endlessly while nothing can be
        // accepted.
        self.poller.watch(listener.fd.as_raw_fd(), libc::EPOLLIN | libc::EPOLLET, word)?;
        self.doors.push(Acceptor { listener, knocking: false, paused: false });
        Ok(())
    }

    pub(super) fn can_accept(&self) -> bool {
        self.numbers.are_left() && self.doors.iter().any(|door| door.knocking)
    }

    pub(super) fn next_accepted(&mut self) -> Option<RawEvent> {
        for at in 0..self.doors.len() {
            while self.doors[at].knocking && self.accepts > 0 && self.numbers.are_left() {
                let door = &self.doors[at];
                match socket::accept(&door.listener.fd) {
                    Ok(fd) => {
                        let is_tcp = door.listener.is_tcp;
                        self.accepts -= 1;
                        if let Some(raw_event) = self.admit(fd, is_tcp) {
                            return Some(raw_event);
                        }
                    }
                    Err(error) => self.turn_away(at, &error),
                }
            }
        }
        None
    }

    fn turn_away(&mut self, at: usize, error: &io::Error) {
        let door = &mut self.doors[at];
        match error.raw_os_error() {
            // The peer closed this connection before it was accepted (accept(2)).
            Some(libc::ECONNABORTED | libc::EINTR | libc::EPROTO) => {}
            Some(libc::EAGAIN) => door.knocking = false,
            // No descriptor or no memory is left: without a pause this would spin.
            _ => {
                door.knocking = false;
                door.paused = true;
                self.retry_at = self.retry_at.min(self.clock.now().after(RETRY_NS));
            }
        }
    }

    fn admit(&mut self, fd: OwnedFd, is_tcp: bool) -> Option<RawEvent> {
        let index = loop {
            let number = self.numbers.take()?;
            match self.conns.get_mut(number as usize) {
                // The caller has connected under this number; it becomes free once that connection
                // is closed.
                Some(conn) if conn.state != State::Closed => conn.numbered = true,
                _ => break number,
            }
        };
        let conn = self.renew(index);
        let word = Token::new(kind::CONN, conn.generation, index).pack();
        if is_tcp {
            // Failure means that the peer has already closed, and Nagle's algorithm no longer
            // matters.
            let _ = socket::set_nodelay(&fd);
        }
        if self.poller.watch(fd.as_raw_fd(), WATCHED, word).is_err() {
            self.numbers.give_back(index);
            return None;
        }
        let conn = &mut self.conns[index as usize];
        conn.fd = Some(fd);
        conn.is_tcp = is_tcp;
        conn.state = State::Open;
        conn.numbered = true;
        Some(self.raw_event(index, RawEventKind::Accepted))
    }

    /// Starts another generation of a connection that is new or closed.
    fn renew(&mut self, index: u32) -> &mut Conn {
        if self.conns.len() <= index as usize {
            self.conns.resize_with(index as usize + 1, Conn::new);
        }
        debug_assert_eq!(self.conns[index as usize].state, State::Closed, "connection in use");
        if self.conns[index as usize].state != State::Closed {
            self.part(index, Close::Graceful);
        }
        let conn = &mut self.conns[index as usize];
        *conn = Conn {
            generation: conn.generation.wrapping_add(1),
            // An entry in `unflushed` stays valid for the new socket.
            dirty: conn.dirty,
            ..Conn::new()
        };
        conn
    }
}
