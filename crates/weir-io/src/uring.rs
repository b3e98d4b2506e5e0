//! [`Backend`] by completion: io_uring.
//!
//! Receives are multishot into a pool of buffers that all connections share. Two cases differ.
//! Connections that discard bodies receive one request at a time. If there are very many
//! connections, they are polled, and read when ready. Successful sends produce no completion, see
//! `sending`. The trait's calls only record work. `prepare` turns it into submissions, in an order
//! that reuses a descriptor's number only after all submissions for its old socket.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use io_uring::{cqueue, opcode, types};

use crate::backend::{Backend, BackendOptions, Close, ConnId, Event, Submitted, WaitPolicy};
use crate::listener::Listener;
use crate::margin::WaitMethod;
use crate::raw_event::RawEvent;
use crate::socket_core::{self, SocketCore};
use crate::stamping;
use crate::time::Nanos;
use crate::token::Token;
use crate::waker::Waker;

mod acceptor;
mod alarm;
mod buffers;
mod ending;
mod kind;
mod notes;
mod opening;
mod pending_sends;
mod probe;
mod receiving;
mod requests;
mod ring;
mod sending;
mod stamped;
mod vectors;

use acceptor::UringAcceptor;
use alarm::Alarm;
use buffers::Buffers;
use notes::PendingWork;
use pending_sends::{Issued, SlowSends};
pub(crate) use probe::probe_uring;
use requests::{NOTHING, Requests};
use ring::{CompletionEntry, Ring};
use vectors::Vectors;

type UringConn = socket_core::Conn<Requests>;

/// Connections of a process above which receives are polled for.
const POLLED_FROM: u64 = 100_000;

/// [`Backend`] by completion: io_uring.
///
/// It must stay on the thread that created it; the kernel rejects others.
pub struct Uring {
    /// First, so that the ring is dropped before the memory that the kernel accesses through it.
    ring: Ring,
    core: SocketCore<Requests>,
    buffers: Buffers,
    vectors: Vectors,
    /// Message header for the receives of stamped connections.
    header: Box<libc::msghdr>,
    waker: Option<Waker>,
    alarm: Alarm,
    slow: SlowSends,
    acceptors: Vec<UringAcceptor>,
    /// Sockets accepted while no number was free.
    waiting: VecDeque<(OwnedFd, bool)>,
    notes: PendingWork,
    /// Sends of the current submission.
    issued: Vec<Issued>,
    /// Sends of the current submission that stalled, by connection: bytes sent, or `-errno`.
    stalls: Vec<(u32, i32)>,
    /// True if receives are polled for, and made only when there is something: a pending receive
    /// takes 600 bytes more in the kernel.
    polls: bool,
    /// Receives of that kind without a completion yet.
    receiving: u32,
    /// Connects of Unix sockets, which succeed without a completion, by connection and generation.
    connected: VecDeque<(u32, u16)>,
    /// Completions of this batch; `cursor` is the number of those processed.
    ready: Vec<CompletionEntry>,
    cursor: usize,
    /// Time after the last of `ready` had been seen.
    collected_at: Nanos,
    /// Completions since then, for the next batch.
    later: Vec<CompletionEntry>,
    /// An error of the ring that a call could not report.
    broken: Option<io::Error>,
}

impl Uring {
    /// Creates a backend without connections, for the calling thread.
    ///
    /// # Errors
    /// If the kernel has no io_uring, forbids it, or is too old; see
    /// [`Engine::probe`](crate::Engine::probe).
    pub fn new(options: BackendOptions) -> io::Result<Uring> {
        let (entries, completions) = ring::sizes(options.connections, options.backends);
        let ring = Ring::new(entries, completions)?;
        let polls = u64::from(options.connections) * u64::from(options.backends) > POLLED_FROM;
        let buffers = Buffers::new(&ring, options.connections, options.backends, polls)?;
        Ok(Uring {
            ring,
            core: SocketCore::new(options.clock, options.connections),
            buffers,
            vectors: Vectors::default(),
            header: Box::new(stamping::header()),
            notes: PendingWork { waker: options.waker.is_some(), ..PendingWork::default() },
            waker: options.waker,
            alarm: Alarm::default(),
            slow: SlowSends::default(),
            acceptors: Vec::new(),
            waiting: VecDeque::new(),
            issued: Vec::new(),
            stalls: Vec::new(),
            polls,
            receiving: 0,
            connected: VecDeque::new(),
            ready: Vec::new(),
            cursor: 0,
            collected_at: Nanos::ZERO,
            later: Vec::new(),
            broken: None,
        })
    }

    /// Looks for an event until one is found or the batch is used up.
    fn step(&mut self) -> Option<RawEvent> {
        if let Some(raw_event) = self.core.parked.pop_front() {
            return Some(raw_event);
        }
        while let Some(completion) = self.ready.get(self.cursor).copied() {
            self.cursor += 1;
            let raw_event = self.on_completion(completion);
            if raw_event.is_some() {
                return raw_event;
            }
        }
        self.next_arrived().or_else(|| self.next_accepted())
    }

    #[inline]
    fn on_completion(&mut self, completion: CompletionEntry) -> Option<RawEvent> {
        let token = Token::unpack(completion.word);
        match token.kind {
            kind::RECV => self.on_received(token, completion),
            kind::SKIP => self.on_skipped(token, completion),
            kind::STAMPED => self.on_received_stamped(token, completion),
            kind::POLL => self.on_polled(token, completion),
            kind::CONNECT => self.on_connected(token, completion),
            kind::SLOW => {
                self.on_slow_sent(token.index, completion.result);
                None
            }
            kind::ACCEPTOR => self.on_accepted(token.index, completion),
            kind::WAKER => {
                self.core.woken = true;
                self.notes.waker |= !cqueue::more(completion.flags);
                None
            }
            _ => None,
        }
    }

    /// Turns the recorded work into submissions. Returns true if not all of it found room.
    fn prepare(&mut self) -> io::Result<bool> {
        self.buffers.publish();
        self.notes.submit_endings(&mut self.ring)?;
        self.prepare_openings()?;
        self.prepare_receives()?;
        if std::mem::take(&mut self.notes.waker)
            && let Some(waker) = &self.waker
        {
            let fd = types::Fd(waker.as_raw_fd());
            let poll = opcode::PollAdd::new(fd, libc::POLLIN as u32).multi(true).build();
            // SAFETY: the entry points to nothing, and the eventfd lives as long as the ring.
            unsafe { self.ring.push(&poll.user_data(Token::pack(kind::WAKER, 0, 0)))? };
        }
        self.prepare_sends()
    }

    /// Collects the completions after an enter, and settles the sends submitted by it.
    fn absorb(&mut self) -> io::Result<()> {
        loop {
            for completion in self.ring.completions() {
                let token = Token::unpack(completion.word);
                match token.kind {
                    kind::SEND => self.stalls.push((token.index, completion.result)),
                    kind::ALARM => self.alarm.rang(),
                    _ => self.later.push(completion),
                }
            }
            if !self.ring.has_overflown() {
                break;
            }
            // The queue has room now for the completions that the kernel held back.
            self.ring.submit(true)?;
        }
        self.notes.forget_connects();
        self.vectors.clear();
        self.settle();
        Ok(())
    }

    /// Submits the recorded work, without running the kernel's deferred completion work.
    fn flush(&mut self) -> io::Result<()> {
        loop {
            let more = self.prepare()?;
            if self.ring.has_submissions() {
                self.ring.submit(false)?;
                self.absorb()?;
            }
            if !more {
                return Ok(());
            }
        }
    }

    /// Spends one stretch of a wait. Returns true if the caller's instant has come.
    fn pause(&mut self, until: Nanos, policy: WaitPolicy) -> io::Result<bool> {
        if self.cursor < self.ready.len() {
            self.flush()?;
            return Ok(false);
        }
        let now = self.core.clock.now();
        if self.core.retries.at <= now {
            self.retry();
        }
        let more = self.prepare()?;
        let (method, policy) = if more || self.has_more() {
            (WaitMethod::Look, policy)
        } else {
            self.core.plan(now, until, policy)
        };
        match method {
            WaitMethod::Look => self.ring.submit(true)?,
            WaitMethod::Spin => self.spin(now, until.min(self.core.retries.at))?,
            WaitMethod::Attend(awake_until) => {
                self.spin(now, awake_until.min(self.core.retries.at))?
            }
            WaitMethod::Sleep(wake_at) => self.sleep(now, wake_at, 1)?,
            WaitMethod::Gather(wake_at, events) => self.sleep(now, wake_at, events)?,
        }
        self.absorb()?;
        self.ready.clear();
        self.cursor = 0;
        std::mem::swap(&mut self.ready, &mut self.later);
        self.collected_at = self.core.clock.now();
        if self.ready.is_empty() {
            self.core.paused(method, policy, self.collected_at);
        }
        Ok(until <= self.collected_at)
    }

    /// Polls for completions until there are some or the time comes. The ring's flags show all
    /// completions that an enter would bring, so the loop makes no system call on the ring until
    /// then.
    fn spin(&mut self, mut now: Nanos, until: Nanos) -> io::Result<()> {
        if self.ring.has_submissions() {
            return self.ring.submit(true);
        }
        loop {
            if self.ring.has_news() {
                return self.ring.submit(true);
            }
            let from = now;
            self.core.spinning.give_way(now, until);
            now = self.core.clock.now();
            self.core.spinning.looked_in_vain(from, now);
            if now >= until || self.core.spinning.is_contended(now, until) {
                return Ok(());
            }
            std::hint::spin_loop();
        }
    }

    /// Sleeps until there are `events` completions, at least 1, or the time comes. A sleep for one
    /// may end early.
    fn sleep(&mut self, now: Nanos, wake_at: Nanos, events: u32) -> io::Result<()> {
        let span_ns = if wake_at == Nanos::MAX {
            None
        } else if events == 1 {
            let instant_ns = self.core.clock.epoch_monotonic_ns().saturating_add(wake_at.0);
            self.alarm.set(instant_ns, &mut self.ring)?;
            None
        } else {
            Some(wake_at.since(now))
        };
        self.ring.sleep(span_ns, events)
    }
}

impl Backend for Uring {
    socket_core::core_calls!();

    fn listen(&mut self, listener: Listener) -> io::Result<()> {
        self.acceptors.push(UringAcceptor::new(listener)?);
        Ok(())
    }

    fn discard(&mut self, conn: ConnId, bytes: u64) {
        self.core.discard(conn, bytes);
        let Some(state) = self.core.conns.get(conn.index()) else { return };
        if state.own.armed == kind::SKIP {
            // The pending receive has the size of the earlier permission.
            self.notes.cancels.push(Token::pack(kind::SKIP, state.generation, conn.0));
        }
    }

    fn close(&mut self, conn: ConnId, how: Close) {
        self.core.withdraw(conn.0, |filled| self.buffers.give_back(filled.buffer));
        if self.core.is_in_use(conn) {
            self.part(conn.0, how);
        }
    }

    fn submit(&mut self) -> Submitted {
        let before = self.core.clock.now();
        if let Err(error) = self.flush() {
            self.broken.get_or_insert(error);
        }
        let after = self.core.clock.now();
        self.core.collect_transmitted();
        Submitted { before, after }
    }

    fn wait(&mut self, until: Nanos, mut policy: WaitPolicy) -> io::Result<()> {
        self.buffers.take_back();
        if let Some(error) = self.broken.take() {
            return Err(error);
        }
        if self.core.has_found() {
            return self.flush();
        }
        self.core.collect_transmitted();
        loop {
            let is_due = self.pause(until, policy)?;
            let found = self.step();
            if self.core.ends_wait(found, is_due) {
                return Ok(());
            }
            policy = policy.go_on();
        }
    }

    fn next(&mut self) -> Option<Event<&mut [u8]>> {
        self.buffers.take_back();
        let RawEvent { conn, generation, at, kind } =
            self.core.found.take().or_else(|| self.step())?;
        Some(Event { conn, generation, at, kind: kind.map(|filled| self.buffers.lease(filled)) })
    }
}
