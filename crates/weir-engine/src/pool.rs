//! The connections of one worker at work: takes in the events of their sockets, passes bytes
//! through the layers to the lane, and returns an [`Action`] for the worker to apply to the socket.
//! Nothing here sleeps or reads a clock. This room may call the lane and all that the lane may
//! call.

mod ending;
mod opening;

use weir_io::{Backend, Close, ConnId, Event, EventKind, Nanos};

use crate::connections::{Connections, Layers, SocketState};
use crate::exchange::{ExchangePlace, SlotPhase};
use crate::job::Job;
use crate::lane::{After, Lane, PoolState, StringRoom};
use crate::live::WorkerFrame;
use crate::record::{Ledger, Recorder};
use crate::requests::{Batch, Demand, RequestForm, SlotSource};
use crate::time::Timeline;
use crate::tls::TlsError;

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

/// The connections of one worker.
#[derive(Debug)]
pub(crate) struct ConnectionPool<L> {
    pub(crate) shared: PoolState,
    pub(crate) lane: L,
}

impl<L: Lane> ConnectionPool<L> {
    /// Returns the pool of a worker of `job`.
    pub(crate) fn new(
        job: &Job,
        timeline: Timeline,
        connections: Connections,
        ledger: Ledger,
        lane: L,
    ) -> ConnectionPool<L> {
        let layers = Layers::new(job, connections.limits.connections);
        ConnectionPool { shared: PoolState::new(timeline, connections, layers, ledger), lane }
    }

    /// Returns the worker's frame at `now`, with `backlog` slots due and unsent.
    pub(crate) fn frame(&self, now: Nanos, backlog: u64) -> WorkerFrame {
        let counts = &self.shared.connections.counts;
        let frame =
            self.shared.ledger.frame(self.shared.timeline.start, now, counts.in_flight, backlog);
        WorkerFrame { open: counts.open, ..frame }
    }

    /// Returns the ledger's recorder.
    #[inline(always)]
    pub(crate) fn recorder(&self) -> &Recorder {
        &self.shared.ledger.recorder
    }

    /// Returns the ledger's recorder, to change it.
    #[inline(always)]
    pub(crate) fn recorder_mut(&mut self) -> &mut Recorder {
        &mut self.shared.ledger.recorder
    }

    /// Counts the requests that the last failed socket did not send; `bytes` bytes were left.
    #[cold]
    pub(crate) fn unsend(&mut self, bytes: u64, request: Option<&L::Request>) {
        self.lane.unsend(&mut self.shared, bytes, request);
    }

    /// Returns the demand for requests by `slots`.
    pub(crate) fn demand<'a>(&'a mut self, slots: &'a SlotSource) -> Demand<'a> {
        let timeline = &self.shared.timeline;
        Demand { slots, timeline, connections: &mut self.shared.connections }
    }

    /// True if there is a connection for a script's batch, or never will be.
    pub(crate) fn has_room_for(&self, batch: &Batch) -> bool {
        let room = |conn| self.lane.string_room(&self.shared, conn, batch);
        let next = self.shared.connections.ready.peek();
        batch.reserved.is_some() || next.is_some_and(|conn| room(conn) != StringRoom::Later)
    }

    /// Returns an upper bound of the connections with requests in flight, or the number of streams.
    #[inline]
    pub(crate) fn busy(&self) -> u32 {
        L::busy(&self.shared.connections.counts) as u32
    }

    /// Handles one event; returns the action to apply to the socket.
    pub(crate) fn handle(&mut self, event: Event<&mut [u8]>) -> Action {
        let Event { conn, at, kind, .. } = event;
        self.shared.received_at = None;
        match kind {
            EventKind::Received { bytes, rx_at } => {
                self.shared.received_at = rx_at;
                match self.shared.layers.are_plain {
                    true => self.received(conn, bytes, at),
                    false => self.received_in_layers(conn, bytes, at),
                }
            }
            EventKind::Discarded(bytes) => {
                let after = self.lane.discarded(&mut self.shared, conn, bytes, at);
                self.follow(conn, after, at)
            }
            EventKind::Connected => self.connected(conn, at),
            EventKind::Closed => self.ended_by_peer(conn, at),
            EventKind::Failed(error) => {
                self.lane.note_failing(&self.shared, conn);
                self.fail_socket(conn, &error, at);
                Action::Failed
            }
            EventKind::Transmitted { tx_at } => {
                self.shared.ledger.stamping.transmitted(conn, tx_at);
                Action::None
            }
            // The load does not listen.
            EventKind::Accepted => Action::None,
        }
    }

    /// Counts the room for requests of `conn`, which has opened or `is_closing`, if connections
    /// come and leave by plan. Streams are counted by their lane.
    fn count_room(&mut self, conn: ConnId, at: Nanos, is_closing: bool) {
        let connections = &self.shared.connections;
        if L::Request::STREAMS || !connections.presence.is_staged() {
            return;
        }
        let state = connections.at(conn).state;
        let is_open =
            matches!(state, SocketState::Open | SocketState::Retiring | SocketState::Closing);
        let (before, now) = if is_closing { (1, 0) } else { (0, 1) };
        if is_open {
            let depth = connections.limits.depth;
            self.shared.ledger.recorder.capacity(
                &self.shared.timeline,
                at,
                before * depth,
                now * depth,
            );
        }
    }

    /// Passes bytes without layers to the lane.
    #[inline]
    fn received(&mut self, conn: ConnId, bytes: &[u8], at: Nanos) -> Action {
        let after = self.lane.received(&mut self.shared, conn, bytes, at);
        self.follow(conn, after, at)
    }

    /// Acts on the state of `conn` after its lane has handled something.
    #[inline]
    fn follow(&mut self, conn: ConnId, after: After, at: Nanos) -> Action {
        match after {
            After::Open => Action::None,
            After::Discard(bytes) => Action::Discard(bytes),
            After::Drained => self.renew(conn, at),
            After::TimedOut => self.time_out(conn, at),
            After::Failed => self.fail_by_peer(conn, at),
        }
    }

    /// Hands the requests dispatched on `conn` to the backend. `request` is the one that is sent
    /// each time; `None` if a script makes them.
    #[inline]
    pub(crate) fn flush(
        &mut self,
        backend: &mut impl Backend,
        conn: ConnId,
        request: Option<&L::Request>,
        now: Nanos,
    ) -> Action {
        match self.lane.flush(&mut self.shared, backend, conn, request) {
            Ok(()) => Action::None,
            Err(error) => self.fail_secure(conn, &error, now),
        }
    }

    /// Handles a failure of the TLS of `conn`.
    #[cold]
    pub(crate) fn fail_secure(&mut self, conn: ConnId, error: &TlsError, at: Nanos) -> Action {
        let after = self.shared.insecure(error);
        self.follow(conn, after, at)
    }

    /// Handles the timer of a connection, or arms it again.
    pub(crate) fn expire(&mut self, conn: ConnId, now: Nanos) -> Action {
        let PoolState { connections, layers, ledger, .. } = &mut self.shared;
        if connections.retires_at(conn) <= now {
            return self.outlive(conn, now);
        }
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
            SocketState::Open | SocketState::Retiring => self.expire_requests(conn, now),
            _ if now < due => {
                connections.deadlines.arm(conn, due);
                Action::None
            }
            SocketState::Connecting | SocketState::Handshaking => self.fail_connect(conn, now),
            SocketState::Closed => {
                let has_come = connections.presence.comes(conn, due);
                ledger.connections.counts.joined += u64::from(has_come);
                connections.queue(conn, now);
                Action::None
            }
            SocketState::Closing => {
                layers.announce_close(conn);
                self.close_unanswered(conn, now)
            }
        }
    }

    /// Handles the requests that are overdue on an open connection. If it stays open, arms its
    /// timer for the end of its lifetime, and for the timeout of its oldest request if that is
    /// earlier.
    fn expire_requests(&mut self, conn: ConnId, now: Nanos) -> Action {
        let after = self.lane.expire_requests(&mut self.shared, conn, now);
        let action = self.follow(conn, after, now);
        if action == Action::None {
            let oldest = self.lane.oldest(&self.shared, conn);
            let timeout_ns = self.shared.connections.limits.timeout_ns;
            let overdue_at = oldest.map_or(Nanos::MAX, |at| at.after(timeout_ns));
            let retires_at = self.shared.connections.retires_at(conn);
            self.shared.connections.deadlines.arm(conn, retires_at.min(overdue_at));
        }
        action
    }

    /// Censors the members of M that are still in flight at the end of the run. Their responses are
    /// still awaited, so that the server has responded to every request, but no longer measured.
    pub(crate) fn censor(&mut self, now: Nanos) {
        for (place, exchange) in self.lane.live() {
            if exchange.phase == SlotPhase::Measured {
                self.shared.ledger.censored(&self.shared.timeline, place, exchange, now);
                (exchange.phase, exchange.is_resolved) = (SlotPhase::Tail, true);
            }
        }
        for (conn, exchange) in self.lane.take_returned() {
            let place = ExchangePlace { conn, id: ExchangePlace::NO_ID };
            self.shared.ledger.censored(&self.shared.timeline, place, &exchange, now);
        }
    }

    /// Ends the exchanges still in flight because the sockets are about to be closed.
    pub(crate) fn abandon(&mut self, now: Nanos) {
        for (place, exchange) in self.lane.live() {
            self.shared.ledger.abandoned(&self.shared.timeline, place, exchange, now);
        }
    }
}
