//! [`Backend`] by readiness: epoll and plain socket calls.
//!
//! Used if io_uring is unavailable, or if a kernel-bypass library loaded with LD_PRELOAD has to
//! intercept the calls. Each socket is registered once, edge-triggered for both directions, and
//! never again. Each batch of events reads every ready connection once, into one buffer that all
//! share. Bytes queued in response are written after all reads.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use libc::c_int;

use crate::failing::Failing;
use crate::margin::{Margin, Pause};
use crate::numbers::Numbers;
use crate::outgoing::{Outgoing, Queue};
use crate::raw_event::{self, RawEventKind};
use crate::slab::Slab;
use crate::socket::SockAddr;
use crate::stamps::Stamps;
use crate::system;
use crate::token::Token;
use crate::usage::Spinning;
use crate::wall::Wall;
use crate::{
    Backend, BackendOptions, Clock, Close, ConnId, Endpoint, Event, Listener, Nanos, PooledId,
    Segment, SocketOptions, Submitted, TcpTally, TemplateId, ThreadUsage, WaitPolicy, Waker,
};

mod opening;
mod poller;
mod transfer;

use opening::Acceptor;
use poller::{Poller, Timeout};
use transfer::LingeringClose;

/// Events watched on every socket.
const WATCHED: c_int = libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET;

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
    pub(super) const DOOR: u8 = 3;
    pub(super) const LINGERING: u8 = 4;
}

/// [`Backend`] by readiness: epoll and plain socket calls.
pub struct Epoll {
    clock: Clock,
    poller: Poller,
    #[expect(dead_code, reason = "holds the eventfd open for as long as it is watched")]
    waker: Option<Waker>,
    margin: Margin,
    conns: Vec<Conn>,
    outgoing: Outgoing,
    buffer: Box<[u8]>,
    /// Connections with bytes to write at the next flush; each once.
    unflushed: Vec<u32>,
    /// Connections whose last read left bytes behind; each once, if its `again` is set.
    again: VecDeque<u32>,
    reads_again: u32,
    /// Connects that failed at once, which the kernel does not report.
    failed_connects: VecDeque<(u32, u16, io::Error)>,
    /// Unix connects to retry once the listener has room.
    busy: Vec<(u32, u16, SockAddr)>,
    doors: Vec<Acceptor>,
    numbers: Numbers,
    /// Connections that this batch may still accept.
    accepts: u32,
    /// Time of the next retry of `busy` and of the paused listeners.
    retry_at: Nanos,
    /// Sockets closed by their owner with bytes still unsent.
    lingering: Slab<LingeringClose>,
    /// The first event of the batch, found while waiting.
    found: Option<RawEvent>,
    /// Events of one read that produced several; the last of them has the buffer.
    parked: VecDeque<RawEvent>,
    /// Stamped connections that have sent bytes since their error queues were last read.
    transmitting: Vec<u32>,
    wall: Wall,
    spinning: Spinning,
    failing: Failing,
    tcp: TcpTally,
    /// Length of the next nap, in which events accumulate, in nanoseconds.
    nap_ns: u64,
    woken: bool,
}

/// One connection. Its size dominates the memory of a hundred thousand of them.
struct Conn {
    /// Socket; if the connection is closed, its last socket, if that can connect again.
    fd: Option<OwnedFd>,
    generation: u16,
    state: State,
    /// `errno` of a failed send, reported once everything received has been returned.
    send_error: u16,
    unsent: Queue,
    /// Bytes of the stream that the backend may still discard.
    discard: u32,
    /// Time-stamp state, if the connection is stamped.
    stamps: Option<Box<Stamps>>,
    is_tcp: bool,
    /// Address family of a socket that can connect again after closing; otherwise 0.
    family: u8,
    /// True if the number was taken from `numbers`; it is returned there on close.
    numbered: bool,
    /// True if large bodies are discarded.
    discards: bool,
    /// True if the connection is in `unflushed`.
    dirty: bool,
    /// True if the kernel's send buffer is full: writing has to wait for `EPOLLOUT`.
    blocked: bool,
    /// True if the connection is in `again`.
    again: bool,
    /// True if the peer has ended or the socket has failed: read until that is seen.
    drain: bool,
    /// True if `Closed` has been reported.
    ended: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed,
    /// `Failed` is queued in `failed_connects`; there is no socket any more.
    Failing,
    Connecting,
    Open,
}

impl Conn {
    fn new() -> Conn {
        Conn {
            fd: None,
            // One before the first.
            generation: u16::MAX,
            state: State::Closed,
            send_error: 0,
            unsent: Queue::EMPTY,
            discard: 0,
            stamps: None,
            is_tcp: false,
            family: 0,
            numbered: false,
            discards: false,
            dirty: false,
            blocked: false,
            again: false,
            drain: false,
            ended: false,
        }
    }

    /// True if there is a socket that its owner may use.
    #[inline]
    fn is_live(&self) -> bool {
        matches!(self.state, State::Connecting | State::Open)
    }
}

/// An event whose bytes are the first `usize` bytes of the buffer.
type RawEvent = raw_event::RawEvent<usize>;

impl Epoll {
    /// Creates a backend without connections.
    ///
    /// # Errors
    /// If no descriptor is left.
    pub fn new(options: BackendOptions) -> io::Result<Epoll> {
        let poller = Poller::new(Token::new(kind::TIMER, 0, 0).pack(), options.connections)?;
        if let Some(waker) = &options.waker {
            let word = Token::new(kind::WAKER, 0, 0).pack();
            poller.watch(waker.as_raw_fd(), libc::EPOLLIN | libc::EPOLLET, word)?;
        }
        Ok(Epoll {
            clock: options.clock,
            poller,
            waker: options.waker,
            margin: Margin::new(),
            conns: Vec::new(),
            outgoing: Outgoing::new(),
            buffer: vec![0; BUFFER_BYTES].into_boxed_slice(),
            unflushed: Vec::new(),
            again: VecDeque::new(),
            reads_again: 0,
            failed_connects: VecDeque::new(),
            busy: Vec::new(),
            doors: Vec::new(),
            numbers: Numbers::below(options.connections),
            accepts: 0,
            retry_at: Nanos::MAX,
            lingering: Slab::new(),
            found: None,
            parked: VecDeque::new(),
            transmitting: Vec::new(),
            wall: Wall::new(options.clock),
            spinning: Spinning::default(),
            failing: Failing::default(),
            tcp: TcpTally::default(),
            nap_ns: NAP_MIN_NS,
            woken: false,
        })
    }

    /// Looks for an event until one is found or those of the kernel are used up.
    fn step(&mut self) -> Option<RawEvent> {
        if let Some(raw_event) = self.parked.pop_front() {
            return Some(raw_event);
        }
        while let Some((events, word)) = self.poller.take() {
            let token = Token::unpack(word);
            let raw_event = match token.kind {
                kind::CONN => self.on_ready(token.index, token.generation, events),
                kind::WAKER => {
                    self.woken = true;
                    None
                }
                kind::DOOR => {
                    self.doors[token.index as usize].knocked();
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
        if let Some(raw_event) = self.next_failed_connect().or_else(|| self.next_accepted()) {
            return Some(raw_event);
        }
        while self.reads_again < READS_AGAIN
            && let Some(index) = self.again.pop_front()
        {
            self.reads_again += 1;
            let conn = &self.conns[index as usize];
            if conn.again
                && let Some(raw_event) = self.read(index)
            {
                return Some(raw_event);
            }
        }
        None
    }

    fn on_ready(&mut self, index: u32, generation: u16, events: c_int) -> Option<RawEvent> {
        const ENDING: c_int = libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR;
        let conn = &mut self.conns[index as usize];
        if conn.generation != generation || !conn.is_live() {
            return None;
        }
        if conn.state == State::Connecting {
            return self.on_connected(index, events);
        }
        let mut events = events;
        if let (Some(stamps), Some(fd)) = (&mut conn.stamps, &conn.fd)
            && events & (libc::EPOLLERR | libc::EPOLLHUP) == libc::EPOLLERR
            && stamps.collect(fd)
        {
            // The entry in the error queue caused this event. A failed socket reports a hang-up as
            // well.
            events &= !libc::EPOLLERR;
        }
        conn.drain |= events & ENDING != 0;
        let is_readable = events & (libc::EPOLLIN | ENDING) != 0;
        if events & libc::EPOLLOUT != 0 && conn.blocked {
            conn.blocked = false;
            // Not written here: more may have been queued meanwhile, and no byte may leave before
            // the time stamp of its submit has been read.
            self.write_later(index);
        }
        if is_readable { self.read(index) } else { None }
    }

    /// True if there is an event to find without another epoll_wait(2).
    fn has_more(&self) -> bool {
        !self.poller.is_drained()
            || !self.again.is_empty()
            || !self.failed_connects.is_empty()
            || self.can_accept()
    }

    fn flush(&mut self) {
        let mut unflushed = std::mem::take(&mut self.unflushed);
        for index in unflushed.drain(..) {
            let conn = &mut self.conns[index as usize];
            conn.dirty = false;
            if conn.state == State::Open && !conn.blocked {
                self.write(index);
            }
        }
        self.unflushed = unflushed;
    }

    /// Reads the error queues of connections that have just sent. On loopback the stamp is there as
    /// soon as the send returns. A stamp left there would wake the next wait for nothing.
    fn collect(&mut self) {
        for index in self.transmitting.drain(..) {
            let conn = &mut self.conns[index as usize];
            if let (Some(stamps), Some(fd)) = (&mut conn.stamps, &conn.fd) {
                stamps.collect(fd);
            }
        }
    }

    /// Spends one stretch of a wait. Returns true if the caller's instant has come.
    fn pause(&mut self, until: Nanos, policy: WaitPolicy) -> io::Result<bool> {
        if !self.poller.is_drained() {
            return Ok(false);
        }
        let now = self.clock.now();
        if self.retry_at <= now {
            self.retry();
        }
        if self.has_more() {
            // Other connections are read before one is read again.
            self.poller.wait(Timeout::Now)?;
            return Ok(until <= now);
        }
        let policy = self.spinning.temper(now, until, policy);
        let pause = Pause::plan(now, until.min(self.retry_at), policy, self.margin);
        match pause {
            Pause::Look => self.poller.wait(Timeout::Now)?,
            Pause::Spin | Pause::Attend(_) => {
                self.spinning.give_way(now, until);
                self.poller.wait(Timeout::Now)?;
            }
            Pause::Gather(until, events) => self.gather(until.since(now), events)?,
            Pause::Sleep(Nanos::MAX) => self.poller.wait(Timeout::Never)?,
            Pause::Sleep(wake_at) => {
                let epoch_ns = self.clock.epoch_monotonic_ns();
                self.poller.wait(Timeout::At(epoch_ns.saturating_add(wake_at.0)))?;
            }
        }
        if !self.poller.is_drained() {
            return Ok(until <= now);
        }
        let from = now;
        let now = self.clock.now();
        if let Pause::Spin | Pause::Attend(_) = pause {
            self.spinning.looked_in_vain(from, now);
        }
        if let Some(wake_at) = pause.teaches(policy)
            && now >= wake_at
        {
            self.margin.woke(now.since(wake_at));
        }
        Ok(until <= now)
    }

    /// Naps before it polls, because epoll wakes at the first event. The length of the nap adapts
    /// to the number of events that arrived in the last one, so that about `events` arrive.
    fn gather(&mut self, within_ns: u64, events: u32) -> io::Result<()> {
        let nap_ns = self.nap_ns.min(within_ns);
        system::nap(nap_ns);
        self.poller.wait(Timeout::Now)?;
        self.nap_ns = if self.poller.len() > events as usize {
            nap_ns - nap_ns / 8
        } else {
            (nap_ns + nap_ns / 8 + NAP_MIN_NS).min(within_ns)
        };
        Ok(())
    }

    fn raw_event(&self, conn: u32, what: RawEventKind<usize>) -> RawEvent {
        let generation = self.conns[conn as usize].generation;
        RawEvent { conn, generation, at: self.clock.now(), what }
    }
}

impl Backend for Epoll {
    fn now(&mut self) -> Nanos {
        self.clock.now()
    }

    fn template(&mut self, bytes: Arc<[u8]>) -> TemplateId {
        self.outgoing.template(bytes)
    }

    fn pool(&mut self, bytes: &[u8]) -> PooledId {
        self.outgoing.pool(bytes)
    }

    fn connect(&mut self, conn: ConnId, to: &Endpoint, options: SocketOptions) {
        self.open(conn.0, to, options);
    }

    fn listen(&mut self, listener: Listener) -> io::Result<()> {
        self.open_door(listener)
    }

    fn send(&mut self, conn: ConnId, segments: &[Segment]) {
        let index = conn.0;
        let conn = self.conns.get_mut(conn.index());
        let conn = conn.filter(|conn| conn.is_live() && conn.send_error == 0);
        let Some(conn) = conn else { return self.forget(index, segments) };
        for segment in segments {
            self.outgoing.push(&mut conn.unsent, *segment);
        }
        self.write_later(index);
    }

    fn discard(&mut self, conn: ConnId, bytes: u64) {
        let Some(state) = self.conns.get_mut(conn.index()) else { return };
        if state.stamps.is_some() {
            // Discarded bytes have no time stamp.
            return;
        }
        // A permission may be used in part.
        state.discard = u32::try_from(bytes).unwrap_or(u32::MAX);
        // Bytes already read but not returned yet are part of the permission.
        if let Some(RawEvent { conn: found, what: RawEventKind::Received(read, _), .. }) =
            self.found
            && found == conn.0
        {
            state.discard = state.discard.saturating_sub(saturated(read));
        }
    }

    fn close(&mut self, conn: ConnId, how: Close) {
        self.found.take_if(|found| found.conn == conn.0);
        self.parked.retain(|parked| parked.conn != conn.0);
        if self.conns.get(conn.index()).is_some_and(|conn| conn.state != State::Closed) {
            self.part(conn.0, how);
        }
    }

    fn submit(&mut self) -> Submitted {
        let before = self.clock.now();
        if self.unflushed.is_empty() {
            return Submitted { before, after: before };
        }
        self.flush();
        let after = self.clock.now();
        self.collect();
        Submitted { before, after }
    }

    fn wait(&mut self, until: Nanos, mut policy: WaitPolicy) -> io::Result<()> {
        loop {
            self.flush();
            self.found = self.found.take().or_else(|| self.parked.pop_front());
            if self.found.is_some() {
                return Ok(());
            }
            self.collect();
            self.reads_again = 0;
            self.accepts = ACCEPTS;
            let is_due = self.pause(until, policy)?;
            self.found = self.step();
            let woken = std::mem::take(&mut self.woken);
            if self.found.is_some() || woken || is_due {
                return Ok(());
            }
            policy = policy.go_on();
        }
    }

    fn usage(&mut self) -> ThreadUsage {
        self.spinning.usage()
    }

    fn unsent_bytes(&mut self) -> u64 {
        self.failing.told()
    }

    fn tcp(&self) -> TcpTally {
        self.tcp.clone()
    }

    fn next(&mut self) -> Option<Event<'_>> {
        let raw_event = self.found.take().or_else(|| self.step())?;
        Some(raw_event.lend(|len| &mut self.buffer[..len]))
    }
}

/// Converts a number of bytes, saturating at the largest permission to discard.
fn saturated(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_are_forty_megabytes() {
        assert_eq!(size_of::<Conn>(), 40);
    }
}
