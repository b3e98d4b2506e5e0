//! The responses that a read completed: their exchanges end, and are recorded together where they
//! are alike.

use weir_io::{ConnId, Nanos};

use super::{Http1Lane, indices};
use crate::connections::{Connections, Refill, ScriptEvent, SocketState};
use crate::exchange::{Exchange, ExchangePlace, KernelTimes, Outcome, Response};
use crate::lane::{meets, response_of};
use crate::pool::ConnectionPool;
use crate::record::{Observed, TimedMessage};

impl Http1Lane {
    /// Ends the exchanges of the complete responses. Returns true if the last one closes the
    /// connection.
    #[inline]
    pub(super) fn settle(&mut self, pool: &mut ConnectionPool, conn: ConnId, at: Nanos) -> bool {
        if self.responses.is_empty() {
            return false;
        }
        if pool.needs.shows.is_some() {
            self.note_responses(&mut pool.connections, conn);
        }
        match pool.needs.checks {
            false => self.settle_all::<false>(pool, conn, at),
            true => self.settle_checked(pool, conn, at),
        }
    }

    /// The same for responses that are checked, away from the code of a run without checks.
    #[inline(never)]
    fn settle_checked(&mut self, pool: &mut ConnectionPool, conn: ConnId, at: Nanos) -> bool {
        self.settle_all::<true>(pool, conn, at)
    }

    /// Ends the exchanges of the responses, of which there is one at least. They are checked
    /// against expectations if `CHECKS`; a run without any has code without the check.
    #[inline]
    fn settle_all<const CHECKS: bool>(
        &mut self,
        pool: &mut ConnectionPool,
        conn: ConnId,
        at: Nanos,
    ) -> bool {
        let ConnectionPool { timeline, connections, ledger, needs, .. } = pool;
        let is_observed = ledger.observes(conn);
        if is_observed {
            let load = connections.at(conn).load;
            let transmitted_at = ledger.stamping.take_transmitted(conn);
            let is_stamped = ledger.stamping.covers(conn);
            self.take_stamps(is_stamped, pool.received_at, transmitted_at, load);
        }
        let takes_batches = connections.limits.refill == Refill::Batch;
        let connection = connections.at_mut(conn);
        let (own, exchanges) = self.slots.parts(connection.slot);
        if connection.load == self.depth || takes_batches {
            connection.freed_at = at;
        }
        let mut closes = false;
        let mut ended_exchanges = 0;
        for (nth, event) in self.responses.drain(..).enumerate() {
            let first_byte_at = if event.began_here { at } else { own.first_byte_at };
            let response = Response { status: event.status, first_byte_at };
            let mut ended = &mut exchanges[indices(event.ids())];
            while let Some(&exchange) = ended.first() {
                // Exchanges sent together are adjacent, and recorded together.
                let alike = match ended {
                    [_] => 1,
                    _ if is_observed => 1,
                    _ => ended.partition_point(|other| *other == exchange),
                };
                let (ended_now, others) = ended.split_at_mut(alike);
                debug_assert!(ended_now.iter().all(|other| *other == exchange));
                ended_now.iter_mut().for_each(Exchange::end);
                ended = others;
                let id = event.ids().end - ended.len() as u16 - 1;
                let place = ExchangePlace { conn, id };
                let observed =
                    is_observed.then(|| observed(place, &exchange, self.stamps.as_ref()));
                let kept = || own.protocol.response(nth);
                let response_kept = || response_of(needs.keeps, event.status, kept);
                let is_ok = match CHECKS {
                    false => ledger.accepts(event.status),
                    true => meets(ledger, place, &exchange, alike, at, response_kept),
                };
                let outcome = Outcome::of(response, is_ok);
                ledger.responded::<CHECKS>(
                    timeline,
                    &exchange,
                    alike as u32,
                    outcome,
                    at,
                    observed,
                );
                connection.load -= alike as u16;
                if connection.load == 0 {
                    ledger.batch_ended(&exchange, at);
                }
            }
            ended_exchanges += u64::from(event.count);
            closes |= event.closes;
        }
        connection.responded();
        connections.ended(ended_exchanges);
        connections.alive(at);
        self.refill(connections, conn);
        closes
    }

    /// Makes `conn` available again after responses, if it takes further requests.
    #[inline(always)]
    fn refill(&self, connections: &mut Connections, conn: ConnId) {
        let connection = connections.at(conn);
        let load = connection.load;
        let is_open = connection.state == SocketState::Open;
        match connections.limits.refill {
            _ if !is_open => {}
            Refill::One => connections.free(conn, load),
            Refill::Half if load <= self.depth / 2 => connections.free(conn, 0),
            Refill::Batch if load == 0 => connections.free(conn, 0),
            Refill::Half | Refill::Batch => {}
        }
    }

    /// Announces the messages of the current event. Without pipelining they are of the only request
    /// in flight.
    #[inline(never)]
    pub(super) fn note_messages(&mut self, pool: &mut ConnectionPool, conn: ConnId, at: Nanos) {
        let slot = pool.connections.at(conn).slot;
        let place = ExchangePlace { conn, id: 0 };
        let exchange = self.slots.exchanges(slot)[0];
        let stamp = pool.received_at;
        let messages = self.slots.protocol(slot).messages();
        for (index, message) in messages.iter().enumerate() {
            let is_last = index + 1 == messages.len();
            let timed = TimedMessage { message: *message, at, stamp, is_last };
            pool.ledger.message(&pool.timeline, place, &exchange, timed);
        }
    }

    /// Keeps the kernel's stamps of the current event. Bytes read together have one receive stamp,
    /// which belongs to the last response. A transmit stamp belongs to a request only if no other
    /// is in flight.
    #[inline(never)]
    fn take_stamps(
        &mut self,
        is_stamped: bool,
        received_at: Option<Nanos>,
        transmitted_at: Option<Nanos>,
        load: u16,
    ) {
        let transmitted_at = transmitted_at.filter(|_| load == 1);
        let times = KernelTimes { received_at, transmitted_at };
        let last = self.responses.last().filter(|_| is_stamped);
        self.stamps = last.map(|event| (event.ids().end - 1, times));
    }

    /// Queues the complete responses for the script.
    #[inline(never)]
    fn note_responses(&self, connections: &mut Connections, conn: ConnId) {
        let events = self.responses.iter();
        let statuses = events.flat_map(|event| event.ids().map(|_| event.status)).enumerate();
        connections.script_events.extend(statuses.map(|(nth, status)| ScriptEvent::Responded {
            conn,
            nth,
            status,
        }));
    }
}

/// Returns what observers see of the response to an exchange. `stamps` belong to the request with
/// their id.
fn observed(
    place: ExchangePlace,
    exchange: &Exchange,
    stamps: Option<&(u16, KernelTimes)>,
) -> Observed {
    let own = stamps.filter(|(id, _)| *id == place.id);
    Observed { place, kernel: own.map(|(_, times)| times.of(exchange)) }
}
