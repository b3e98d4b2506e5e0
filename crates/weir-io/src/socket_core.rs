//! The part that all backends on the kernel's sockets share: connections and their numbers, unsent
//! bytes, events found but not returned yet, time stamps, kernel counters, and the plan of a wait.
//!
//! It never sleeps, receives or sends, as engines differ in exactly that. Each engine owns a
//! [`SocketCore`] and calls it; the core is independent of the engines.

use std::collections::VecDeque;
use std::io;

use crate::backend::{ConnId, Segment, WaitPolicy};
use crate::capabilities::Capabilities;
use crate::failing::Failing;
use crate::margin::{Margin, WaitMethod};
use crate::numbers::Numbers;
use crate::outgoing::Outgoing;
use crate::raw_event::{RawEvent, RawEventKind};
use crate::slab::{NONE, Slab};
use crate::socket::SockAddr;
use crate::stamps::Stamps;
use crate::tcp::TcpTally;
use crate::time::{Clock, Nanos};
use crate::token::Token;
use crate::usage::Spinning;
use crate::wall::Wall;

mod conn;
mod ending;
mod opening;
mod stamped;

pub(crate) use conn::{Conn, ConnState};

/// Capabilities of every backend that owns a [`SocketCore`].
pub(crate) const CAPABILITIES: Capabilities = Capabilities {
    listen: true,
    sources: true,
    stamps: true,
    tcp: true,
    unsent_bytes: true,
    usage: true,
};

/// The methods of [`Backend`](crate::Backend) that are the same in every engine.
macro_rules! core_calls {
    () => {
        const CAPABILITIES: $crate::Capabilities = $crate::socket_core::CAPABILITIES;

        fn now(&mut self) -> $crate::Nanos {
            self.core.clock.now()
        }

        fn template(&mut self, bytes: std::sync::Arc<[u8]>) -> $crate::TemplateId {
            self.core.outgoing.template(bytes)
        }

        fn pool(&mut self, bytes: &[u8]) -> $crate::PooledId {
            self.core.outgoing.pool(bytes)
        }

        fn connect(
            &mut self,
            conn: $crate::ConnId,
            to: &$crate::Endpoint,
            options: $crate::SocketOptions,
        ) {
            let is_in_use = self.core.is_in_use(conn);
            debug_assert!(!is_in_use, "connection in use");
            if is_in_use {
                self.close(conn, $crate::Close::Graceful);
            }
            self.open(conn, to, options);
        }

        fn send(&mut self, conn: $crate::ConnId, segments: &[$crate::Segment]) {
            self.core.send(conn, segments);
        }

        fn usage(&mut self) -> $crate::ThreadUsage {
            self.core.spinning.usage()
        }

        fn busy_ns(&self) -> u64 {
            self.core.spinning.busy_ns()
        }

        fn keep_cpu(&mut self, until: $crate::Nanos) {
            self.core.spinning.keep_cpu(until);
        }

        fn unsent_bytes(&mut self) -> u64 {
            self.core.failing.reported
        }

        fn tcp(&self) -> $crate::TcpTally {
            self.core.tcp.clone()
        }
    };
}
pub(crate) use core_calls;

/// State shared by the backends; `C` is the state of a connection that only one of them has.
pub(crate) struct SocketCore<C> {
    pub(crate) clock: Clock,
    pub(crate) conns: Vec<Conn<C>>,
    /// Numbers of accepted connections.
    pub(crate) numbers: Numbers,
    pub(crate) outgoing: Outgoing,
    /// Connections with bytes to send at the next submission; each once, if its `dirty` is set.
    pub(crate) to_send: Vec<u32>,
    /// Failures that the kernel does not report again, by connection and generation.
    pub(crate) failures: VecDeque<(u32, u16, io::Error)>,
    /// Work that is tried again later.
    pub(crate) retries: Retries,
    /// The first event of the batch, found while waiting.
    pub(crate) found: Option<RawEvent>,
    /// Events of one receive that produced several; the last of them has the bytes.
    pub(crate) parked: VecDeque<RawEvent>,
    /// Time stamps of stamped connections.
    pub(crate) stamps: StampedConns,
    pub(crate) spinning: Spinning,
    margin: Margin,
    pub(crate) failing: Failing,
    pub(crate) tcp: TcpTally,
    /// True if the waker was used since the last wait.
    pub(crate) woken: bool,
}

/// Work that is tried again later, because a listener or a table was full.
pub(crate) struct Retries {
    /// Unix connects to retry once the listener has room, by connection and generation.
    busy: Vec<(u32, u16, SockAddr)>,
    /// Time of the next retry of `busy` and of the paused listeners.
    pub(crate) at: Nanos,
}

/// Connections whose packets have time stamps.
pub(crate) struct StampedConns {
    pub(crate) states: Slab<Stamps>,
    /// Those that have sent bytes since their error queues were last read.
    pub(crate) transmitting: Vec<u32>,
    wall: Wall,
}

impl<C: Default> SocketCore<C> {
    /// Creates the state of a backend that accepts up to `connections` connections.
    pub(crate) fn new(clock: Clock, connections: u32) -> SocketCore<C> {
        SocketCore {
            clock,
            conns: Vec::new(),
            numbers: Numbers::below(connections),
            outgoing: Outgoing::new(),
            to_send: Vec::new(),
            failures: VecDeque::new(),
            retries: Retries { busy: Vec::new(), at: Nanos::MAX },
            found: None,
            parked: VecDeque::new(),
            stamps: StampedConns {
                states: Slab::default(),
                transmitting: Vec::new(),
                wall: Wall::new(clock),
            },
            spinning: Spinning::default(),
            margin: Margin::new(),
            failing: Failing::default(),
            tcp: TcpTally::default(),
            woken: false,
        }
    }

    /// Queues segments on a connection; drops them if it has failed or is closed.
    #[inline]
    pub(crate) fn send(&mut self, conn: ConnId, segments: &[Segment]) {
        let state = self.conns.get_mut(conn.index());
        let state = state.filter(|state| state.is_live() && state.send_error == 0);
        let Some(state) = state else { return self.forget(conn.0, segments) };
        for segment in segments {
            self.outgoing.push(&mut state.unsent, *segment);
        }
        self.send_later(conn.0);
    }

    /// Schedules a connection's unsent bytes for the next submission.
    #[inline]
    pub(crate) fn send_later(&mut self, index: u32) {
        let conn = &mut self.conns[index as usize];
        if !conn.dirty {
            conn.dirty = true;
            self.to_send.push(index);
        }
    }

    /// Returns the connection that a report of the kernel is about, unless that socket is closed.
    #[inline]
    pub(crate) fn live(&mut self, of: Token) -> Option<&mut Conn<C>> {
        let conn = &mut self.conns[of.index as usize];
        (conn.generation == of.generation && conn.is_live()).then_some(conn)
    }

    /// Records a permission to discard, see [`Backend::discard`](crate::Backend::discard).
    pub(crate) fn discard(&mut self, conn: ConnId, bytes: u64) {
        let Some(state) = self.conns.get_mut(conn.index()) else { return };
        if state.stamps != NONE {
            // Discarded bytes have no time stamp.
            return;
        }
        // A permission may be used in part.
        state.discard = u32::try_from(bytes).unwrap_or(u32::MAX);
        // Bytes already received but not returned yet are part of the permission.
        if let Some(RawEvent { conn: found, kind: RawEventKind::Received { bytes, .. }, .. }) =
            &self.found
            && *found == conn
        {
            state.discard = state.discard.saturating_sub(bytes.len);
        }
    }

    /// Returns an event of a connection's current socket.
    #[inline]
    pub(crate) fn raw_event(&self, index: u32, kind: RawEventKind, at: Nanos) -> RawEvent {
        let generation = self.conns[index as usize].generation;
        RawEvent { conn: ConnId(index), generation, at, kind }
    }

    /// True if an event of the last batch has not been returned yet.
    #[inline]
    pub(crate) fn has_found(&mut self) -> bool {
        self.found = self.found.take().or_else(|| self.parked.pop_front());
        self.found.is_some()
    }

    /// Ends one stretch of a wait, with the event found in it. Returns true if it ends the wait.
    #[inline]
    pub(crate) fn ends_wait(&mut self, found: Option<RawEvent>, is_due: bool) -> bool {
        self.found = found;
        let woken = std::mem::take(&mut self.woken);
        self.found.is_some() || woken || is_due
    }

    /// Plans the next stretch of a wait. Also returns the policy it follows, which differs from
    /// `policy` if other threads need this CPU.
    #[inline]
    pub(crate) fn plan(
        &mut self,
        now: Nanos,
        until: Nanos,
        policy: WaitPolicy,
    ) -> (WaitMethod, WaitPolicy) {
        let policy = self.spinning.temper(now, until, policy);
        (WaitMethod::plan(now, until.min(self.retries.at), policy, self.margin), policy)
    }

    /// Adjusts the spin margin to a stretch, as planned, that ended at `now` without an event.
    #[inline]
    pub(crate) fn paused(&mut self, method: WaitMethod, policy: WaitPolicy, now: Nanos) {
        if let Some(wake_at) = method.teaches(policy)
            && now >= wake_at
        {
            self.margin.woke(now.since(wake_at));
        }
    }
}
