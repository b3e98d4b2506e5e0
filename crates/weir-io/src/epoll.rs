//! [`Backend`] by readiness: epoll and plain socket calls.
//!
//! It runs where io_uring does not, and where a kernel-bypass library loaded with LD_PRELOAD has to
//! see the calls. Each socket is registered once, for edges in both directions, and never again.
//! A harvest reads every ready connection once, into one buffer that all share; what the answers
//! to it queue is written after all reads.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use libc::c_int;

use crate::failing::Failing;
use crate::happened::{self, What};
use crate::margin::{Margin, Pause};
use crate::numbers::Numbers;
use crate::outgoing::{Outgoing, Queue};
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

use opening::Door;
use poller::{Poller, Timeout};
use transfer::Farewell;

/// What every socket is watched for.
const WATCHED: c_int = libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET;

/// The thread-wide receive buffer: on loopback, larger reads saved nothing more.
const BUFFER_BYTES: usize = 64 * 1024;

/// How many connections with more to read are read again within one harvest. What is left over is
/// read in the next one, so that a harvest ends however fast the peers send.
const READS_AGAIN: u32 = 64;

/// How many connections one harvest accepts.
const ACCEPTS: u32 = 64;

/// The shortest nap in which events gather, and the least by which one grows.
const NAP_MIN_NS: u64 = 2_000;

/// The kinds of [`Token`].
mod kind {
    pub(super) const CONN: u8 = 0;
    pub(super) const WAKER: u8 = 1;
    pub(super) const TIMER: u8 = 2;
    pub(super) const DOOR: u8 = 3;
    pub(super) const FAREWELL: u8 = 4;
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
    /// Connections with something to write at the next flush; each once.
    unflushed: Vec<u32>,
    /// Connections whose last read left something behind; each once, if its `again` is set.
    again: VecDeque<u32>,
    reads_again: u32,
    /// Connects that failed at once, which no event of the kernel announces.
    stillborn: VecDeque<(u32, u16, io::Error)>,
    /// Unix connects to be tried again once the listener has room.
    busy: Vec<(u32, u16, SockAddr)>,
    doors: Vec<Door>,
    numbers: Numbers,
    /// How many more connections this harvest may accept.
    accepts: u32,
    /// When to try again what `busy` and the paused doors wait for.
    retry_at: Nanos,
    /// Sockets closed by their owner with bytes still unsent.
    farewells: Slab<Farewell>,
    /// The first event of the harvest, found while waiting.
    found: Option<Happened>,
    /// Events of one read that was more than one; the last of them has the buffer.
    parked: VecDeque<Happened>,
    /// Stamped connections that have sent something since their error queues were last read.
    transmitting: Vec<u32>,
    wall: Wall,
    spinning: Spinning,
    failing: Failing,
    tcp: TcpTally,
    /// How long the next nap is, in which events gather.
    nap_ns: u64,
    woken: bool,
}

/// One connection. The size of this is what a hundred thousand of them cost.
struct Conn {
    /// Of a closed connection: its last socket, if that can connect again.
    fd: Option<OwnedFd>,
    generation: u16,
    state: State,
    /// `errno` of a failed send, to be reported once everything received has been lent.
    send_error: u16,
    unsent: Queue,
    /// How many bytes of the stream nobody wants to see.
    discard: u32,
    /// Of a stamped connection.
    stamps: Option<Box<Stamps>>,
    is_tcp: bool,
    /// The address family of a socket that may connect again afterwards; otherwise 0.
    family: u8,
    /// Its number was taken from `numbers`, and goes back there when it closes.
    numbered: bool,
    /// Is to discard large bodies.
    discards: bool,
    /// Stands in `unflushed`.
    dirty: bool,
    /// The kernel's send buffer is full: only `EPOLLOUT` makes sense of writing.
    blocked: bool,
    /// Stands in `again`.
    again: bool,
    /// The peer has ended or the socket has failed: read until that has been seen.
    drain: bool,
    /// `Closed` has been lent.
    ended: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed,
    /// Its `Failed` waits in `stillborn`; there is no socket any more.
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

    /// It has a socket that is its owner's to use.
    #[inline]
    fn is_live(&self) -> bool {
        matches!(self.state, State::Connecting | State::Open)
    }
}

/// The bytes of an event are the first so many of the buffer.
type Happened = happened::Happened<usize>;

impl Epoll {
    /// A backend without connections.
    ///
    /// # Errors
    /// When no descriptor is left.
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
            stillborn: VecDeque::new(),
            busy: Vec::new(),
            doors: Vec::new(),
            numbers: Numbers::below(options.connections),
            accepts: 0,
            retry_at: Nanos::MAX,
            farewells: Slab::new(),
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

    /// Looks for events until one is found or the kernel's are used up.
    fn step(&mut self) -> Option<Happened> {
        if let Some(happened) = self.parked.pop_front() {
            return Some(happened);
        }
        while let Some((events, word)) = self.poller.take() {
            let token = Token::unpack(word);
            let happened = match token.kind {
                kind::CONN => self.on_ready(token.index, token.generation, events),
                kind::WAKER => {
                    self.woken = true;
                    None
                }
                kind::DOOR => {
                    self.doors[token.index as usize].knocked();
                    None
                }
                kind::FAREWELL => {
                    self.go_on_with_farewell(token.index);
                    None
                }
                _ => None,
            };
            if happened.is_some() {
                return happened;
            }
        }
        if let Some(happened) = self.next_stillborn().or_else(|| self.next_accepted()) {
            return Some(happened);
        }
        while self.reads_again < READS_AGAIN
            && let Some(index) = self.again.pop_front()
        {
            self.reads_again += 1;
            let conn = &self.conns[index as usize];
            if conn.again
                && let Some(happened) = self.read(index)
            {
                return Some(happened);
            }
        }
        None
    }

    fn on_ready(&mut self, index: u32, generation: u16, events: c_int) -> Option<Happened> {
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
            // That is what the error was: something in the error queue. A socket that has failed
            // hangs up as well.
            events &= !libc::EPOLLERR;
        }
        conn.drain |= events & ENDING != 0;
        let is_readable = events & (libc::EPOLLIN | ENDING) != 0;
        if events & libc::EPOLLOUT != 0 && conn.blocked {
            conn.blocked = false;
            // Not here: more may have been queued meanwhile, and nothing queued may leave before
            // the stamp of its submit has been read.
            self.write_later(index);
        }
        if is_readable { self.read(index) } else { None }
    }

    /// Whether there is something to find without asking the kernel for news.
    fn has_more(&self) -> bool {
        !self.poller.is_drained()
            || !self.again.is_empty()
            || !self.stillborn.is_empty()
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

    /// Reads the error queues of what has just been sent, where a stamp is there as soon as the
    /// send returns, as on loopback. What is left there wakes the next wait for nothing.
    fn collect(&mut self) {
        for index in self.transmitting.drain(..) {
            let conn = &mut self.conns[index as usize];
            if let (Some(stamps), Some(fd)) = (&mut conn.stamps, &conn.fd) {
                stamps.collect(fd);
            }
        }
    }

    /// Spends one stretch of a wait. Says whether the caller's instant has come.
    fn pause(&mut self, until: Nanos, policy: WaitPolicy) -> io::Result<bool> {
        if !self.poller.is_drained() {
            return Ok(false);
        }
        let now = self.clock.now();
        if self.retry_at <= now {
            self.retry();
        }
        if self.has_more() {
            // The others have their turn before a connection is read again.
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

    /// Naps before it looks, as epoll wakes for the first event. How long it takes for `events` of
    /// them to come is learnt from what came in the last naps.
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

    fn happened(&self, conn: u32, what: What<usize>) -> Happened {
        let generation = self.conns[conn as usize].generation;
        Happened { conn, generation, at: self.clock.now(), what }
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
            // What is discarded has no stamp.
            return;
        }
        // A permission may be used in part.
        state.discard = u32::try_from(bytes).unwrap_or(u32::MAX);
        // What has been read but not lent yet is part of those bytes.
        if let Some(Happened { conn: found, what: What::Received(read, _), .. }) = self.found
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
        let happened = self.found.take().or_else(|| self.step())?;
        Some(happened.lend(|len| &mut self.buffer[..len]))
    }
}

/// A number of bytes, or the greatest that a permission to discard can be.
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
