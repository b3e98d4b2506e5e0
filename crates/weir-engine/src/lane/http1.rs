//! HTTP/1: the responses of a connection come in the order of its requests. Requests that are sent
//! together leave in one send, heads that were parsed before are recognised, and equal responses
//! are recorded together.

mod responses;
mod slots;
mod unsent;

use std::ops::Range;

use weir_http::{HeadCache, ProtocolError, ReceivedResponse, RequestTraits, ResponseEvent};
use weir_io::{Backend, ConnId, Nanos, Segment};
use weir_result::ErrorKind;

use super::{After, Lane, StringRoom};
use crate::connections::{Connections, NO_SLOT, Refill, SocketState};
use crate::exchange::{Exchange, ExchangePlace, KernelTimes, Outcome, take_oldest};
use crate::job::Job;
use crate::pool::ConnectionPool;
use crate::requests::{Batch, Repeated, Slots};
use crate::tls::{Session, TlsError};
use slots::Http1Slots;
use unsent::UnsentRequests;

/// Longest wait for the peer to close a connection after its last response, in nanoseconds.
const CLOSING_NS: u64 = 100_000_000;

/// Least number of outstanding body bytes that is worth a discarding receive.
const DISCARD_MIN_BYTES: u64 = 16 * 1024;

/// Plaintext that is encrypted into one buffer of records: a multiple of the longest record, so
/// that a long request is not cut into more of them.
const SEALED_BYTES: usize = 256 * 1024;

/// The HTTP/1 protocols of one worker's connections.
#[derive(Debug)]
pub(crate) struct Http1Lane {
    slots: Http1Slots,
    /// Requests in flight per connection; a script's longer string raises it.
    depth: u16,
    /// Responses that the current event completed.
    responses: Vec<ResponseEvent>,
    /// Its kernel stamps, with the id of the request they belong to; `None` if the connection is
    /// not stamped. Valid if an observer sees the event.
    stamps: Option<(u16, KernelTimes)>,
    /// Cache of the last parsed response heads.
    known: HeadCache,
    unsent: UnsentRequests,
    /// Buffers reused from send to send.
    segments: Vec<Segment>,
    sealed: Vec<u8>,
}

impl Lane for Http1Lane {
    type Request = Repeated;

    fn begin(&mut self, pool: &mut ConnectionPool, conn: ConnId, at: Nanos) -> After {
        pool.opened(conn, at);
        let slot = pool.connections.at(conn).slot;
        if slot != NO_SLOT {
            self.slots.at(slot).protocol.reset();
        }
        pool.connections.free(conn, 0);
        pool.gained_room(conn);
        After::Open
    }

    #[inline]
    fn received(
        &mut self,
        pool: &mut ConnectionPool,
        conn: ConnId,
        bytes: &[u8],
        at: Nanos,
    ) -> After {
        pool.ledger.recorder.received(&pool.timeline, bytes.len() as u64, at);
        let slot = self.slots.of(&mut pool.connections, conn);
        let Http1Lane { slots, known, responses, .. } = self;
        let read = slots.at(slot).protocol.receive_cached(bytes, known, responses);
        self.after_read(pool, conn, at, read)
    }

    fn discarded(
        &mut self,
        pool: &mut ConnectionPool,
        conn: ConnId,
        bytes: u64,
        at: Nanos,
    ) -> After {
        pool.ledger.recorder.received(&pool.timeline, bytes, at);
        let slot = self.slots.of(&mut pool.connections, conn);
        let read = self.slots.at(slot).protocol.skip(bytes, &mut self.responses);
        self.after_read(pool, conn, at, read)
    }

    fn end_of_stream(&mut self, pool: &mut ConnectionPool, conn: ConnId, at: Nanos) -> ErrorKind {
        let slot = self.slots.of(&mut pool.connections, conn);
        let read = self.slots.at(slot).protocol.end_of_stream(&mut self.responses);
        self.settle(pool, conn, at);
        match read {
            Err(_) => ErrorKind::ClosedInAnswer,
            Ok(()) => ErrorKind::ClosedBeforeAnswer,
        }
    }

    fn expire_requests(&mut self, pool: &mut ConnectionPool, conn: ConnId, now: Nanos) -> After {
        let limits = &pool.connections.limits;
        match self.oldest(pool, conn) {
            Some(sent_at) if limits.overdue_at(sent_at) <= now => {}
            _ => return After::Open,
        }
        if limits.late_responses {
            self.mark_overdue(pool, conn, now);
            return After::Open;
        }
        After::TimedOut
    }

    /// The requests behind the oldest fail because their responses can no longer arrive: none is
    /// ever sent again. If the oldest has timed out, so has each one sent as long ago.
    fn end_all(&mut self, pool: &mut ConnectionPool, conn: ConnId, at: Nanos, oldest: Outcome) {
        let slot = pool.connections.at(conn).slot;
        if slot == NO_SLOT {
            return;
        }
        let overdue_before = match oldest {
            Outcome::TimedOut => pool.connections.limits.overdue_before(at),
            _ => Nanos::ZERO,
        };
        let (_, exchanges) = self.slots.parts(slot);
        let mut is_oldest = true;
        while let Some((id, exchange)) = take_oldest(exchanges) {
            let outcome = match is_oldest || exchange.sent_at <= overdue_before {
                true => oldest,
                false => Outcome::TransportError(ErrorKind::ClosedBeforeAnswer),
            };
            pool.ledger.ended(&pool.timeline, ExchangePlace { conn, id }, &exchange, outcome, at);
            is_oldest = false;
        }
        pool.connections.lost_requests(conn);
    }

    fn closed(&mut self, pool: &mut ConnectionPool, conn: ConnId, _at: Nanos) {
        let slot = pool.connections.at(conn).slot;
        if pool.connections.limits.leases && slot != NO_SLOT {
            self.slots.at(slot).protocol.reset();
            self.slots.end_lease(&mut pool.connections, conn);
        }
    }

    fn oldest(&self, pool: &ConnectionPool, conn: ConnId) -> Option<Nanos> {
        match pool.connections.at(conn).slot {
            NO_SLOT => None,
            slot => pool.ledger.oldest_heard_at(conn, self.slots.exchanges(slot)),
        }
    }

    fn is_mid_response(&self, pool: &ConnectionPool, conn: ConnId) -> bool {
        match pool.connections.at(conn).slot {
            NO_SLOT => false,
            slot => self.slots.protocol(slot).is_mid_response(),
        }
    }

    #[inline]
    fn room(&self, pool: &ConnectionPool, conn: ConnId, request: &Repeated) -> u16 {
        let Connections { limits, renewal, .. } = &pool.connections;
        if limits.refill != Refill::Half || request.traits.closes || renewal.counts_requests() {
            return 1;
        }
        self.depth - pool.connections.at(conn).load
    }

    #[inline(always)]
    fn dispatch(
        &mut self,
        pool: &mut ConnectionPool,
        conn: ConnId,
        request: &Repeated,
        slots: Slots,
        now: Nanos,
    ) {
        self.dispatch_with(pool, conn, request.traits, slots, now);
    }

    fn flush(
        &mut self,
        pool: &mut ConnectionPool,
        backend: &mut impl Backend,
        conn: ConnId,
        request: Option<&Repeated>,
    ) -> Result<(), TlsError> {
        // A script's strings are sent as soon as they are dispatched.
        let Some(request) = request else { return Ok(()) };
        let unsent = std::mem::take(&mut pool.connections.at_mut(conn).unsent);
        self.segments.clear();
        match pool.layers.session(conn) {
            Some(session) => {
                if let Err(error) = self.seal(session, backend, request, unsent) {
                    backend.send(conn, &self.segments);
                    self.unsend_unsealed(pool, conn, unsent);
                    return Err(error);
                }
            }
            None => request.segments(unsent, &mut self.segments),
        }
        backend.send(conn, &self.segments);
        Ok(())
    }

    fn string_room(&self, _pool: &ConnectionPool, _conn: ConnId, _batch: &Batch) -> StringRoom {
        StringRoom::Now
    }

    fn dispatch_string(
        &mut self,
        pool: &mut ConnectionPool,
        backend: &mut impl Backend,
        conn: ConnId,
        batch: &Batch,
        slots: impl Iterator<Item = Slots>,
        now: Nanos,
    ) -> Result<(), TlsError> {
        let is_shallow = pool.connections.at(conn).depth < self.depth;
        if is_shallow || batch.requests.len() > usize::from(self.depth) {
            self.deepen(pool, conn, batch.requests.len());
        }
        for (request, slot) in batch.requests.iter().zip(slots) {
            self.dispatch_with(pool, conn, request.traits, slot, now);
        }
        let requests = std::mem::take(&mut pool.connections.at_mut(conn).unsent);
        let bytes = match pool.layers.session(conn) {
            Some(session) => {
                self.sealed.clear();
                if let Err(error) = session.send(&batch.bytes, &mut self.sealed) {
                    self.unsend_unsealed(pool, conn, requests);
                    return Err(error);
                }
                &self.sealed
            }
            None => &batch.bytes,
        };
        self.unsent.sent(bytes.len(), requests);
        let pooled = backend.pool(bytes);
        backend.send(conn, &[Segment::Pooled(pooled)]);
        Ok(())
    }

    #[cold]
    fn note_failing(&mut self, pool: &ConnectionPool, conn: ConnId) {
        let slot = pool.connections.at(conn).slot;
        let exchanges = if slot == NO_SLOT { &[] } else { self.slots.exchanges(slot) };
        self.unsent.note(exchanges);
    }

    #[cold]
    fn unsend(&mut self, pool: &mut ConnectionPool, bytes: u64, request: Option<&Repeated>) {
        let request = request.filter(|_| !pool.layers.have_tls());
        let each = request.map(|request| request.one_bytes as u64);
        self.unsent.count_bytes(&mut pool.ledger, bytes, each);
    }

    fn response(&self, pool: &ConnectionPool, conn: ConnId, nth: usize) -> ReceivedResponse<'_> {
        self.slots.protocol(pool.connections.at(conn).slot).response(nth)
    }

    fn forget_responses(&mut self, pool: &ConnectionPool, conn: ConnId) {
        self.slots.at(pool.connections.at(conn).slot).protocol.forget_responses();
    }

    fn live(&mut self) -> impl Iterator<Item = (ExchangePlace, &mut Exchange)> {
        self.slots.live()
    }

    fn finish(&mut self, pool: &mut ConnectionPool, _end: Nanos) {
        pool.ledger.recorder.interim_responses(self.slots.interim_responses());
        pool.ledger.recorder.event_streams(self.known.has_event_streams());
    }
}

impl Http1Lane {
    /// Returns the lane of a worker of `job` with these connections.
    pub(crate) fn new(job: &Job, pool: &mut ConnectionPool) -> Http1Lane {
        let connections = &mut pool.connections;
        let limits = connections.limits;
        let budget = job.responses.body_budget.clone();
        let format = job.responses.messages.as_ref().and_then(|rules| rules.format.clone());
        let mut slots = Http1Slots::new(limits.depth, pool.needs.keeps, format, budget);
        if !limits.leases {
            connections.all().for_each(|conn| connections.at_mut(conn).slot = slots.lease(conn));
        }
        Http1Lane {
            slots,
            depth: limits.depth,
            responses: Vec::with_capacity(usize::from(limits.depth)),
            stamps: None,
            known: HeadCache::default(),
            unsent: UnsentRequests::new(),
            segments: Vec::new(),
            sealed: Vec::new(),
        }
    }

    /// Provides slots for `requests` requests on `conn`, which has none in flight.
    #[cold]
    fn deepen(&mut self, pool: &mut ConnectionPool, conn: ConnId, requests: usize) {
        let requests = u16::try_from(requests).expect("limited when they were read");
        if requests > self.depth {
            self.depth = requests.checked_next_power_of_two().unwrap_or(requests);
            self.slots.deepen(self.depth);
        }
        pool.connections.at_mut(conn).depth = self.depth;
        let slot = self.slots.of(&mut pool.connections, conn);
        self.slots.at(slot).protocol.set_depth(self.depth);
    }

    #[inline(always)]
    fn dispatch_with(
        &mut self,
        pool: &mut ConnectionPool,
        conn: ConnId,
        request: RequestTraits,
        slots: Slots,
        now: Nanos,
    ) {
        let requests = slots.count;
        let slot = self.slots.of(&mut pool.connections, conn);
        let exchange = slots.exchange(pool.connections.at(conn).freed_at, now);
        let (own, exchanges) = self.slots.parts(slot);
        let mut left = requests;
        while left > 0 {
            let ids = own.protocol.requests(request, left);
            left -= ids.len() as u16;
            for kept in &mut exchanges[indices(ids)] {
                *kept = exchange;
            }
        }
        pool.connections.dispatched(conn, requests, own.protocol.capacity(), now);
        pool.ledger.dispatched(&pool.timeline, &exchange, requests.into());
        if pool.connections.renewal.counts_requests() {
            pool.connections.spend(conn);
        }
    }

    /// Encrypts `unsent` requests into segments.
    ///
    /// # Errors
    /// If they cannot be encrypted. The segments then have what was encrypted before.
    #[inline(never)]
    fn seal(
        &mut self,
        session: &mut Session,
        backend: &mut impl Backend,
        request: &Repeated,
        unsent: u16,
    ) -> Result<(), TlsError> {
        let Http1Lane { segments, sealed, .. } = self;
        let mut sealed_bytes = 0;
        sealed.clear();
        let mut pieces = request.strings(unsent).flat_map(|plain| plain.chunks(SEALED_BYTES));
        // Pooled piece by piece, so that buffers already sent are returned before the last piece is
        // sent.
        let sent = pieces.try_for_each(|plain| {
            if sealed.len() >= SEALED_BYTES {
                sealed_bytes += sealed.len();
                segments.push(Segment::Pooled(backend.pool(sealed)));
                sealed.clear();
            }
            session.send(plain, sealed)
        });
        sealed_bytes += sealed.len();
        segments.push(Segment::Pooled(backend.pool(sealed)));
        if sent.is_ok() {
            self.unsent.sent(sealed_bytes, unsent);
        }
        sent
    }

    /// Completes the responses of a read, and decides the connection's next state.
    #[inline]
    fn after_read(
        &mut self,
        pool: &mut ConnectionPool,
        conn: ConnId,
        at: Nanos,
        read: Result<(), ProtocolError>,
    ) -> After {
        if pool.needs.messages {
            self.note_messages(pool, conn, at);
        }
        let closes = self.settle(pool, conn, at);
        if let Err(error) = read {
            return After::broken(pool, error);
        }
        let connection = pool.connections.at(conn);
        let own = self.slots.at(connection.slot);
        if own.protocol.began_here() {
            own.first_byte_at = at;
        }
        if closes {
            pool.connections.await_close(conn, at.after(CLOSING_NS));
        } else if connection.state == SocketState::Retiring && connection.load == 0 {
            return After::Drained;
        } else if pool.needs.discards {
            let bytes = own.protocol.discardable();
            if bytes >= DISCARD_MIN_BYTES {
                return After::Discard(bytes);
            }
        }
        if pool.connections.limits.leases {
            self.slots.end_lease(&mut pool.connections, conn);
        }
        After::Open
    }

    /// Counts the requests on `conn` that have waited for longer than the timeout, once each.
    fn mark_overdue(&mut self, pool: &mut ConnectionPool, conn: ConnId, now: Nanos) {
        let overdue_before = pool.connections.limits.overdue_before(now);
        let (_, exchanges) = self.slots.parts(pool.connections.at(conn).slot);
        let waiting = exchanges.iter_mut().filter(|one| one.is_live() && !one.is_overdue);
        for exchange in waiting.filter(|one| one.sent_at <= overdue_before) {
            exchange.is_overdue = true;
            pool.ledger.overdue(exchange);
        }
    }

    /// Counts the last `requests` requests on `conn` as unsent, because TLS could not encrypt them.
    #[cold]
    fn unsend_unsealed(&mut self, pool: &mut ConnectionPool, conn: ConnId, requests: u16) {
        self.note_failing(pool, conn);
        self.unsent.count_youngest(&mut pool.ledger, requests.into());
    }
}

/// Returns the indices of the exchanges of requests with these ids.
#[inline(always)]
fn indices(ids: Range<u16>) -> Range<usize> {
    ids.start.into()..ids.end.into()
}
