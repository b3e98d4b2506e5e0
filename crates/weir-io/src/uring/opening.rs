//! Opening of the io_uring backend's connections: connects and accepts.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, OwnedFd};

use io_uring::{cqueue, opcode, types};

use super::ring::{Completion, descriptor};
use super::{Conn, NONE, RawEvent, State, Uring, kind};
use crate::limits::RETRY_NS;
use crate::raw_event::RawEventKind;
use crate::socket::{self, Begun, SockAddr};
use crate::stamps::Stamps;
use crate::token::Token;
use crate::{Close, Endpoint, Listener, Nanos, SocketOptions};

/// A listener.
pub(super) struct Acceptor {
    listener: Listener,
    /// True if the kernel is accepting on it.
    armed: bool,
    /// True if no descriptor was left: wait until `retry_at`.
    paused: bool,
}

impl Uring {
    pub(super) fn open(&mut self, index: u32, to: &Endpoint, options: SocketOptions) {
        let family = socket::lasting_family(to, options);
        let spent = self.take_spent(index, family);
        let is_tcp = matches!(to, Endpoint::Tcp(_));
        let stamps = Stamps::new(options.stamps).filter(|_| is_tcp);
        let stamps = stamps.map_or(NONE, |stamps| self.stamps.insert(stamps));
        let conn = self.renew(index);
        conn.family = family;
        conn.stamps = stamps;
        // Discarded bytes have no time stamp.
        conn.discards = options.discard && is_tcp && stamps == NONE;
        conn.state = State::Connecting;
        let generation = conn.generation;
        match self.make(to, options.source, spent) {
            Ok((fd, address)) => {
                self.conns[index as usize].fd = Some(fd);
                match to {
                    Endpoint::Tcp(_) => self.notes.connects.push((index, generation, address)),
                    Endpoint::Unix(_) => self.begin(index, &address),
                }
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

    fn make(
        &mut self,
        to: &Endpoint,
        source: Option<IpAddr>,
        spent: Option<OwnedFd>,
    ) -> io::Result<(OwnedFd, SockAddr)> {
        let address = SockAddr::new(to)?;
        if let Some(fd) = spent {
            return Ok((fd, address));
        }
        let is_tcp = matches!(to, Endpoint::Tcp(_));
        // TCP sockets are blocking: a request on a non-blocking socket would fail instead of
        // waiting in the kernel.
        let mut fd = socket::open(address.family(), !is_tcp);
        if fd.is_err() && !self.notes.closes.is_empty() {
            // Sockets whose close is only recorded may hold the last descriptors. No other recorded
            // work may be submitted here.
            self.prepare_endings()?;
            self.ring.submit(false)?;
            fd = socket::open(address.family(), !is_tcp);
        }
        let fd = fd?;
        if is_tcp {
            socket::set_nodelay(&fd)?;
            source.map_or(Ok(()), |source| socket::bind_source(&fd, source))?;
        }
        Ok((fd, address))
    }

    /// Connects a Unix socket, which never takes time: it succeeds, fails, or finds the listener's
    /// backlog full. In the ring, a kernel thread would block on a full backlog.
    fn begin(&mut self, index: u32, address: &SockAddr) {
        let conn = &self.conns[index as usize];
        let Some(fd) = &conn.fd else { return };
        match socket::connect(fd, address) {
            Ok(Begun::Busy) => {
                self.busy.push((index, conn.generation, *address));
                self.retry_at = self.retry_at.min(self.clock.now().after(RETRY_NS));
            }
            Ok(_) => match socket::set_nonblocking(fd, false) {
                Ok(()) => self.arrived.push_back((index, conn.generation, Ok(()))),
                Err(error) => self.never_begun(index, error),
            },
            Err(error) => self.never_begun(index, error),
        }
    }

    /// Records a connect that failed at once, which no completion reports.
    fn never_begun(&mut self, index: u32, error: io::Error) {
        let conn = &mut self.conns[index as usize];
        self.outgoing.clear(&mut conn.unsent);
        conn.fd = None;
        conn.state = State::Failing;
        self.arrived.push_back((index, conn.generation, Err(error)));
    }

    pub(super) fn next_arrived(&mut self) -> Option<RawEvent> {
        while let Some((index, generation, result)) = self.arrived.pop_front() {
            let conn = &self.conns[index as usize];
            if conn.generation == generation && conn.state != State::Closed {
                let raw_event = match result {
                    Ok(()) => self.connected(index),
                    Err(error) => self.fail(index, error),
                };
                // The result may be more recent than the batch.
                return Some(RawEvent { at: self.clock.now(), ..raw_event });
            }
        }
        None
    }

    pub(super) fn on_connected(&mut self, token: Token, done: Completion) -> Option<RawEvent> {
        let conn = self.live(token)?;
        // The connect request has completed, so closing does not have to cancel it.
        conn.state = State::Open;
        if done.result < 0 {
            let error = io::Error::from_raw_os_error(-done.result);
            return Some(self.fail(token.index, error));
        }
        Some(self.connected(token.index))
    }

    fn connected(&mut self, index: u32) -> RawEvent {
        let conn = &mut self.conns[index as usize];
        conn.state = State::Open;
        if conn.stamps != NONE {
            self.begin_stamps(index);
        }
        if !self.conns[index as usize].unsent.is_empty() {
            self.send_on(index);
        }
        self.receive_on(index);
        self.raw_event(index, RawEventKind::Connected)
    }

    /// Retries the operations whose readiness the kernel does not report.
    pub(super) fn retry(&mut self) {
        self.retry_at = Nanos::MAX;
        self.doors.iter_mut().for_each(|door| door.paused = false);
        for (index, generation, address) in std::mem::take(&mut self.busy) {
            let conn = &self.conns[index as usize];
            if conn.generation == generation && conn.state == State::Connecting {
                self.begin(index, &address);
            }
        }
    }

    pub(super) fn prepare_openings(&mut self) -> io::Result<()> {
        for (index, generation, address) in &self.notes.connects {
            let conn = &self.conns[*index as usize];
            let Some(fd) = &conn.fd else { continue };
            if conn.generation != *generation || conn.state != State::Connecting {
                continue;
            }
            let target = types::Fd(fd.as_raw_fd());
            let entry = opcode::Connect::new(target, address.as_ptr(), address.len()).build();
            let word = Token::new(kind::CONNECT, *generation, *index).pack();
            // SAFETY: the address stays in the notes until after the enter that copies it.
            unsafe { self.ring.push(&entry.user_data(word))? };
        }
        if !self.waiting.is_empty() || !self.numbers.are_left() {
            return Ok(());
        }
        for (at, door) in self.doors.iter_mut().enumerate() {
            if door.armed || door.paused {
                continue;
            }
            door.armed = true;
            let target = types::Fd(door.listener.as_raw_fd());
            let entry = opcode::AcceptMulti::new(target).flags(libc::SOCK_CLOEXEC).build();
            let word = Token::new(kind::DOOR, 0, at as u32).pack();
            // SAFETY: the entry points to nothing, as no address is requested.
            unsafe { self.ring.push(&entry.user_data(word))? };
        }
        Ok(())
    }

    pub(super) fn open_door(&mut self, listener: Listener) -> io::Result<()> {
        socket::set_nonblocking(&listener.fd, false)?;
        self.doors.push(Acceptor { listener, armed: false, paused: false });
        Ok(())
    }

    pub(super) fn on_accepted(&mut self, at: u32, done: Completion) -> Option<RawEvent> {
        let door = &mut self.doors[at as usize];
        let is_tcp = door.listener.is_tcp;
        door.armed = cqueue::more(done.flags);
        match descriptor(done.result) {
            Ok(fd) => {
                self.waiting.push_back((fd, is_tcp));
                let raw_event = self.next_accepted();
                if !self.numbers.are_left() && self.doors[at as usize].armed {
                    // Further connections have to wait in the kernel.
                    self.notes.cancels.push(Token::new(kind::DOOR, 0, at).pack());
                }
                return raw_event;
            }
            Err(error) => match error.raw_os_error() {
                // The peer closed this connection before it was accepted (accept(2)), or the accept
                // was cancelled because no number was free.
                Some(libc::ECONNABORTED | libc::EINTR | libc::EPROTO | libc::ECANCELED) => {}
                // No descriptor or no memory is left: without a pause this would spin.
                _ => {
                    self.doors[at as usize].paused = true;
                    self.retry_at = self.retry_at.min(self.clock.now().after(RETRY_NS));
                }
            },
        }
        None
    }

    /// Gives the next accepted socket a number, if there are both.
    pub(super) fn next_accepted(&mut self) -> Option<RawEvent> {
        if self.waiting.is_empty() {
            return None;
        }
        let index = loop {
            let number = self.numbers.take()?;
            match self.conns.get_mut(number as usize) {
                // The caller has connected under this number; it becomes free once that connection
                // is closed.
                Some(conn) if conn.state != State::Closed => conn.numbered = true,
                _ => break number,
            }
        };
        let (fd, is_tcp) = self.waiting.pop_front()?;
        if is_tcp {
            // Failure means that the peer has already closed, and Nagle's algorithm no longer
            // matters.
            let _ = socket::set_nodelay(&fd);
        }
        let conn = self.renew(index);
        conn.fd = Some(fd);
        conn.state = State::Open;
        conn.numbered = true;
        self.receive_on(index);
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
        self.stamps.remove(conn.stamps);
        *conn = Conn {
            generation: conn.generation.wrapping_add(1),
            // An entry in the notes stays valid for the new socket.
            dirty: conn.dirty,
            ..Conn::new()
        };
        conn
    }
}
