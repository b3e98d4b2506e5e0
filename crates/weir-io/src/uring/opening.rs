//! Opening of the io_uring backend's connections: connects and accepts.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use io_uring::{cqueue, opcode, types};

use super::ring::{CompletionEntry, descriptor};
use super::{RawEvent, Uring, kind};
use crate::backend::ConnId;
use crate::endpoint::Endpoint;
use crate::raw_event::RawEventKind;
use crate::socket::{self, Begun, SockAddr};
use crate::socket_core::ConnState;
use crate::socket_options::SocketOptions;
use crate::token::Token;

impl Uring {
    pub(super) fn open(&mut self, conn: ConnId, to: &Endpoint, options: SocketOptions) {
        let index = conn.0;
        let spent = self.core.begin(index, to, options);
        let is_tcp = matches!(to, Endpoint::Tcp(_));
        // TCP sockets are blocking: a request on a non-blocking socket would fail instead of
        // waiting in the kernel.
        let open = |family| self.open_socket(family, !is_tcp);
        match socket::to_connect(to, options.source, spent, open) {
            Ok((fd, address)) => {
                let conn = &mut self.core.conns[conn.index()];
                conn.fd = Some(fd);
                match to {
                    Endpoint::Tcp(_) => self.notes.connects.push((index, conn.generation, address)),
                    Endpoint::Unix(_) => self.begin(index, &address),
                }
            }
            Err(error) => self.core.never_begun(index, error),
        }
    }

    fn open_socket(&mut self, family: i32, nonblocking: bool) -> io::Result<OwnedFd> {
        let fd = socket::open(family, nonblocking);
        if fd.is_ok() || self.notes.closes.is_empty() {
            return fd;
        }
        // Sockets whose close is only recorded may hold the last descriptors. No other recorded
        // work may be submitted here.
        self.notes.submit_endings(&mut self.ring)?;
        self.ring.submit(false)?;
        socket::open(family, nonblocking)
    }

    /// Connects a Unix socket, which never takes time: it succeeds, fails, or finds the listener's
    /// backlog full. In the ring, a kernel thread would block on a full backlog.
    fn begin(&mut self, index: u32, address: &SockAddr) {
        let conn = &self.core.conns[index as usize];
        let Some(fd) = &conn.fd else { return };
        match socket::connect(fd, address) {
            Ok(Begun::Busy) => self.core.connect_later(index, address),
            Ok(_) => match socket::set_nonblocking(fd, false) {
                Ok(()) => self.connected.push_back((index, conn.generation)),
                Err(error) => self.core.never_begun(index, error),
            },
            Err(error) => self.core.never_begun(index, error),
        }
    }

    /// Returns the next event that no completion reports.
    pub(super) fn next_arrived(&mut self) -> Option<RawEvent> {
        let raw_event = if let Some((index, error)) = self.core.take_failure() {
            self.fail(index, error)
        } else {
            let core = &self.core;
            let mut connected = std::iter::from_fn(|| self.connected.pop_front());
            let (index, _) = connected.find(|of| core.is_connecting(of.0, of.1))?;
            self.connected(index)
        };
        // The result may be more recent than the batch.
        Some(RawEvent { at: self.core.clock.now(), ..raw_event })
    }

    pub(super) fn on_connected(&mut self, token: Token, done: CompletionEntry) -> Option<RawEvent> {
        let conn = self.core.live(token)?;
        // The connect request has completed, so closing does not have to cancel it.
        conn.state = ConnState::Open;
        if done.result < 0 {
            let error = io::Error::from_raw_os_error(-done.result);
            return Some(self.fail(token.index, error));
        }
        Some(self.connected(token.index))
    }

    fn connected(&mut self, index: u32) -> RawEvent {
        let raw_event = self.core.connected(index, self.collected_at);
        self.receive_on(index);
        raw_event
    }

    /// Retries the operations whose readiness the kernel does not report.
    pub(super) fn retry(&mut self) {
        self.acceptors.iter_mut().for_each(|acceptor| acceptor.paused = false);
        for (index, address) in self.core.take_busy() {
            self.begin(index, &address);
        }
    }

    pub(super) fn prepare_openings(&mut self) -> io::Result<()> {
        for (index, generation, address) in &self.notes.connects {
            let Some(fd) = &self.core.conns[*index as usize].fd else { continue };
            if !self.core.is_connecting(*index, *generation) {
                continue;
            }
            let target = types::Fd(fd.as_raw_fd());
            let entry = opcode::Connect::new(target, address.as_ptr(), address.len()).build();
            let word = Token::pack(kind::CONNECT, *generation, *index);
            // SAFETY: the address stays in the notes until after the enter that copies it.
            unsafe { self.ring.push(&entry.user_data(word))? };
        }
        if !self.waiting.is_empty() || !self.core.numbers.are_left() {
            return Ok(());
        }
        for (at, acceptor) in (0..).zip(&mut self.acceptors) {
            acceptor.arm(at, &mut self.ring)?;
        }
        Ok(())
    }

    pub(super) fn on_accepted(&mut self, at: u32, done: CompletionEntry) -> Option<RawEvent> {
        let acceptor = &mut self.acceptors[at as usize];
        let is_tcp = acceptor.listener.is_tcp;
        acceptor.armed = cqueue::more(done.flags);
        match descriptor(done.result) {
            Ok(fd) => {
                self.waiting.push_back((fd, is_tcp));
                let raw_event = self.next_accepted();
                if !self.core.numbers.are_left() && self.acceptors[at as usize].armed {
                    // Further connections have to wait in the kernel.
                    self.notes.cancels.push(Token::pack(kind::ACCEPTOR, 0, at));
                }
                raw_event
            }
            Err(error) => {
                acceptor.paused |= self.core.accept_failed(&error);
                None
            }
        }
    }

    /// Gives the next accepted socket a number, if there are both.
    pub(super) fn next_accepted(&mut self) -> Option<RawEvent> {
        if self.waiting.is_empty() {
            return None;
        }
        let index = self.core.take_number()?;
        let (fd, is_tcp) = self.waiting.pop_front()?;
        self.core.admit(index, fd, is_tcp);
        self.receive_on(index);
        Some(self.core.raw_event(index, RawEventKind::Accepted, self.collected_at))
    }
}
