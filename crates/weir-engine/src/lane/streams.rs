//! Multiplexed protocols: each request is a stream of its own. The protocol also sends and waits of
//! its own accord, changes its capacity at any time, and hands requests back unprocessed.

use std::collections::VecDeque;
use std::sync::Arc;

use weir_http::{
    Multiplexed, MultiplexedFactory, ProtocolError, ReceivedResponse, Request, RequestId,
    StreamEvent, StreamEventKind, StreamMessage,
};
use weir_io::{Backend, ConnId, Nanos};
use weir_result::ErrorKind;

use super::returned::Returned;
use super::{After, Lane, StringRoom, meets, response_of};
use crate::connections::{Connections, Refill, ScriptEvent, SocketState};
use crate::exchange::{Exchange, ExchangePlace, KernelTimes, Outcome, Response, take_oldest};
use crate::job::Job;
use crate::pool::ConnectionPool;
use crate::record::{Observed, TimedMessage};
use crate::requests::{Batch, Slots};
use crate::tls::TlsError;

/// Times that a returned request is sent again; if it is returned once more, it has failed.
const RESENDS_MAX: u8 = 3;

/// The multiplexed protocols of one worker's connections.
#[derive(Debug)]
pub(crate) struct StreamLane {
    /// Streams of a connection at most.
    depth: u16,
    /// True if a connection is filled in one go, in a closed loop without batches. One send then
    /// carries the requests, and a server that reads requests together answers them together.
    fills: bool,
    /// State of each connection.
    connections: Vec<StreamConnection>,
    /// Requests in flight: `depth` for each connection, by request id.
    exchanges: Vec<Exchange>,
    /// State of their streams, in the same order.
    streams: Vec<Option<StreamState>>,
    /// Requests that wait to be sent again, in the order of their return.
    returned: VecDeque<Returned>,
    /// Events that are being handled.
    events: Vec<StreamEvent>,
}

/// The streams of one connection.
#[derive(Debug)]
struct StreamConnection {
    protocol: Box<dyn Multiplexed>,
    /// True if it is freed as soon as nothing is in flight and it has room, if it carries one batch
    /// at a time.
    is_taken: bool,
    /// Time at which its last stream ended.
    ended_at: Nanos,
    /// Streams that it allows, as the recorder has it.
    allowed: u16,
}

/// State of a stream beside its exchange.
#[derive(Clone, Debug)]
struct StreamState {
    /// Time of the first byte of its response; [`Nanos::MAX`] before it.
    first_byte_at: Nanos,
    /// Times that the peer has returned the request so far.
    returns: u8,
    request: Arc<Request>,
}

impl Lane for StreamLane {
    type Request = Arc<Request>;

    fn begin(&mut self, pool: &mut ConnectionPool, conn: ConnId, at: Nanos) -> After {
        let protocol = self.protocol(conn);
        protocol.reset();
        protocol.open(at.0);
        self.after_call(pool, conn, at, Ok(()))
    }

    #[inline(never)]
    fn received(
        &mut self,
        pool: &mut ConnectionPool,
        conn: ConnId,
        bytes: &[u8],
        at: Nanos,
    ) -> After {
        pool.ledger.recorder.received(&pool.timeline, bytes.len() as u64, at);
        let read = self.connections[conn.index()].protocol.receive(bytes, at.0, &mut self.events);
        if pool.needs.messages {
            self.note_messages(pool, conn, at);
        }
        if pool.needs.pushes {
            let pushed = self.connections[conn.index()].protocol.pushed();
            pool.ledger.pushed(&pool.timeline, pushed, at);
        }
        self.after_call(pool, conn, at, read)
    }

    fn end_of_stream(&mut self, _pool: &mut ConnectionPool, conn: ConnId, _at: Nanos) -> ErrorKind {
        let is_mid_response = self.protocol(conn).is_mid_response();
        if is_mid_response { ErrorKind::ClosedInAnswer } else { ErrorKind::ClosedBeforeAnswer }
    }

    /// An overdue request is cancelled, and the connection stays open.
    fn expire_requests(&mut self, pool: &mut ConnectionPool, conn: ConnId, now: Nanos) -> After {
        self.cancel_overdue(pool, conn, now);
        self.after_call(pool, conn, now, Ok(()))
    }

    /// Streams wait for no other, and all end as the oldest.
    fn end_all(&mut self, pool: &mut ConnectionPool, conn: ConnId, at: Nanos, oldest: Outcome) {
        let depth = usize::from(self.depth);
        let exchanges = &mut self.exchanges[conn.index() * depth..][..depth];
        while let Some((id, exchange)) = take_oldest(exchanges) {
            pool.ledger.ended(&pool.timeline, ExchangePlace { conn, id }, &exchange, oldest, at);
        }
        pool.connections.lost_requests(conn);
    }

    fn closed(&mut self, pool: &mut ConnectionPool, conn: ConnId, at: Nanos) {
        self.record_capacity(pool, conn, at);
        let StreamConnection { protocol, .. } = &self.connections[conn.index()];
        pool.ledger.connections.socket_ended(&**protocol, self.depth);
        self.protocol(conn).reset();
    }

    fn retired(&mut self, pool: &mut ConnectionPool, conn: ConnId, at: Nanos) {
        self.record_capacity(pool, conn, at);
    }

    /// A failure of TLS changes nothing: the socket is closed in any case.
    fn announce_close(&mut self, pool: &mut ConnectionPool, conn: ConnId) {
        self.protocol(conn).close();
        let _is_sealed = self.transmit(pool, conn).is_ok();
    }

    fn oldest(&self, pool: &ConnectionPool, conn: ConnId) -> Option<Nanos> {
        let depth = usize::from(self.depth);
        let exchanges = &self.exchanges[conn.index() * depth..][..depth];
        pool.ledger.oldest_heard_at(conn, exchanges)
    }

    fn is_mid_response(&self, _pool: &ConnectionPool, conn: ConnId) -> bool {
        self.connections[conn.index()].protocol.is_mid_response()
    }

    fn is_announced(&self, conn: ConnId) -> bool {
        self.connections[conn.index()].protocol.goaway().is_some()
    }

    fn room(&self, pool: &ConnectionPool, conn: ConnId, _request: &Arc<Request>) -> u16 {
        if !self.fills {
            return 1;
        }
        let room = self.capacity(conn).min(pool.connections.renewal.left(conn));
        u16::try_from(room).unwrap_or(u16::MAX).max(1)
    }

    fn dispatch(
        &mut self,
        pool: &mut ConnectionPool,
        conn: ConnId,
        request: &Arc<Request>,
        slots: Slots,
        now: Nanos,
    ) {
        let exchange = slots.exchange(pool.connections.at(conn).freed_at, now);
        for _ in 0..slots.count {
            let request = Arc::clone(request);
            let stream = StreamState { first_byte_at: Nanos::MAX, returns: 0, request };
            self.start(pool, conn, exchange, stream);
        }
        pool.ledger.dispatched(&pool.timeline, &exchange, slots.count.into());
    }

    #[inline(never)]
    fn flush(
        &mut self,
        pool: &mut ConnectionPool,
        backend: &mut impl Backend,
        conn: ConnId,
        _request: Option<&Arc<Request>>,
    ) -> Result<(), TlsError> {
        pool.connections.at_mut(conn).unsent = 0;
        let sealed = self.transmit(pool, conn);
        pool.layers.send_output(conn, backend);
        sealed
    }

    #[inline]
    fn next_returned(&self) -> Option<Nanos> {
        self.returned.front().map(|returned| returned.exchange.intended_at)
    }

    /// The time until its return counts as waiting for a connection: it was not the client's.
    fn resend(&mut self, pool: &mut ConnectionPool, conn: ConnId, now: Nanos) {
        let Some(returned) = self.returned.pop_front() else { return };
        let Returned { exchange, request, returned_at, returns, user, .. } = returned;
        if let (Some(users), Some(user)) = (pool.ledger.users_mut(), user) {
            users.resending(user);
        }
        let freed_at = pool.connections.at(conn).freed_at.max(returned_at);
        let exchange = Exchange { freed_at, sent_at: now, ..exchange };
        let stream = StreamState { first_byte_at: Nanos::MAX, returns, request };
        self.start(pool, conn, exchange, stream);
        pool.ledger.dispatched_again(&pool.timeline, &exchange);
    }

    fn take_returned(&mut self) -> Vec<(ConnId, Exchange)> {
        self.returned.drain(..).map(|returned| (returned.conn, returned.exchange)).collect()
    }

    fn string_room(&self, pool: &ConnectionPool, conn: ConnId, batch: &Batch) -> StringRoom {
        let streams = self.capacity(conn);
        match batch.fields.len() <= streams as usize {
            true => StringRoom::Now,
            false if pool.connections.at(conn).load == 0 => StringRoom::Never(streams),
            false => StringRoom::Later,
        }
    }

    /// A string of several requests needs more room than the first stream that ended: `conn` became
    /// free for it when its last stream ended.
    fn dispatch_string(
        &mut self,
        pool: &mut ConnectionPool,
        _backend: &mut impl Backend,
        conn: ConnId,
        batch: &Batch,
        slots: impl Iterator<Item = Slots>,
        now: Nanos,
    ) -> Result<(), TlsError> {
        if batch.fields.len() > 1 {
            let connection = pool.connections.at_mut(conn);
            connection.freed_at = connection.freed_at.max(self.connections[conn.index()].ended_at);
        }
        for (request, slot) in batch.fields.iter().zip(slots) {
            self.dispatch(pool, conn, request, slot, now);
        }
        Ok(())
    }

    fn response(&self, _pool: &ConnectionPool, conn: ConnId, nth: usize) -> ReceivedResponse<'_> {
        self.connections[conn.index()].protocol.response(nth)
    }

    fn forget_responses(&mut self, _pool: &ConnectionPool, conn: ConnId) {
        self.protocol(conn).forget_responses();
    }

    fn live(&mut self) -> impl Iterator<Item = (ExchangePlace, &mut Exchange)> {
        let of_connections = self.exchanges.chunks_mut(usize::from(self.depth));
        (0..).map(ConnId).zip(of_connections).flat_map(|(conn, exchanges)| {
            let live = (0..).zip(exchanges).filter(|(_, exchange)| exchange.is_live());
            live.map(move |(id, exchange)| (ExchangePlace { conn, id }, exchange))
        })
    }

    fn finish(&mut self, pool: &mut ConnectionPool, end: Nanos) {
        for StreamConnection { protocol, .. } in &mut self.connections {
            pool.ledger.recorder.interim_responses(protocol.interim_responses());
            pool.ledger.recorder.event_streams(protocol.has_event_streams());
            pool.ledger.connections.window_waits(protocol.window_waits(end.0));
            pool.ledger.connections.socket_ended(&**protocol, self.depth);
        }
    }
}

impl StreamLane {
    /// Returns the lane of a worker of `job` with these connections, whose protocols `factory`
    /// makes.
    pub(crate) fn new(
        factory: &MultiplexedFactory,
        job: &Job,
        pool: &ConnectionPool,
    ) -> StreamLane {
        let ConnectionPool { connections, needs, .. } = pool;
        let limits = &connections.limits;
        let connection = |_| {
            let mut protocol = factory.make(limits.depth);
            protocol.set_interest(needs.keeps, &job.responses.body_budget);
            let rules = job.responses.expectations.as_ref().and_then(|checks| checks.call_rules());
            rules.iter().for_each(|rules| protocol.set_calls(*rules));
            let format = job.responses.messages.as_ref().and_then(|rules| rules.format.as_ref());
            format.iter().for_each(|format| protocol.set_messages(format));
            StreamConnection { protocol, is_taken: false, ended_at: Nanos::ZERO, allowed: 0 }
        };
        let connections: Vec<_> = connections.all().map(connection).collect();
        let streams = connections.len() * usize::from(limits.depth);
        StreamLane {
            depth: limits.depth,
            fills: !job.plan.has_due_times() && limits.refill != Refill::Batch,
            connections,
            exchanges: vec![Exchange::NONE; streams],
            streams: vec![None; streams],
            returned: VecDeque::new(),
            events: Vec::new(),
        }
    }

    #[inline]
    fn protocol(&mut self, conn: ConnId) -> &mut (dyn Multiplexed + 'static) {
        &mut *self.connections[conn.index()].protocol
    }

    #[inline]
    fn capacity(&self, conn: ConnId) -> u32 {
        self.connections[conn.index()].protocol.capacity()
    }

    /// Returns the exchange and the stream with request id `id` on `conn`.
    #[inline]
    fn stream(&mut self, conn: ConnId, id: u16) -> (&mut Exchange, &mut Option<StreamState>) {
        let index = conn.index() * usize::from(self.depth) + usize::from(id);
        (&mut self.exchanges[index], &mut self.streams[index])
    }

    fn start(
        &mut self,
        pool: &mut ConnectionPool,
        conn: ConnId,
        exchange: Exchange,
        stream: StreamState,
    ) {
        let now = exchange.sent_at;
        pool.ledger.stamping.begin_stream(conn);
        let protocol = self.protocol(conn);
        let RequestId(id) = protocol.request(&stream.request, now.0);
        let capacity = protocol.capacity();
        let (kept_exchange, kept_stream) = self.stream(conn, id);
        debug_assert!(!kept_exchange.is_live(), "the id {id} is in use");
        (*kept_exchange, *kept_stream) = (exchange, Some(stream));
        if let Some(users) = pool.ledger.users_mut() {
            users.sent_at(ExchangePlace { conn, id });
        }
        pool.connections.dispatched(conn, 1, capacity, now);
        self.connections[conn.index()].is_taken = true;
        if pool.connections.renewal.counts_requests() && pool.connections.spend(conn) {
            self.record_capacity(pool, conn, now);
        }
    }

    /// Moves the bytes that the protocol of `conn` wants to send to the layers' output.
    fn transmit(&mut self, pool: &mut ConnectionPool, conn: ConnId) -> Result<(), TlsError> {
        self.protocol(conn).poll_transmit(&mut pool.layers.plain);
        if !pool.layers.plain.is_empty() {
            pool.ledger.stamping.sent(conn);
        }
        pool.layers.seal(conn)
    }

    /// Handles the events of the protocol of `conn`, and whatever else a call of it has changed.
    fn after_call(
        &mut self,
        pool: &mut ConnectionPool,
        conn: ConnId,
        at: Nanos,
        read: Result<(), ProtocolError>,
    ) -> After {
        self.settle(pool, conn, at);
        if let Err(error) = read {
            return After::broken(pool, error);
        }
        if let Err(error) = self.transmit(pool, conn) {
            return After::insecure(pool, &error);
        }
        if pool.connections.at(conn).state == SocketState::Handshaking
            && self.protocol(conn).is_open()
        {
            let began_at = pool.opened(conn, at);
            let deflated = self.connections[conn.index()].protocol.is_compressed();
            pool.ledger.connections.opened(at.since(began_at), deflated);
            // It is freed once it has room, which the peer decides.
            self.connections[conn.index()].is_taken = true;
        }
        self.update_room(pool, conn, at)
    }

    /// Follows changes of the protocol's capacity, which the peer may change at any time. A
    /// connection that gains capacity was not free before: a slot that waited for it waited for the
    /// peer.
    fn update_room(&mut self, pool: &mut ConnectionPool, conn: ConnId, at: Nanos) -> After {
        let protocol = self.protocol(conn);
        let capacity = protocol.capacity();
        let is_retiring = protocol.is_retiring();
        if is_retiring && pool.connections.at(conn).state == SocketState::Open {
            pool.connections.retire(conn);
        }
        self.record_capacity(pool, conn, at);
        let own = &mut self.connections[conn.index()];
        let connections = &mut pool.connections;
        let state = connections.at(conn).state;
        let load = connections.at(conn).load;
        match state {
            SocketState::Retiring if load == 0 => return After::Drained,
            SocketState::Open if connections.limits.refill == Refill::Batch => {
                if capacity == 0 {
                    connections.ready.remove(conn);
                    own.is_taken = true;
                } else if load == 0 && std::mem::take(&mut own.is_taken) {
                    connections.at_mut(conn).freed_at = at;
                    connections.free(conn, 0);
                }
            }
            SocketState::Open if capacity == 0 => connections.ready.remove(conn),
            SocketState::Open => {
                let queued = connections.ready.load_of(conn);
                if queued.is_none() {
                    connections.at_mut(conn).freed_at = at;
                }
                if queued != Some(load) {
                    connections.ready.place(conn, load);
                }
                if queued.is_none() {
                    pool.gained_room(conn);
                }
            }
            _ => {}
        }
        After::Open
    }

    /// Records the streams that `conn` allows now: those in flight and those that it has room for.
    /// The peer may lower its limit below those in flight.
    fn record_capacity(&mut self, pool: &mut ConnectionPool, conn: ConnId, at: Nanos) {
        let connection = pool.connections.at(conn);
        let room = match connection.state {
            SocketState::Open => self.capacity(conn),
            _ => 0,
        };
        let allowed = connection.load.saturating_add(u16::try_from(room).unwrap_or(u16::MAX));
        let before = std::mem::replace(&mut self.connections[conn.index()].allowed, allowed);
        if before != allowed {
            pool.ledger.recorder.capacity(&pool.timeline, at, before, allowed);
        }
    }

    /// Handles the events of the streams of `conn`.
    fn settle(&mut self, pool: &mut ConnectionPool, conn: ConnId, at: Nanos) {
        let mut events = std::mem::take(&mut self.events);
        let mut nth = 0;
        for StreamEvent { id: RequestId(id), kind } in events.drain(..) {
            match kind {
                StreamEventKind::Began { at_ns } => {
                    if let (_, Some(stream)) = self.stream(conn, id) {
                        stream.first_byte_at = Nanos(at_ns);
                    }
                }
                StreamEventKind::Response { status } => {
                    if pool.needs.shows.is_some() {
                        pool.connections.note(ScriptEvent::Responded { conn, nth, status });
                    }
                    let is_ok = match pool.needs.checks {
                        true => self.meets(pool, ExchangePlace { conn, id }, nth, status, at),
                        false => pool.ledger.accepts(status),
                    };
                    self.respond(pool, conn, id, status, is_ok, at);
                    nth += 1;
                }
                StreamEventKind::Failed(error) => self.fail(pool, conn, id, error.code(), at),
                StreamEventKind::Reset(reason) => {
                    self.fail(pool, conn, id, reason.reset_code, at);
                }
                StreamEventKind::Returned => self.take_back(pool, conn, id, at),
            }
        }
        self.events = events;
    }

    /// Announces the messages of the last call. They precede the ends of their streams.
    #[inline(never)]
    fn note_messages(&mut self, pool: &mut ConnectionPool, conn: ConnId, at: Nanos) {
        let messages = self.connections[conn.index()].protocol.messages();
        for (index, StreamMessage { id, message }) in messages.iter().enumerate() {
            let place = ExchangePlace { conn, id: id.0 };
            let exchange =
                &self.exchanges[conn.index() * usize::from(self.depth) + usize::from(id.0)];
            let stamp = pool.received_at;
            let is_last = index + 1 == messages.len();
            let timed = TimedMessage { message: *message, at, stamp, is_last };
            pool.ledger.message(&pool.timeline, place, exchange, timed);
        }
    }

    /// True if the nth response of a call meets the expectations.
    #[inline(never)]
    fn meets(
        &mut self,
        pool: &mut ConnectionPool,
        place: ExchangePlace,
        nth: usize,
        status: u16,
        at: Nanos,
    ) -> bool {
        let exchange = *self.stream(place.conn, place.id).0;
        let kept = || self.connections[place.conn.index()].protocol.response(nth);
        let keeps = pool.needs.keeps;
        meets(&mut pool.ledger, place, &exchange, 1, at, || response_of(keeps, status, kept))
    }

    /// Ends one exchange of `conn` with its response, a success or not.
    fn respond(
        &mut self,
        pool: &mut ConnectionPool,
        conn: ConnId,
        id: u16,
        status: u16,
        is_ok: bool,
        at: Nanos,
    ) {
        let (exchange, stream) = self.remove(&mut pool.connections, conn, id, at);
        let first_byte_at = stream.map_or(at, |stream| stream.first_byte_at.min(at));
        let ledger = &mut pool.ledger;
        let observed = ledger.observes(conn).then(|| {
            // A stamped connection has one stream at a time.
            let kernel = ledger.stamping.covers(conn).then(|| {
                let transmitted_at = ledger.stamping.take_transmitted_of_stream(conn);
                KernelTimes { received_at: pool.received_at, transmitted_at }.of(&exchange)
            });
            Observed { place: ExchangePlace { conn, id }, kernel }
        });
        let outcome = Outcome::of(Response { status, first_byte_at }, is_ok);
        ledger.responded::<true>(&pool.timeline, &exchange, 1, outcome, at, observed);
        pool.connections.at_mut(conn).responded();
        pool.connections.alive(at);
    }

    /// Ends one exchange of `conn`, which stays open, without a response; `code` names the error.
    fn fail(
        &mut self,
        pool: &mut ConnectionPool,
        conn: ConnId,
        id: u16,
        code: &'static str,
        at: Nanos,
    ) {
        let (exchange, _) = self.remove(&mut pool.connections, conn, id, at);
        let outcome = Outcome::TransportError(ErrorKind::Protocol(code));
        pool.ledger.ended(&pool.timeline, ExchangePlace { conn, id }, &exchange, outcome, at);
    }

    /// Takes back a request that the peer has not processed. It keeps its slot, unless it was
    /// returned too often or is no longer measured.
    fn take_back(&mut self, pool: &mut ConnectionPool, conn: ConnId, id: u16, at: Nanos) {
        let (exchange, stream) = self.stream(conn, id);
        let returns = stream.as_ref().map_or(0, |stream| stream.returns);
        let is_kept = !exchange.is_resolved && returns < RESENDS_MAX;
        pool.ledger.returned();
        if !is_kept {
            return self.fail(pool, conn, id, ProtocolError::Returned.code(), at);
        }
        let (exchange, stream) = self.remove(&mut pool.connections, conn, id, at);
        pool.ledger.withdrawn(&pool.timeline, &exchange, at);
        pool.connections.alive(at);
        let place = ExchangePlace { conn, id };
        let user = pool.ledger.users_mut().map(|users| users.take_returned(place));
        if let Some(StreamState { request, .. }) = stream {
            let returned =
                Returned { conn, exchange, request, returned_at: at, returns: returns + 1, user };
            self.returned.push_back(returned);
        }
    }

    fn remove(
        &mut self,
        connections: &mut Connections,
        conn: ConnId,
        id: u16,
        at: Nanos,
    ) -> (Exchange, Option<StreamState>) {
        let (kept_exchange, kept_stream) = self.stream(conn, id);
        debug_assert!(kept_exchange.is_live(), "an event of a stream that has ended");
        let removed = (*kept_exchange, kept_stream.take());
        kept_exchange.end();
        connections.at_mut(conn).load -= 1;
        connections.ended(1);
        self.connections[conn.index()].ended_at = at;
        removed
    }

    /// Cancels the requests on `conn` that have exceeded the timeout.
    fn cancel_overdue(&mut self, pool: &mut ConnectionPool, conn: ConnId, now: Nanos) {
        let overdue_before = pool.connections.limits.overdue_before(now);
        for id in 0..self.depth {
            let place = ExchangePlace { conn, id };
            let exchange = *self.stream(conn, id).0;
            let heard_at = || pool.ledger.heard_at(place, &exchange);
            if exchange.is_live() && heard_at() <= overdue_before {
                self.protocol(conn).cancel(RequestId(id), now.0);
                let (exchange, _) = self.remove(&mut pool.connections, conn, id, now);
                pool.ledger.ended(&pool.timeline, place, &exchange, Outcome::TimedOut, now);
            }
        }
    }
}
