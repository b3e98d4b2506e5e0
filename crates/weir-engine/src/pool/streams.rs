//! Connections of a multiplexed protocol: requests as independent streams, what the protocol sends
//! and waits for of its own, and requests that the peer returned unprocessed.

use std::collections::VecDeque;
use std::sync::Arc;

use weir_http::{ProtocolError, Request, RequestId, StreamEvent, StreamEventKind};
use weir_io::{Close, ConnId, Nanos};
use weir_result::{ErrorKind, FailureCause};

use super::layers::Step;
use super::{Action, ConnectionPool, Slots, Told};
use crate::completion::{Completion, KernelTimes, Outcome, Response};
use crate::connection::State;
use crate::exchange::{Exchange, Phase};
use crate::protocol_slots::{NONE, StreamSlot};

/// Times that a returned request is sent again; if it is returned once more, it has failed.
const RESENDS_MAX: u8 = 3;

/// State of the streams of one worker.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    /// Events that are being handled.
    events: Vec<StreamEvent>,
    /// Requests that wait to be sent again, in the order of their return.
    returned: VecDeque<Returned>,
    /// True for connections that are freed as soon as nothing is in flight on them and they have
    /// room, if they carry one batch at a time.
    is_taken: Vec<bool>,
    /// Time at which the last stream of each connection ended.
    ended_at: Vec<Nanos>,
    /// Streams that each connection allows, as the recorder has them; empty with HTTP/1.
    allowed: Vec<u16>,
}

/// A request that the peer returned. It goes back to its slot with its intended time.
#[derive(Debug)]
struct Returned {
    /// Connection that it was returned on.
    conn: ConnId,
    exchange: Exchange,
    request: Arc<Request>,
    returned_at: Nanos,
    returns: u8,
}

impl Streams {
    /// Returns the state of `connections` connections, none of which is open.
    pub(super) fn new(connections: u32) -> Streams {
        let connections = connections as usize;
        Streams {
            is_taken: vec![false; connections],
            ended_at: vec![Nanos::ZERO; connections],
            allowed: vec![0; connections],
            ..Streams::default()
        }
    }

    /// Has `conn` freed once it has room, if connections carry one batch at a time.
    pub(super) fn expect_room(&mut self, conn: ConnId) {
        self.is_taken[conn.index()] = true;
    }

    /// Returns the intended time of the next request to send again.
    #[inline]
    pub(crate) fn next_returned(&self) -> Option<Nanos> {
        self.returned.front().map(|returned| returned.exchange.intended_at)
    }
}

impl ConnectionPool {
    /// Starts the opening exchange of the protocol of `conn`.
    pub(super) fn open_streams(&mut self, conn: ConnId, at: Nanos) -> Action {
        let place = self.slot_of(conn);
        let protocol = self.places.multiplexed(place);
        protocol.reset();
        protocol.open(at.0);
        self.after_streams(conn, at, Ok(()))
    }

    /// Passes received bytes to the protocol of `conn`.
    #[inline(never)]
    pub(super) fn received_on_streams(&mut self, conn: ConnId, bytes: &[u8], at: Nanos) -> Action {
        self.recorder.received(bytes.len() as u64, at);
        let place = self.slot_of(conn);
        let protocol = self.places.multiplexed(place);
        let read = protocol.receive(bytes, at.0, &mut self.streams.events);
        self.after_streams(conn, at, read)
    }

    /// Records that a request is sent on `conn`, in the slot given.
    pub(crate) fn dispatch_stream(
        &mut self,
        conn: ConnId,
        request: &Arc<Request>,
        slot: Slots,
        now: Nanos,
    ) {
        let Slots { intended_at, phase, tag, .. } = slot;
        let freed_at = self.connections[conn.index()].freed_at;
        let exchange =
            Exchange { intended_at, freed_at, sent_at: now, phase, tag, ..Exchange::NONE };
        let stream =
            StreamSlot { first_byte_at: Nanos::MAX, returns: 0, request: Arc::clone(request) };
        self.start_stream(conn, exchange, stream);
        self.recorder.sent(&exchange, 1);
    }

    /// Returns the number of requests that `conn` accepts now.
    pub(crate) fn streams_free(&self, conn: ConnId) -> u32 {
        let place = self.connections[conn.index()].place;
        if place == NONE { 0 } else { self.places.protocol(place).capacity() }
    }

    /// True if nothing is in flight on `conn`.
    pub(crate) fn is_unused(&self, conn: ConnId) -> bool {
        self.connections[conn.index()].load == 0
    }

    /// Has the time at which `conn` became free be that of its last stream's end: a string of
    /// several requests needs more room than the first one that became free.
    pub(crate) fn free_for_string(&mut self, conn: ConnId) {
        let connection = &mut self.connections[conn.index()];
        connection.freed_at = connection.freed_at.max(self.streams.ended_at[conn.index()]);
    }

    /// Sends the next returned request again, on `conn`. The time until its return counts as
    /// waiting for a connection: it was not the client's.
    pub(crate) fn resend(&mut self, conn: ConnId, now: Nanos) {
        let Some(returned) = self.streams.returned.pop_front() else { return };
        let Returned { exchange, request, returned_at, returns, .. } = returned;
        let freed_at = self.connections[conn.index()].freed_at.max(returned_at);
        let exchange = Exchange { freed_at, sent_at: now, ..exchange };
        self.start_stream(
            conn,
            exchange,
            StreamSlot { first_byte_at: Nanos::MAX, returns, request },
        );
        self.recorder.resent(&exchange);
    }

    fn start_stream(&mut self, conn: ConnId, exchange: Exchange, stream: StreamSlot) {
        let place = self.slot_of(conn);
        let now = exchange.sent_at;
        self.stamping.begin_stream(conn);
        let protocol = self.places.multiplexed(place);
        let RequestId(id) = protocol.request(&stream.request, now.0);
        let capacity = protocol.capacity();
        let (kept_exchange, kept_stream) = self.places.stream(place, id);
        debug_assert!(!kept_exchange.is_live(), "the id {id} is in use");
        (*kept_exchange, *kept_stream) = (exchange, Some(stream));
        let connection = &mut self.connections[conn.index()];
        connection.load += 1;
        connection.unsent += 1;
        let load = connection.load;
        self.counts.in_flight += 1;
        match capacity {
            0 => self.ready.remove(conn),
            _ if self.limits.batches => self.ready.remove(conn),
            _ => self.ready.place(conn, load),
        }
        self.streams.expect_room(conn);
        self.deadlines.arm(conn, now.after(self.limits.timeout_ns));
        if self.renewal.counts_requests() {
            self.spend(conn, now);
        }
    }

    /// Moves the bytes that the protocol of `conn` wants to send to the layers' output. Returns an
    /// action if the connection has failed.
    pub(crate) fn transmit(&mut self, conn: ConnId, at: Nanos) -> Option<Action> {
        let place = self.slot_of(conn);
        self.places.multiplexed(place).poll_transmit(&mut self.layers.plain);
        if !self.layers.plain.is_empty() {
            self.stamping.sent(conn);
        }
        let error = self.layers.seal(conn).err()?;
        Some(Action::Close(self.fail_secure(conn, &error, at)))
    }

    /// Handles the events of the protocol of `conn`, and whatever else a call of it has changed.
    fn after_streams(
        &mut self,
        conn: ConnId,
        at: Nanos,
        read: Result<(), ProtocolError>,
    ) -> Action {
        self.settle_streams(conn, at);
        if let Err(error) = read {
            return self.fail_protocol(conn, error, at);
        }
        if let Some(action) = self.transmit(conn, at) {
            return action;
        }
        let place = self.slot_of(conn);
        if self.connections[conn.index()].state == State::Handshaking
            && self.places.multiplexed(place).is_open()
        {
            self.end_opening(conn, at);
        }
        self.update_room(conn, at)
    }

    /// Follows changes of the protocol's timers and of its capacity, which the peer may change at
    /// any time. A connection that gains capacity was not free before: a slot that waited for it
    /// waited for the peer.
    fn update_room(&mut self, conn: ConnId, at: Nanos) -> Action {
        let place = self.slot_of(conn);
        let protocol = self.places.multiplexed(place);
        let (capacity, is_retiring) = (protocol.capacity(), protocol.is_retiring());
        if let Some(timeout_ns) = protocol.next_timeout() {
            self.deadlines.arm(conn, Nanos(timeout_ns));
        }
        if is_retiring && self.connections[conn.index()].state == State::Open {
            self.retire(conn, at);
        }
        self.record_capacity(conn, at);
        let connection = &mut self.connections[conn.index()];
        match connection.state {
            State::Retiring if connection.load == 0 => self.renew(conn, at),
            State::Open if self.limits.batches => {
                if capacity == 0 {
                    self.ready.remove(conn);
                    self.streams.expect_room(conn);
                } else if connection.load == 0
                    && std::mem::take(&mut self.streams.is_taken[conn.index()])
                {
                    connection.freed_at = at;
                    self.free(conn, 0);
                }
                Action::None
            }
            State::Open => {
                let queued = self.ready.load_of(conn);
                if capacity == 0 {
                    self.ready.remove(conn);
                } else if queued != Some(connection.load) {
                    if queued.is_none() {
                        connection.freed_at = at;
                    }
                    self.ready.place(conn, connection.load);
                }
                Action::None
            }
            _ => Action::None,
        }
    }

    /// Records the streams that `conn` allows now: those in flight and those that it has room for.
    /// The peer may lower its limit below those in flight.
    pub(super) fn record_capacity(&mut self, conn: ConnId, at: Nanos) {
        let connection = &self.connections[conn.index()];
        let room = match connection.state {
            State::Open => self.places.multiplexed(connection.place).capacity(),
            _ => 0,
        };
        let allowed = connection.load.saturating_add(u16::try_from(room).unwrap_or(u16::MAX));
        let before = std::mem::replace(&mut self.streams.allowed[conn.index()], allowed);
        if before != allowed {
            self.recorder.capacity(at, before, allowed);
        }
    }

    /// Records the end of the socket of `conn`, and how its peer refused requests.
    pub(super) fn forget_streams(&mut self, conn: ConnId, at: Nanos) {
        self.record_capacity(conn, at);
        let place = self.connections[conn.index()].place;
        if place != NONE {
            self.record_refusals(place);
            self.places.multiplexed(place).reset();
        }
    }

    /// Records that the peer of a socket, which ends, announced the end with a reason, or allows no
    /// streams.
    fn record_refusals(&mut self, place: u32) {
        let protocol = self.places.multiplexed(place);
        let (reason, allows_none) = (protocol.goaway(), protocol.allows_no_streams());
        if let Some(reason) = reason {
            self.recorder.goaway(reason.name());
        }
        if allows_none {
            self.recorder.without_streams();
        }
    }

    /// Records the state of the sockets that are open at the end of the run, and the waits of all
    /// request bodies.
    pub(super) fn finish_streams(&mut self, now: Nanos) {
        let places: Vec<u32> = self.connections.iter().map(|connection| connection.place).collect();
        for place in places.into_iter().filter(|place| *place != NONE) {
            let waits = self.places.multiplexed(place).window_waits(now.0);
            self.recorder.window_waits(waits);
            self.record_refusals(place);
        }
    }

    /// True if the peer of `conn` has announced the end of the connection.
    pub(super) fn is_announced(&mut self, conn: ConnId) -> bool {
        let place = self.connections[conn.index()].place;
        self.limits.streams && place != NONE && self.places.multiplexed(place).goaway().is_some()
    }

    /// Handles the events of the streams of `conn`.
    fn settle_streams(&mut self, conn: ConnId, at: Nanos) {
        let mut events = std::mem::take(&mut self.streams.events);
        let mut nth = 0;
        for StreamEvent { id: RequestId(id), kind } in events.drain(..) {
            let place = self.slot_of(conn);
            match kind {
                StreamEventKind::Began { at_ns } => {
                    if let (_, Some(stream)) = self.places.stream(place, id) {
                        stream.first_byte_at = Nanos(at_ns);
                    }
                }
                StreamEventKind::Response { status } => {
                    if self.limits.shows.is_some() {
                        self.note(Told::Responded { conn, nth, status });
                        nth += 1;
                    }
                    let (_, stream) = self.places.stream(place, id);
                    let first_byte_at =
                        stream.as_ref().map_or(at, |stream| stream.first_byte_at.min(at));
                    let response = Response { status, first_byte_at };
                    let outcome = Outcome::of_response(response, self.limits.success);
                    let kernel = self.take_stream_stamps(conn);
                    self.end_stream(conn, id, outcome, at, kernel);
                    self.connections[conn.index()].responded();
                    self.counts.alive_at = self.counts.alive_at.max(at);
                }
                StreamEventKind::Failed(error) => self.fail_stream(conn, id, error.code(), at),
                StreamEventKind::Reset(reason) => {
                    self.fail_stream(conn, id, reason.reset_code(), at);
                }
                StreamEventKind::Returned => self.take_back(conn, id, at),
            }
        }
        self.streams.events = events;
    }

    /// Ends one exchange of `conn` without a response; `code` names the error.
    fn fail_stream(&mut self, conn: ConnId, id: u16, code: &'static str, at: Nanos) {
        self.end_stream(conn, id, Outcome::TransportError(ErrorKind::Protocol(code)), at, None);
    }

    /// Ends one exchange of `conn`, which stays open.
    fn end_stream(
        &mut self,
        conn: ConnId,
        id: u16,
        outcome: Outcome,
        at: Nanos,
        kernel: Option<KernelTimes>,
    ) {
        let (exchange, _) = self.remove_stream(conn, id, at);
        self.recorder.completed(&exchange, outcome, at, 1);
        let is_stamped = self.stamping.covers(conn);
        if is_stamped || self.observers.see_all() {
            let kernel = kernel.map(|kernel| kernel.of(&exchange));
            let completion = Completion { conn, exchange, outcome, at, kernel };
            self.observers.completed(&completion, is_stamped);
        }
    }

    /// Returns the kernel's stamps of the response that `conn` has received; `None` if it is not
    /// stamped. A stamped connection has one stream at a time.
    fn take_stream_stamps(&mut self, conn: ConnId) -> Option<KernelTimes> {
        self.stamping.covers(conn).then(|| KernelTimes {
            received_at: self.incoming.received_at,
            transmitted_at: self.stamping.take_transmitted_of_stream(conn),
        })
    }

    /// Takes back a request that the peer has not processed. It keeps its slot, unless it was
    /// returned too often or is no longer measured.
    fn take_back(&mut self, conn: ConnId, id: u16, at: Nanos) {
        let place = self.slot_of(conn);
        let (exchange, stream) = self.places.stream(place, id);
        let returns = stream.as_ref().map_or(0, |stream| stream.returns);
        self.recorder.returned();
        if exchange.is_resolved || returns >= RESENDS_MAX {
            return self.fail_stream(conn, id, ProtocolError::Returned.code(), at);
        }
        let (exchange, stream) = self.remove_stream(conn, id, at);
        self.recorder.abandoned(&exchange, at);
        self.counts.alive_at = self.counts.alive_at.max(at);
        if let Some(StreamSlot { request, .. }) = stream {
            let returned =
                Returned { conn, exchange, request, returned_at: at, returns: returns + 1 };
            self.streams.returned.push_back(returned);
        }
    }

    fn remove_stream(
        &mut self,
        conn: ConnId,
        id: u16,
        at: Nanos,
    ) -> (Exchange, Option<StreamSlot>) {
        let place = self.slot_of(conn);
        let (kept_exchange, kept_stream) = self.places.stream(place, id);
        debug_assert!(kept_exchange.is_live(), "an event of a stream that has ended");
        let removed = (*kept_exchange, kept_stream.take());
        kept_exchange.end();
        self.connections[conn.index()].load -= 1;
        self.counts.in_flight -= 1;
        self.streams.ended_at[conn.index()] = at;
        removed
    }

    /// Handles the timers of `conn`: those of its protocol, of its opening and of its requests. An
    /// overdue request is cancelled, and the connection stays open.
    pub(super) fn expire_streams(&mut self, conn: ConnId, now: Nanos) -> Action {
        match self.connections[conn.index()].state {
            State::Open | State::Retiring => {}
            State::Handshaking if self.layers.step(conn) == Some(Step::Protocol) => {}
            _ => return self.expire_socket(conn, now),
        }
        let place = self.slot_of(conn);
        let protocol = self.places.multiplexed(place);
        if protocol.next_timeout().is_some_and(|at_ns| at_ns <= now.0) {
            let read = protocol.on_timeout(now.0, &mut self.streams.events);
            let action = self.after_streams(conn, now, read);
            if action != Action::None {
                return action;
            }
        }
        let connection = &self.connections[conn.index()];
        match connection.state {
            State::Handshaking => {
                self.update_room(conn, now);
                return self.expire_socket(conn, now);
            }
            State::Open if connection.retires_at(self.renewal.lifetime_ns) <= now => {
                return self.outlive(conn, now);
            }
            _ => {}
        }
        self.cancel_overdue(conn, now);
        let action = self.after_streams(conn, now, Ok(()));
        if action != Action::None {
            return action;
        }
        let overdue_at =
            self.oldest(conn).map_or(Nanos::MAX, |at| at.after(self.limits.timeout_ns));
        let retires_at = self.connections[conn.index()].retires_at(self.renewal.lifetime_ns);
        let due = overdue_at.min(retires_at);
        if due < Nanos::MAX {
            self.deadlines.arm(conn, due);
        }
        Action::None
    }

    /// Cancels the requests on `conn` that have exceeded the timeout.
    fn cancel_overdue(&mut self, conn: ConnId, now: Nanos) {
        let place = self.slot_of(conn);
        let overdue_before = now.before(self.limits.timeout_ns);
        for id in 0..self.limits.depth {
            let (exchange, _) = self.places.stream(place, id);
            if exchange.is_live() && exchange.sent_at <= overdue_before {
                self.places.multiplexed(place).cancel(RequestId(id), now.0);
                self.end_stream(conn, id, Outcome::TimedOut, now, None);
            }
        }
    }

    /// Handles the end of the peer's stream on an open connection.
    #[inline(never)]
    pub(super) fn ended_with_streams(&mut self, conn: ConnId, at: Nanos) -> Action {
        if self.connections[conn.index()].load == 0 {
            self.recorder.closed_by_peer();
            self.shut(conn, at);
            return Action::Close(Close::Graceful);
        }
        let place = self.slot_of(conn);
        let kind = match self.places.multiplexed(place).is_mid_response() {
            true => ErrorKind::ClosedInAnswer,
            false => ErrorKind::ClosedBeforeAnswer,
        };
        self.fail(conn, at, kind, FailureCause::Closed);
        Action::Close(Close::Graceful)
    }

    /// Ends the slots whose requests the peer returned and that were not sent again before the end
    /// of the run. Those of M are censored.
    pub(super) fn censor_returned(&mut self, now: Nanos) {
        for Returned { conn, exchange, .. } in self.streams.returned.drain(..) {
            if exchange.phase == Phase::Measured {
                self.recorder.censored(&exchange, now);
            }
            let outcome = Outcome::InFlightAtEnd;
            let completion = Completion { conn, exchange, outcome, at: now, kernel: None };
            self.observers.completed(&completion, false);
        }
    }
}
