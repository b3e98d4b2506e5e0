//! Dispatch for multiplexed protocols: due slots and returned requests onto streams.

use std::mem;
use std::sync::Arc;

use weir_io::{Backend, ConnId, Nanos, Segment};

use super::Worker;
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
            let slot = self.take_slots(now, 1);
            self.pool.dispatch_stream(conn, &request, slot, now);
        } else {
            return false;
        }
        if self.pool.connection(conn).unsent == 1 {
            self.outbox.dirty.push(conn);
        }
        true
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
