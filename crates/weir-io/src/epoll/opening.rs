//! Opening of the epoll backend's connections: connects and accepts.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use libc::c_int;

use super::{ENDING, Epoll, RawEvent, WATCHED, kind};
use crate::backend::ConnId;
use crate::endpoint::Endpoint;
use crate::raw_event::RawEventKind;
use crate::slab::NONE;
use crate::socket::{self, Begun, SockAddr};
use crate::socket_options::SocketOptions;
use crate::token::Token;

impl Epoll {
    pub(super) fn open(&mut self, conn: ConnId, to: &Endpoint, options: SocketOptions) {
        let index = conn.0;
        let spent = self.core.begin(index, to, options);
        let is_watched = spent.is_some();
        let conn = &mut self.core.conns[conn.index()];
        conn.own.is_tcp = matches!(to, Endpoint::Tcp(_));
        match socket::to_connect(to, options.source, spent, |family| socket::open(family, true)) {
            Ok((fd, address)) => {
                conn.fd = Some(fd);
                self.begin(index, &address, is_watched);
            }
            Err(error) => self.core.never_begun(index, error),
        }
    }

    /// Connects, or retries a connect that found the listener's backlog full.
    fn begin(&mut self, index: u32, address: &SockAddr, is_watched: bool) {
        let conn = &self.core.conns[index as usize];
        let Some(fd) = &conn.fd else { return };
        let word = Token::pack(kind::CONN, conn.generation, index);
        let begun = socket::connect(fd, address).and_then(|begun| match begun {
            Begun::Busy => Ok(begun),
            // Watched only now: an unconnected socket reports a hang-up. A connected one becomes
            // writable, which is the same event as the end of a connect.
            _ if is_watched => self.poller.rename(fd.as_raw_fd(), WATCHED, word).map(|()| begun),
            _ => self.poller.watch(fd.as_raw_fd(), WATCHED, word).map(|()| begun),
        });
        match begun {
            Ok(Begun::InProgress | Begun::Connected) => {}
            Ok(Begun::Busy) => self.core.connect_later(index, address),
            Err(error) => self.core.never_begun(index, error),
        }
    }

    /// Handles an event of a connect in progress.
    pub(super) fn on_connected(&mut self, index: u32, events: c_int) -> Option<RawEvent> {
        const ENDED: c_int = libc::EPOLLOUT | libc::EPOLLERR | libc::EPOLLHUP;
        let conn = &mut self.core.conns[index as usize];
        if events & ENDED == 0 {
            return None;
        }
        match socket::take_error(conn.fd.as_ref()?) {
            Ok(()) => {
                conn.drains = events & ENDING != 0;
                if conn.drains || events & libc::EPOLLIN != 0 {
                    self.read_again(index);
                }
                Some(self.connected(index))
            }
            Err(error) => Some(self.fail(index, error)),
        }
    }

    fn connected(&mut self, index: u32) -> RawEvent {
        let raw_event = self.core.connected(index, self.core.clock.now());
        let conn = &self.core.conns[index as usize];
        if let (true, Some(fd)) = (conn.stamps != NONE, &conn.fd) {
            // Each stamp makes epoll check the socket, which nearly always has room, and would end
            // the wait. So a stamped connection is not watched for room.
            let word = Token::pack(kind::CONN, conn.generation, index);
            let watched = self.poller.rename(fd.as_raw_fd(), WATCHED & !libc::EPOLLOUT, word);
            debug_assert!(watched.is_ok(), "a watched descriptor can be watched for less");
        }
        raw_event
    }

    /// Retries the operations whose readiness the kernel does not report.
    pub(super) fn retry(&mut self) {
        self.acceptors.iter_mut().for_each(|acceptor| {
            acceptor.has_waiting |= std::mem::take(&mut acceptor.paused);
        });
        for (index, address) in self.core.take_busy() {
            self.begin(index, &address, false);
        }
    }

    pub(super) fn can_accept(&self) -> bool {
        self.core.numbers.are_left() && self.acceptors.iter().any(|acceptor| acceptor.has_waiting)
    }

    pub(super) fn next_accepted(&mut self) -> Option<RawEvent> {
        for at in 0..self.acceptors.len() {
            while self.acceptors[at].has_waiting && self.accepts > 0 && self.core.numbers.are_left()
            {
                let acceptor = &self.acceptors[at];
                match socket::accept(&acceptor.listener.fd) {
                    Ok(fd) => {
                        let is_tcp = acceptor.listener.is_tcp;
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
        let acceptor = &mut self.acceptors[at];
        if error.kind() == io::ErrorKind::WouldBlock {
            acceptor.has_waiting = false;
        } else if self.core.accept_failed(error) {
            acceptor.has_waiting = false;
            acceptor.paused = true;
        }
    }

    fn admit(&mut self, fd: OwnedFd, is_tcp: bool) -> Option<RawEvent> {
        let index = self.core.take_number()?;
        let number = fd.as_raw_fd();
        let conn = self.core.admit(index, fd, is_tcp);
        conn.own.is_tcp = is_tcp;
        let word = Token::pack(kind::CONN, conn.generation, index);
        if self.poller.watch(number, WATCHED, word).is_err() {
            drop(self.core.shut(index));
            return None;
        }
        Some(self.raw_event(index, RawEventKind::Accepted))
    }
}
