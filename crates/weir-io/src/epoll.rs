//! [`Backend`] by readiness: epoll and plain socket calls.
//!
//! Used if io_uring is unavailable, or if a kernel-bypass library loaded with LD_PRELOAD has to
//! intercept the calls. Each socket is registered once, edge-triggered for both directions, and
//! never again. Each batch of events reads every ready connection once, into one buffer that all
//! share. Bytes queued in response are written after all reads.

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsRawFd;

use libc::c_int;
use weir_machine::sys;

use crate::backend::{Backend, BackendOptions, Close, ConnId, Event, Submitted, WaitPolicy};
use crate::listener::Listener;
use crate::margin::WaitMethod;
use crate::raw_event::{Filled, RawEvent, RawEventKind};
use crate::slab::Slab;
use crate::socket_core::{self, ConnState, SocketCore};
use crate::time::Nanos;
use crate::token::Token;
use crate::waker::Waker;

mod acceptor;
mod lingering;
mod opening;
mod poller;
mod transfer;

use acceptor::Acceptor;
use lingering::LingeringClose;
use poller::{Poller, Timeout};

/// Events watched on every socket.
const WATCHED: c_int = libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET;

/// Events that report the end of a stream.
const ENDING: c_int = libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR;

/// Size of the receive buffer of the thread: on loopback, larger reads were no faster.
const BUFFER_BYTES: usize = 64 * 1024;

/// Connections with more to read that are read again within one batch. The rest is read in the next
/// one, so that a batch ends however fast the peers send.
const READS_AGAIN: u32 = 64;

/// Most connections accepted in one batch.
const ACCEPTS: u32 = 64;

/// Shortest nap in which events accumulate, and the least by which a nap grows, in nanoseconds.
const NAP_MIN_NS: u64 = 2_000;

/// The kinds of [`Token`].
mod kind {
    pub(super) const CONN: u8 = 0;
    pub(super) const WAKER: u8 = 1;
    pub(super) const TIMER: u8 = 2;
    pub(super) const ACCEPTOR: u8 = 3;
    pub(super) const LINGERING: u8 = 4;
}

/// [`Backend`] by readiness: epoll and plain socket calls.
pub struct Epoll {
    core: SocketCore<Readiness>,
    poller: Poller,
    #[expect(dead_code, reason = "holds the eventfd open for as long as it is watched")]
    waker: Option<Waker>,
    buffer: Box<[u8]>,
    /// Connections whose last read left bytes behind; each once, if its `again` is set.
    again: VecDeque<u32>,
    reads_again: u32,
    acceptors: Vec<Acceptor>,
    /// Connections that this batch may still accept.
    accepts: u32,
    /// Sockets closed by their owner with bytes still unsent.
    lingering: Slab<LingeringClose>,
    /// Length of the next nap, in which events accumulate, in nanoseconds.
    nap_ns: u64,
}

/// State of a connection that only this backend has.
#[derive(Default)]
struct Readiness {
    is_tcp: bool,
    /// True if the kernel's send buffer is full: writing has to wait for `EPOLLOUT`.
    blocked: bool,
    /// True if the connection is in `again`.
    again: bool,
}

impl Epoll {
    /// Creates a backend without connections.
    ///
    /// # Errors
    /// If no descriptor is left.
    pub fn new(options: BackendOptions) -> io::Result<Epoll> {
        let poller = Poller::new(Token::pack(kind::TIMER, 0, 0), options.connections)?;
        if let Some(waker) = &options.waker {
            let word = Token::pack(kind::WAKER, 0, 0);
            poller.watch(waker.as_raw_fd(), libc::EPOLLIN | libc::EPOLLET, word)?;
        }
        Ok(Epoll {
            core: SocketCore::new(options.clock, options.connections),
            poller,
            waker: options.waker,
            buffer: vec![0; BUFFER_BYTES].into_boxed_slice(),
            again: VecDeque::new(),
            reads_again: 0,
            acceptors: Vec::new(),
            accepts: 0,
            lingering: Slab::default(),
            nap_ns: NAP_MIN_NS,
        })
    }

    /// Looks for an event until one is found or the kernel's events are used up.
    fn step(&mut self) -> Option<RawEvent> {
        if let Some(raw_event) = self.core.parked.pop_front() {
            return Some(raw_event);
        }
        while let Some((events, word)) = self.poller.take() {
            let token = Token::unpack(word);
            let raw_event = match token.kind {
                kind::CONN => self.on_ready(token, events),
                kind::WAKER => {
                    self.core.woken = true;
                    None
                }
                kind::ACCEPTOR => {
                    self.acceptors[token.index as usize].has_waiting = true;
                    None
                }
                kind::LINGERING => {
                    self.go_on_with_lingering(token.index);
                    None
                }
                _ => None,
            };
            if raw_event.is_some() {
                return raw_event;
            }
        }
        if let Some((index, error)) = self.core.take_failure() {
            return Some(self.fail(index, error));
        }
        if let Some(raw_event) = self.next_accepted() {
            return Some(raw_event);
        }
        while self.reads_again < READS_AGAIN
            && let Some(index) = self.again.pop_front()
        {
            self.reads_again += 1;
            if self.core.conns[index as usize].own.again
                && let Some(raw_event) = self.read(index)
            {
                return Some(raw_event);
            }
        }
        None
    }

    fn on_ready(&mut self, token: Token, mut events: c_int) -> Option<RawEvent> {
        let index = token.index;
        self.core.live(token)?;
        let conn = &mut self.core.conns[index as usize];
        if conn.state == ConnState::Connecting {
            return self.on_connected(index, events);
        }
        if events & (libc::EPOLLERR | libc::EPOLLHUP) == libc::EPOLLERR
            && let (Some(stamps), Some(fd)) = (self.core.stamps.states.entry(conn.stamps), &conn.fd)
            && stamps.collect(fd)
        {
            // The entry in the error queue caused this event. A failed socket reports a hang-up as
            // well.
            events &= !libc::EPOLLERR;
        }
        conn.drains |= events & ENDING != 0;
        let is_readable = events & (libc::EPOLLIN | ENDING) != 0;
        if events & libc::EPOLLOUT != 0 && conn.own.blocked {
            conn.own.blocked = false;
            // Not written here: more may have been queued meanwhile, and no byte may leave before
            // the time stamp of its submit has been read.
            self.core.send_later(index);
        }
        if is_readable { self.read(index) } else { None }
    }

    /// True if there is an event to find without another epoll_wait(2).
    fn has_more(&self) -> bool {
        !self.poller.is_drained()
            || !self.again.is_empty()
            || !self.core.failures.is_empty()
            || self.can_accept()
    }

    fn flush(&mut self) {
        let mut to_send = std::mem::take(&mut self.core.to_send);
        for index in to_send.drain(..) {
            let conn = &mut self.core.conns[index as usize];
            conn.dirty = false;
            if conn.state == ConnState::Open && !conn.own.blocked {
                self.write(index);
            }
        }
        self.core.to_send = to_send;
    }

    /// Spends one stretch of a wait. Returns true if the caller's instant has come.
    fn pause(&mut self, until: Nanos, policy: WaitPolicy) -> io::Result<bool> {
        if !self.poller.is_drained() {
            return Ok(false);
        }
        let now = self.core.clock.now();
        if self.core.retries.at <= now {
            self.retry();
        }
        if self.has_more() {
            // Other connections are read before one is read again.
            self.poller.wait(Timeout::Now)?;
            return Ok(until <= now);
        }
        let (method, policy) = self.core.plan(now, until, policy);
        match method {
            WaitMethod::Look => self.poller.wait(Timeout::Now)?,
            WaitMethod::Spin | WaitMethod::Attend(_) => {
                self.core.spinning.give_way(now, until);
                self.poller.wait(Timeout::Now)?;
            }
            WaitMethod::Gather(until, events) => self.gather(until.since(now), events)?,
            WaitMethod::Sleep(Nanos::MAX) => self.poller.wait(Timeout::Never)?,
            WaitMethod::Sleep(wake_at) => {
                let epoch_ns = self.core.clock.epoch_monotonic_ns();
                self.poller.wait(Timeout::At(epoch_ns.saturating_add(wake_at.0)))?;
            }
        }
        if !self.poller.is_drained() {
            return Ok(until <= now);
        }
        let from = now;
        let now = self.core.clock.now();
        if let WaitMethod::Spin | WaitMethod::Attend(_) = method {
            self.core.spinning.looked_in_vain(from, now);
        }
        self.core.paused(method, policy, now);
        Ok(until <= now)
    }

    /// Naps before it polls, because epoll wakes at the first event. The length of the nap adapts
    /// to the number of events that arrived in the last one, so that about `events` arrive.
    fn gather(&mut self, within_ns: u64, events: u32) -> io::Result<()> {
        let nap_ns = self.nap_ns.min(within_ns);
        sys::nap(nap_ns);
        self.poller.wait(Timeout::Now)?;
        self.nap_ns = if self.poller.ready > events as usize {
            nap_ns - nap_ns / 8
        } else {
            (nap_ns + nap_ns / 8 + NAP_MIN_NS).min(within_ns)
        };
        Ok(())
    }

    /// Returns an event of a connection that has happened now.
    #[inline]
    fn raw_event(&self, index: u32, kind: RawEventKind) -> RawEvent {
        self.core.raw_event(index, kind, self.core.clock.now())
    }
}

impl Backend for Epoll {
    socket_core::core_calls!();

    fn listen(&mut self, listener: Listener) -> io::Result<()> {
        let word = Token::pack(kind::ACCEPTOR, 0, self.acceptors.len() as u32);
        self.acceptors.push(Acceptor::new(listener, &self.poller, word)?);
        Ok(())
    }

    fn discard(&mut self, conn: ConnId, bytes: u64) {
        self.core.discard(conn, bytes);
    }

    fn close(&mut self, conn: ConnId, how: Close) {
        self.core.withdraw(conn.0, |_| {});
        if self.core.is_in_use(conn) {
            self.part(conn.0, how);
        }
    }

    fn submit(&mut self) -> Submitted {
        let before = self.core.clock.now();
        if self.core.to_send.is_empty() {
            return Submitted { before, after: before };
        }
        self.flush();
        let after = self.core.clock.now();
        self.core.collect_transmitted();
        Submitted { before, after }
    }

    fn wait(&mut self, until: Nanos, mut policy: WaitPolicy) -> io::Result<()> {
        loop {
            self.flush();
            if self.core.has_found() {
                return Ok(());
            }
            self.core.collect_transmitted();
            self.reads_again = 0;
            self.accepts = ACCEPTS;
            let is_due = self.pause(until, policy)?;
            let found = self.step();
            if self.core.ends_wait(found, is_due) {
                return Ok(());
            }
            policy = policy.go_on();
        }
    }

    fn next(&mut self) -> Option<Event<&mut [u8]>> {
        let RawEvent { conn, generation, at, kind } =
            self.core.found.take().or_else(|| self.step())?;
        Some(Event {
            conn,
            generation,
            at,
            kind: kind.map(|Filled { len, .. }| &mut self.buffer[..len as usize]),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::socket_core::Conn;

    #[test]
    fn a_million_are_thirty_six_megabytes() {
        assert_eq!(size_of::<Conn<Readiness>>(), 36);
    }
}
