//! The way of events to the lane: takes in the events of sockets and timers, passes bytes through
//! the layers to the lane, and returns an [`Action`] for the worker to apply to the socket. This
//! room may call the lane, the pool and all that they may call. It neither sleeps nor reads a
//! clock.

mod ending;
mod opening;

use weir_io::{Backend, Close, ConnId, Event, EventKind, Nanos};

use crate::connections::SocketState;
use crate::exchange::{ExchangePlace, SlotPhase};
use crate::lane::{After, Lane, StringRoom};
use crate::pool::ConnectionPool;
use crate::requests::{Batch, RequestForm};
use crate::tls::TlsError;

/// Connections closed per submission at the end of the run.
const CLOSE_BATCH: u32 = 1024;

/// The action to apply to the socket after an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Leave the socket as it is.
    None,
    /// Close a socket that has failed. Some requests may be unsent, see [`Lane::unsend`].
    Failed,
    /// Discard the next bytes, which are part of a body that is not needed.
    Discard(u64),
    /// Close it.
    Close(Close),
}

/// Handles the events of a worker's connections with its lane.
#[derive(Debug)]
pub(crate) struct Handler<L> {
    pub(crate) lane: L,
}

impl<L: Lane> Handler<L> {
    /// True if there is a connection for a script's batch, or never will be.
    pub(crate) fn has_room_for(&self, pool: &ConnectionPool, batch: &Batch) -> bool {
        let room = |conn| self.lane.string_room(pool, conn, batch);
        let next = pool.connections.ready.peek();
        batch.reserved.is_some() || next.is_some_and(|conn| room(conn) != StringRoom::Later)
    }

    /// Returns an upper bound of the connections that wait for a response; with streams, of the
    /// streams.
    #[inline]
    pub(crate) fn busy(&self, pool: &ConnectionPool) -> u32 {
        let in_flight = pool.connections.in_flight();
        match L::Request::STREAMS {
            true => in_flight as u32,
            false => in_flight.min(pool.connections.open()) as u32,
        }
    }

    /// Handles one event; returns the action to apply to the socket.
    #[inline(always)]
    pub(crate) fn handle(&mut self, pool: &mut ConnectionPool, event: Event<&mut [u8]>) -> Action {
        let Event { conn, at, kind, .. } = event;
        pool.received_at = None;
        match kind {
            EventKind::Received { bytes, rx_at } => {
                pool.received_at = rx_at;
                match pool.layers.are_plain {
                    true => self.received(pool, conn, bytes, at),
                    false => self.received_in_layers(pool, conn, bytes, at),
                }
            }
            EventKind::Discarded(bytes) => {
                let after = self.lane.discarded(pool, conn, bytes, at);
                self.follow(pool, conn, after, at)
            }
            EventKind::Connected => self.connected(pool, conn, at),
            EventKind::Closed => self.ended_by_peer(pool, conn, at),
            EventKind::Failed(error) => {
                self.lane.note_failing(pool, conn);
                self.fail_socket(pool, conn, &error, at);
                Action::Failed
            }
            EventKind::Transmitted { tx_at } => {
                pool.ledger.stamping.transmitted(conn, tx_at);
                Action::None
            }
            // The load does not listen.
            EventKind::Accepted => Action::None,
        }
    }

    /// Counts the room for requests of `conn`, which has opened or `is_closing`, if connections
    /// come and leave by plan. Streams are counted by their lane.
    fn count_room(&mut self, pool: &mut ConnectionPool, conn: ConnId, at: Nanos, is_closing: bool) {
        let ConnectionPool { timeline, connections, ledger, .. } = pool;
        if L::Request::STREAMS || !connections.presence.is_staged() {
            return;
        }
        let state = connections.at(conn).state;
        let is_open =
            matches!(state, SocketState::Open | SocketState::Retiring | SocketState::Closing);
        let (before, now) = if is_closing { (1, 0) } else { (0, 1) };
        if is_open {
            let depth = connections.limits.depth;
            ledger.recorder.capacity(timeline, at, before * depth, now * depth);
        }
    }

    /// Passes bytes without layers to the lane.
    #[inline]
    fn received(
        &mut self,
        pool: &mut ConnectionPool,
        conn: ConnId,
        bytes: &[u8],
        at: Nanos,
    ) -> Action {
        let after = self.lane.received(pool, conn, bytes, at);
        self.follow(pool, conn, after, at)
    }

    /// Acts on the state of `conn` after its lane has handled something.
    #[inline]
    fn follow(
        &mut self,
        pool: &mut ConnectionPool,
        conn: ConnId,
        after: After,
        at: Nanos,
    ) -> Action {
        match after {
            After::Open => Action::None,
            After::Discard(bytes) => Action::Discard(bytes),
            After::Drained => self.renew(pool, conn, at),
            After::TimedOut => self.time_out(pool, conn, at),
            After::Failed => self.fail_by_peer(pool, conn, at),
        }
    }

    /// Hands the requests dispatched on `conn` to the backend. `request` is the one that is sent
    /// each time; `None` if a script makes them.
    #[inline]
    pub(crate) fn flush(
        &mut self,
        pool: &mut ConnectionPool,
        backend: &mut impl Backend,
        conn: ConnId,
        request: Option<&L::Request>,
        now: Nanos,
    ) -> Action {
        match self.lane.flush(pool, backend, conn, request) {
            Ok(()) => Action::None,
            Err(error) => self.fail_secure(pool, conn, &error, now),
        }
    }

    /// Handles a failure of the TLS of `conn`.
    #[cold]
    pub(crate) fn fail_secure(
        &mut self,
        pool: &mut ConnectionPool,
        conn: ConnId,
        error: &TlsError,
        at: Nanos,
    ) -> Action {
        let after = After::insecure(pool, error);
        self.follow(pool, conn, after, at)
    }

    /// Handles the timer of a connection, or arms it again.
    pub(crate) fn expire(&mut self, pool: &mut ConnectionPool, conn: ConnId, now: Nanos) -> Action {
        if pool.connections.retires_at(conn) <= now {
            return self.outlive(pool, conn, now);
        }
        let ConnectionPool { connections, layers, ledger, .. } = pool;
        let connection = connections.at(conn);
        let state = connection.state;
        let due = match state {
            SocketState::Connecting | SocketState::Handshaking => {
                connection.at.after(connections.limits.connect_timeout_ns)
            }
            _ => connection.at,
        };
        match state {
            SocketState::Queued => Action::None,
            SocketState::Open | SocketState::Retiring => self.expire_requests(pool, conn, now),
            _ if now < due => {
                connections.deadlines.arm(conn, due);
                Action::None
            }
            SocketState::Connecting | SocketState::Handshaking => {
                self.fail_connect(pool, conn, now)
            }
            SocketState::Closed => {
                if connections.presence.comes(conn, due) {
                    ledger.connections.joined();
                }
                connections.queue(conn, now);
                Action::None
            }
            SocketState::Closing => {
                layers.announce_close(conn);
                self.close_unanswered(pool, conn, now)
            }
        }
    }

    /// Handles the requests that are overdue on an open connection. If it stays open, arms its
    /// timer for the end of its lifetime, and for the timeout of its oldest request if that is
    /// earlier.
    fn expire_requests(&mut self, pool: &mut ConnectionPool, conn: ConnId, now: Nanos) -> Action {
        let after = self.lane.expire_requests(pool, conn, now);
        let action = self.follow(pool, conn, after, now);
        if action == Action::None {
            let oldest = self.lane.oldest(pool, conn);
            let connections = &mut pool.connections;
            let overdue_at = oldest.map_or(Nanos::MAX, |at| connections.limits.overdue_at(at));
            let retires_at = connections.retires_at(conn);
            connections.deadlines.arm(conn, retires_at.min(overdue_at));
        }
        action
    }

    /// Censors the members of M that are still in flight at the end of the run. Their responses are
    /// still awaited, so that the server has responded to every request, but no longer measured.
    pub(crate) fn censor(&mut self, pool: &mut ConnectionPool, now: Nanos) {
        for (place, exchange) in self.lane.live() {
            if exchange.phase == SlotPhase::Measured {
                pool.ledger.censored(&pool.timeline, place, exchange, now);
                (exchange.phase, exchange.is_resolved) = (SlotPhase::Tail, true);
            }
        }
        for (conn, exchange) in self.lane.take_returned() {
            let place = ExchangePlace { conn, id: ExchangePlace::NO_ID };
            pool.ledger.censored(&pool.timeline, place, &exchange, now);
        }
    }

    /// Ends the exchanges still in flight because the sockets are about to be closed.
    pub(crate) fn abandon(&mut self, pool: &mut ConnectionPool, now: Nanos) {
        for (place, exchange) in self.lane.live() {
            pool.ledger.abandoned(&pool.timeline, place, exchange, now);
        }
    }

    /// Closes the socket of every connection, after the run.
    pub(crate) fn close_all(&mut self, pool: &mut ConnectionPool, backend: &mut impl Backend) {
        pool.record_opening_at_end();
        for conn in pool.connections.all() {
            match pool.connections.at(conn).state {
                SocketState::Closed | SocketState::Queued => {}
                _ => {
                    self.announce_close(pool, conn);
                    pool.layers.send_output(conn, backend);
                    backend.close(conn, Close::Graceful);
                }
            }
            // The queue of sockets to close takes memory too.
            if conn.0 % CLOSE_BATCH == CLOSE_BATCH - 1 {
                backend.submit();
            }
        }
    }
}
