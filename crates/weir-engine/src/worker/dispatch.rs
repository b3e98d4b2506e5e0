//! Dispatch: sends due slots on free connections, in stamped batches.

use std::iter;

use weir_io::{Backend, Nanos};

use super::Worker;
use super::state::SEND_BATCH;
use crate::lane::{Lane, StringRoom};
use crate::requests::{MAKING_TURN_NS, RequestForm};

impl<B: Backend, L: Lane> Worker<'_, B, L> {
    /// True if a slot that comes due can be sent: a connection has room, and a request is made or a
    /// script can make one.
    pub(super) fn is_ready(&self) -> bool {
        match self.source.next_batch() {
            Some(batch) => self.handler.has_room_for(&self.pool, batch),
            None => self.pool.has_place() && self.source.has_more(),
        }
    }

    /// Sends the due slots, as far as connections have room, in batches with a time stamp of their
    /// own. The last batch is not submitted here. Most turns have only that one, and the following
    /// wait submits it without reading the clock around it.
    pub(super) fn dispatch(&mut self, mut now: Nanos) {
        self.source.is_behind = false;
        // After a pause of the process this is the first thing that happens before a request.
        self.control.check_lease(now);
        while self.stage.is_sending {
            if let Some(stop_at) = self.control.stop_requested() {
                self.check_stop(stop_at);
            }
            if self.source.may_end() {
                self.check_source(now);
            }
            if self.stage.is_over(&self.pool.timeline, now) {
                return;
            }
            if self.slots.sheds(self.pool.connections.in_flight()) {
                self.slots.shed_due(&self.pool.timeline, now);
            }
            let mut is_full = false;
            if self.source.same().is_some() {
                while self.unsent.len() < SEND_BATCH && self.dispatch_next(now) {}
            } else {
                (now, is_full) = self.dispatch_varied(now);
            }
            is_full |= self.unsent.len() >= SEND_BATCH;
            self.flush(now);
            // A slow script leaves the rest to the next turn, which follows at once.
            if !is_full || self.source.is_behind {
                return;
            }
            now = self.backend.submit().after;
        }
    }

    /// Dispatches the next slot if it is due and a connection is free; before that, a request that
    /// the peer returned. In a closed loop, where all slots are identical, dispatches as many as
    /// the connection has room for.
    #[inline]
    fn dispatch_next(&mut self, now: Nanos) -> bool {
        if self.dispatch_returned(now) {
            return true;
        }
        let Some(request) = self.source.same() else { return false };
        let lane = &mut self.handler.lane;
        let pool = &mut self.pool;
        let Some(conn) = pool.connections.ready.peek() else { return false };
        let timeline = &pool.timeline;
        if !self.slots.admits(timeline, now, pool.connections.in_flight()) {
            return false;
        }
        let most = lane.room(pool, conn, request);
        let slots = self.slots.take(timeline, now, most);
        if pool.connections.at(conn).unsent == 0 {
            self.unsent.push(conn);
        }
        lane.dispatch(pool, conn, request, slots, now);
        true
    }

    /// Dispatches the requests of a list whose turns have come, as far as slots are due and
    /// connections free; before them, requests that the peer returned. With HTTP/1 each is sent at
    /// once, because the next request on its connection is another one. Returns true if the batch
    /// is full.
    fn dispatch_listed(&mut self, now: Nanos) -> bool {
        for _ in 0..SEND_BATCH {
            if self.dispatch_returned(now) {
                continue;
            }
            let Some(listed) = self.source.listed_mut() else { return false };
            let lane = &mut self.handler.lane;
            let pool = &mut self.pool;
            let Some(conn) = pool.connections.ready.peek() else { return false };
            let timeline = &pool.timeline;
            if !self.slots.admits(timeline, now, pool.connections.in_flight()) {
                return false;
            }
            let turn = self.slots.next_turn();
            let Some((row, name)) = listed.at(turn) else { return false };
            let connection = || self.slots.turns.connection(conn.0);
            let rendered = match listed.render(row, turn, connection) {
                Ok(rendered) => rendered,
                Err(text) => {
                    self.control.list_failed(text, now);
                    return false;
                }
            };
            let slots = self.slots.take_listed(timeline, now, row, name);
            let is_first = pool.connections.at(conn).unsent == 0;
            if let Some(batch) = rendered {
                let slots = iter::once(slots);
                let sent = lane.dispatch_string(pool, &mut self.backend, conn, batch, slots, now);
                self.unsent.extend(is_first.then_some(conn));
                if let Err(error) = sent {
                    let action = self.handler.fail_secure(&mut self.pool, conn, &error, now);
                    self.act(conn, action);
                }
                continue;
            }
            let request = listed.request(row);
            lane.dispatch(pool, conn, request, slots, now);
            if L::Request::STREAMS {
                self.unsent.extend(is_first.then_some(conn));
            } else {
                let action =
                    self.handler.flush(&mut self.pool, &mut self.backend, conn, Some(request), now);
                self.act(conn, action);
            }
        }
        true
    }

    /// Dispatches a request that the peer returned again, if there is one and a connection for it.
    #[inline]
    pub(super) fn dispatch_returned(&mut self, now: Nanos) -> bool {
        if !self.can_resend() {
            return false;
        }
        let lane = &mut self.handler.lane;
        let pool = &mut self.pool;
        let Some(conn) = pool.connections.ready.peek() else { return false };
        if pool.connections.at(conn).unsent == 0 {
            self.unsent.push(conn);
        }
        lane.resend(pool, conn, now);
        true
    }

    /// True if there is a returned request whose slot may still be sent, and a connection for it.
    #[inline]
    pub(super) fn can_resend(&self) -> bool {
        let Some(intended_at) = self.handler.lane.next_returned() else { return false };
        let is_in_time = intended_at < self.pool.timeline.t1 || self.slots.has_tail;
        is_in_time && self.stage.is_sending && self.pool.has_free()
    }

    /// Hands the dispatched requests to the backend.
    fn flush(&mut self, now: Nanos) {
        let mut unsent = std::mem::take(&mut self.unsent);
        for conn in unsent.drain(..) {
            let action = self.handler.flush(
                &mut self.pool,
                &mut self.backend,
                conn,
                self.source.same(),
                now,
            );
            self.act(conn, action);
        }
        self.unsent = unsent;
    }

    /// Dispatches the requests of a list, or has a script make the batches that are due and
    /// dispatches them, within a limit of time. Returns the time of the last, and true if there may
    /// be more requests of the list.
    #[inline(never)]
    fn dispatch_varied(&mut self, from: Nanos) -> (Nanos, bool) {
        if self.pool.ledger.users().is_some() {
            return (from, self.dispatch_users(from));
        }
        if self.source.listed().is_some() {
            return (from, self.dispatch_listed(from));
        }
        let slots = &self.slots;
        let backend = &mut self.backend;
        let mut now = self.source.make_due(&mut self.pool.demand(slots), backend, from, SEND_BATCH);
        while self.dispatch_returned(now) || self.dispatch_batch(now) {
            self.source.is_behind |= L::Request::STREAMS && now.since(from) >= MAKING_TURN_NS;
            if self.unsent.len() >= SEND_BATCH || (L::Request::STREAMS && self.source.is_behind) {
                break;
            }
            // A connection with streams may have room for more than was made.
            if L::Request::STREAMS {
                let mut demand = self.pool.demand(&self.slots);
                now = self.source.make_due(&mut demand, &mut self.backend, now, SEND_BATCH);
            }
        }
        (now, false)
    }

    /// Dispatches the next batch of a script, if it is due and a connection has room for it. The
    /// batch takes one slot for each of its requests; all count from the intended time of the
    /// first. A batch for which no connection ever has room stops the script.
    fn dispatch_batch(&mut self, now: Nanos) -> bool {
        let lane = &mut self.handler.lane;
        let pool = &mut self.pool;
        let Some(conn) = self.source.next_connection(&pool.connections) else { return false };
        let timeline = pool.timeline;
        if !self.slots.admits(&timeline, now, pool.connections.in_flight()) {
            return false;
        }
        let room = self.source.next_batch().map(|batch| lane.string_room(pool, conn, batch));
        if room == Some(StringRoom::Later) {
            return false;
        }
        let Some(batch) = self.source.take_batch() else { return false };
        let requests = u16::try_from(batch.requests.len()).expect("limited when they were read");
        if let (Some(StringRoom::Never(streams)), Some(script)) = (room, &mut self.source.script) {
            script.refuse_string(batch.requests.len(), streams, now);
            return false;
        }
        let is_first = pool.connections.at(conn).unsent == 0;
        let slots = self.slots.take_string(timeline, now, requests, batch.tag);
        let sent = lane.dispatch_string(pool, &mut self.backend, conn, &batch, slots, now);
        if is_first {
            self.unsent.push(conn);
        }
        self.source.sent_batch(conn, batch);
        if let Err(error) = sent {
            let action = self.handler.fail_secure(&mut self.pool, conn, &error, now);
            self.act(conn, action);
        }
        true
    }

    /// True if a batch for a future slot should be made now.
    #[inline]
    pub(super) fn has_time_ahead(&mut self) -> bool {
        if self.source.same().is_some() || !self.stage.is_sending {
            return false;
        }
        self.source.has_time_ahead(&self.pool.demand(&self.slots), self.turn.now)
    }

    /// Has a script make batches for future slots, if there is time.
    #[inline]
    pub(super) fn make_ahead(&mut self) {
        if self.has_time_ahead() {
            // Sends that are stamped already are submitted before the script runs.
            self.backend.submit();
            let mut demand = self.pool.demand(&self.slots);
            let now = self.turn.now;
            self.turn.now = self.source.make_ahead(&mut demand, &mut self.backend, now);
        }
    }
}
