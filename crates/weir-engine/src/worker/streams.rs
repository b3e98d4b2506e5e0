//! Dispatch for multiplexed protocols: due slots, strings of a script and returned requests onto
//! streams.

use std::mem;
use std::sync::Arc;

use weir_http::Request;
use weir_io::{Backend, ConnId, Nanos, Segment};

use super::Worker;
use super::dispatch::{MAKING_TURN_NS, SEND_BATCH};
use crate::pool::Slots;
use crate::requests::RequestSource;

impl<B: Backend> Worker<'_, B> {
    /// Sends a request on a stream if a connection has room: one that the peer returned, or else
    /// that of the next slot, if it is due.
    #[inline(never)]
    pub(super) fn dispatch_stream(&mut self, now: Nanos) -> bool {
        let RequestSource::Fields(request) = &self.requests else { return false };
        let Some(conn) = self.pool.ready.peek() else { return false };
        if self.can_resend() {
            self.pool.resend(conn, now);
        } else if self.is_due(now) {
            let request = Arc::clone(request);
            return self.fill(conn, &request, now);
        } else {
            return false;
        }
        self.mark_dirty(conn, 1);
        true
    }

    /// Sends the request of the next slot on `conn`. In a closed loop, where all slots are
    /// identical, sends as many as the connection has room for: one send carries them, and a server
    /// that reads requests together answers them together.
    fn fill(&mut self, conn: ConnId, request: &Arc<Request>, now: Nanos) -> bool {
        let mut requests = 0;
        loop {
            let slot = self.take_slots(now, 1);
            self.pool.dispatch_stream(conn, request, slot, now);
            requests += 1;
            let is_full = self.pool.ready.load_of(conn).is_none();
            if is_full || self.schedule.is_open_loop() || !self.is_due(now) {
                break;
            }
        }
        self.mark_dirty(conn, requests);
        true
    }

    /// Has a script make the strings that are due, and sends them; within a limit of time. Returns
    /// the time of the last.
    #[inline(never)]
    pub(super) fn dispatch_strings(&mut self, from: Nanos) -> Nanos {
        let mut now = from;
        while self.outbox.dirty.len() < SEND_BATCH && !self.turn.is_behind {
            now = self.make_due(now);
            if !self.dispatch_string(now) {
                break;
            }
            self.turn.is_behind |= now.since(from) >= MAKING_TURN_NS;
        }
        now
    }

    /// Sends the next string of a script if it is due and a connection has a stream for each of
    /// its requests; before that, one that the peer returned. A string that has no such connection
    /// stops the script.
    fn dispatch_string(&mut self, now: Nanos) -> bool {
        let Some(conn) = self.pool.ready.peek() else { return false };
        if self.can_resend() {
            self.pool.resend(conn, now);
            self.mark_dirty(conn, 1);
            return true;
        }
        if !self.is_due(now) || !self.next_string_fits() {
            return false;
        }
        let RequestSource::Queue(queue) = &mut self.requests else { return false };
        let Some(batch) = queue.take() else { return false };
        let streams = self.pool.streams_free(conn);
        if batch.fields.len() > streams as usize {
            if let Some(script) = &mut self.script {
                script.refuse_string(batch.fields.len(), streams, now);
            }
            return false;
        }
        let mut first_due = None;
        if batch.fields.len() > 1 {
            self.pool.free_for_string(conn);
        }
        for (tag, request) in (0..).zip(&batch.fields) {
            let slot = self.take_slots(now, 1);
            let intended_at = *first_due.get_or_insert(slot.intended_at);
            self.pool.dispatch_stream(conn, request, Slots { intended_at, tag, ..slot }, now);
        }
        self.mark_dirty(conn, batch.fields.len());
        if let RequestSource::Queue(queue) = &mut self.requests {
            queue.recycle(batch);
        }
        true
    }

    /// True if the next string has room on the connection that takes the next request, or will
    /// never have.
    pub(super) fn next_string_fits(&self) -> bool {
        let RequestSource::Queue(queue) = &self.requests else { return false };
        let (Some(batch), Some(conn)) = (queue.peek(), self.pool.ready.peek()) else {
            return false;
        };
        batch.fields.len() <= self.pool.streams_free(conn) as usize || self.pool.is_unused(conn)
    }

    /// Marks `conn` as having bytes to send, if its last `requests` requests are the first.
    fn mark_dirty(&mut self, conn: ConnId, requests: usize) {
        if usize::from(self.pool.connection(conn).unsent) == requests {
            self.outbox.dirty.push(conn);
        }
    }

    /// True if there is a returned request whose slot may still be sent, and a connection for it.
    #[inline]
    pub(super) fn can_resend(&self) -> bool {
        let Some(intended_at) = self.pool.streams.next_returned() else { return false };
        let is_in_time = intended_at < self.timeline.t1 || self.has_tail();
        is_in_time && self.stage.is_sending && !self.pool.ready.is_empty()
    }

    /// Hands the bytes of the dispatched streams to the backend.
    #[inline(never)]
    pub(super) fn flush_streams(&mut self, now: Nanos) {
        let mut dirty = mem::take(&mut self.outbox.dirty);
        for conn in dirty.drain(..) {
            self.pool.connection(conn).unsent = 0;
            let failed = self.pool.transmit(conn, now);
            self.send_output(conn);
            if let Some(action) = failed {
                self.act(conn, action);
            }
        }
        self.outbox.dirty = dirty;
    }

    /// Sends what the layers of `conn` have to send.
    #[inline]
    pub(super) fn send_output(&mut self, conn: ConnId) {
        if !self.pool.layers.output.is_empty() {
            let pooled = self.backend.pool(&self.pool.layers.output);
            self.pool.layers.output.clear();
            self.backend.send(conn, &[Segment::Pooled(pooled)]);
        }
    }
}
