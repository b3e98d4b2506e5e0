//! Dispatch: sends due slots on free connections, in stamped batches, and first has a script make
//! the requests.

use weir_io::{Backend, ConnId, Nanos, Segment};

use super::Worker;
use crate::exchange::Phase;
use crate::pool::Slots;
use crate::request_queue::RequestQueue;
use crate::requests::RequestSource;
use crate::script::{Batch, Script};

/// Sends that share one time stamp. It is taken before all of them. So the latency of the last one
/// is overstated by the duration of the others (about 3 µs each on loopback).
pub(super) const SEND_BATCH: usize = 16;

/// Plaintext that is encrypted into one buffer of records: a multiple of the longest record, so
/// that a long request is not cut into more of them.
const SEALED_BYTES: usize = 256 * 1024;

/// Limits of making requests in one turn, in nanoseconds (the last call may overrun) and in batches
/// made ahead. Requests already made, and responses, wait meanwhile.
pub(super) const MAKING_TURN_NS: u64 = 20_000;
const AHEAD_TURN: usize = 8;

/// Least lead of a script's call before its slot, in nanoseconds.
const LEAD_MIN_NS: u64 = 20_000;

impl<B: Backend> Worker<'_, B> {
    /// True if a planned slot is due.
    pub(super) fn has_due(&self, now: Nanos) -> bool {
        let start = self.timeline.start;
        self.schedule.peek().is_some_and(|offset_ns| start.after(offset_ns) <= now)
    }

    /// True if a slot that comes due can be sent: a connection is free, and a request is made or a
    /// script can make one.
    pub(super) fn is_ready(&self) -> bool {
        let is_free = !self.pool.ready.is_empty();
        match &self.requests {
            RequestSource::Static(_) | RequestSource::Fields(_) => is_free,
            RequestSource::Queue(queue) if queue.len() > 0 && self.pool.limits.streams => {
                self.next_string_fits()
            }
            RequestSource::Queue(queue) if queue.len() > 0 => is_free || queue.is_reserved(),
            RequestSource::Queue(_) => {
                is_free && !self.script.as_ref().is_some_and(Script::is_over)
            }
        }
    }

    /// Sends the due slots, as far as connections have room, in batches with a time stamp of their
    /// own. The last batch is not submitted here. Most turns have only that one, and the following
    /// wait submits it without reading the clock around it.
    pub(super) fn dispatch(&mut self, mut now: Nanos) {
        self.turn.is_behind = false;
        while self.stage.is_sending {
            self.check_stop();
            self.check_script(now);
            if self.is_over(now) {
                return;
            }
            match self.requests {
                RequestSource::Static(_) => {
                    while self.outbox.dirty.len() < SEND_BATCH && self.dispatch_next(now) {}
                }
                RequestSource::Queue(_) if self.pool.limits.streams => {
                    now = self.dispatch_strings(now);
                }
                RequestSource::Queue(_) => {
                    now = self.make_due(now);
                    while self.outbox.dirty.len() < SEND_BATCH && self.dispatch_batch(now) {}
                }
                RequestSource::Fields(_) => {
                    while self.outbox.dirty.len() < SEND_BATCH && self.dispatch_stream(now) {}
                }
            }
            let is_full = self.outbox.dirty.len() >= SEND_BATCH;
            self.flush(now);
            // A slow script leaves the rest to the next turn, which follows at once.
            if !is_full || self.turn.is_behind {
                return;
            }
            now = self.backend.submit().after;
        }
    }

    /// Dispatches the next slot if it is due and a connection is free. In a closed loop, where all
    /// slots are identical, dispatches as many as the connection has room for.
    #[inline]
    fn dispatch_next(&mut self, now: Nanos) -> bool {
        let RequestSource::Static(repeated) = &self.requests else { return false };
        let traits = repeated.traits;
        let Some(conn) = self.pool.ready.peek() else { return false };
        if !self.is_due(now) {
            return false;
        }
        let slots = self.take_slots(now, self.pool.room(conn, traits));
        self.pool.dispatch(conn, traits, slots, now);
        if self.pool.connection(conn).unsent == slots.count {
            self.outbox.dirty.push(conn);
        }
        true
    }

    /// True if a request may be sent at `now`.
    #[inline]
    pub(super) fn is_due(&self, now: Nanos) -> bool {
        let timeline = &self.timeline;
        match self.schedule.peek() {
            Some(offset_ns) => {
                let due = timeline.start.after(offset_ns);
                due <= now && (due < timeline.t1 || self.has_tail())
            }
            None => {
                let is_over = now >= timeline.t1 && !self.has_tail();
                now >= timeline.start && !is_over && self.stage.quota != Some(0)
            }
        }
    }

    /// Takes the next identical slots, at most `most`. Planned slots are taken one by one.
    #[inline(always)]
    pub(super) fn take_slots(&mut self, now: Nanos, most: u16) -> Slots {
        let timeline = &self.timeline;
        if let Some(offset_ns) = self.schedule.peek() {
            let due = timeline.start.after(offset_ns);
            let phase = timeline.phase(due);
            self.schedule.take();
            return Slots { intended_at: due, phase, count: 1, tag: 0 };
        }
        let (phase, count) = match (&mut self.stage.quota, timeline.phase(now)) {
            // A batch may hold more requests than the quota has left.
            (Some(0), Phase::Measured) => (Phase::Tail, 1),
            (Some(left), Phase::Measured) => {
                let count = u16::try_from(*left).unwrap_or(u16::MAX).min(most);
                *left -= u64::from(count);
                (Phase::Measured, count)
            }
            (_, phase) => (phase, most),
        };
        Slots { intended_at: now, phase, count, tag: 0 }
    }

    /// True if slots after t1 are sent, which keeps the load up until M is resolved. None are sent
    /// if the number of requests is fixed, if the window was cut, or if the load ends at t1 like
    /// wrk's.
    pub(super) fn has_tail(&self) -> bool {
        self.job.plan.requests.is_none() && !self.stage.is_cut && !self.job.ending.stops_at_t1
    }

    /// Hands the dispatched requests to the backend.
    fn flush(&mut self, now: Nanos) {
        let repeated = match &self.requests {
            RequestSource::Static(repeated) => repeated,
            _ if self.pool.limits.streams => return self.flush_streams(now),
            RequestSource::Queue(_) | RequestSource::Fields(_) => {
                return self.outbox.dirty.clear();
            }
        };
        for conn in self.outbox.dirty.drain(..) {
            let unsent = std::mem::take(&mut self.pool.connection(conn).unsent);
            self.outbox.segments.clear();
            if let Some(session) = self.pool.layers.session(conn) {
                let (sealed, segments) = (&mut self.outbox.sealed, &mut self.outbox.segments);
                let mut sealed_bytes = 0;
                sealed.clear();
                let mut pieces =
                    repeated.strings(unsent).flat_map(|plain| plain.chunks(SEALED_BYTES));
                // Pooled piece by piece, so that buffers already sent are returned before the last
                // piece is sent.
                let sent = pieces.try_for_each(|plain| {
                    if sealed.len() >= SEALED_BYTES {
                        sealed_bytes += sealed.len();
                        segments.push(Segment::Pooled(self.backend.pool(sealed)));
                        sealed.clear();
                    }
                    session.send(plain, sealed)
                });
                sealed_bytes += sealed.len();
                segments.push(Segment::Pooled(self.backend.pool(sealed)));
                if let Err(error) = sent {
                    self.backend.send(conn, segments);
                    self.pool.unsend_unsealed(conn, unsent.into());
                    let action = self.pool.fail_secure(conn, &error, now);
                    self.backend.close(conn, action);
                    continue;
                }
                self.outbox.last_send = (sealed_bytes, unsent.into());
            } else {
                repeated.segments(unsent, &mut self.outbox.segments);
            }
            self.backend.send(conn, &self.outbox.segments);
        }
    }

    /// Sends the next batch of a script, if it is due and its connection is available. The batch
    /// takes one slot for each of its requests; all count from the intended time of the first.
    #[inline(never)]
    fn dispatch_batch(&mut self, now: Nanos) -> bool {
        let Some(conn) = self.next_reserved() else { return false };
        if !self.is_due(now) {
            return false;
        }
        let RequestSource::Queue(queue) = &mut self.requests else { return false };
        let batch = queue.take().expect("the next batch was looked at");
        let requests = u16::try_from(batch.requests.len()).expect("limited when they were read");
        self.pool.make_room(conn, requests);
        let mut first_due = None;
        for (tag, request) in (0..requests).zip(&batch.requests) {
            let slot = self.take_slots(now, 1);
            let intended_at = *first_due.get_or_insert(slot.intended_at);
            self.pool.dispatch(conn, request.traits, Slots { intended_at, tag, ..slot }, now);
        }
        self.send_batch(conn, batch, now);
        self.outbox.dirty.push(conn);
        true
    }

    /// Returns the connection of the next batch. Batches made for a socket that is gone are
    /// dropped.
    fn next_reserved(&mut self) -> Option<ConnId> {
        let RequestSource::Queue(queue) = &mut self.requests else { return None };
        loop {
            match queue.peek()?.reserved {
                None => return self.pool.ready.peek(),
                Some((conn, opened)) if self.pool.is_idle(conn, opened) => return Some(conn),
                Some(_) => {
                    let batch = queue.take().expect("looked at");
                    queue.recycle(batch);
                }
            }
        }
    }

    fn send_batch(&mut self, conn: ConnId, batch: Batch, now: Nanos) {
        self.pool.connection(conn).unsent = 0;
        let requests = batch.requests.len();
        let pooled = match self.pool.layers.session(conn) {
            Some(session) => {
                self.outbox.sealed.clear();
                if let Err(error) = session.send(&batch.bytes, &mut self.outbox.sealed) {
                    self.pool.unsend_unsealed(conn, requests);
                    let action = self.pool.fail_secure(conn, &error, now);
                    return self.backend.close(conn, action);
                }
                self.outbox.last_send = (self.outbox.sealed.len(), requests);
                self.backend.pool(&self.outbox.sealed)
            }
            None => {
                self.outbox.last_send = (batch.bytes.len(), requests);
                self.backend.pool(&batch.bytes)
            }
        };
        self.backend.send(conn, &[Segment::Pooled(pooled)]);
        let used = match &mut self.script {
            Some(script) => script.sent(conn, batch),
            None => batch,
        };
        if let RequestSource::Queue(queue) = &mut self.requests {
            queue.recycle(used);
        }
    }

    /// Makes the missing batches that could be sent now, within a limit of time. Returns the time
    /// at which they were ready, which is their earliest send time.
    #[inline(never)]
    pub(super) fn make_due(&mut self, now: Nanos) -> Nanos {
        let mut made_at = now;
        loop {
            let RequestSource::Queue(queue) = &self.requests else { return made_at };
            let wanted = SEND_BATCH.min(queue.reserved() + self.pool.ready.len());
            if queue.len() >= wanted || !self.is_slot_within(now, now) {
                return made_at;
            }
            if made_at.since(now) >= MAKING_TURN_NS {
                self.turn.is_behind = true;
                return made_at;
            }
            let is_late = self.is_missed();
            let Some(requests) = self.make_batch() else { return made_at };
            if let (Some(script), true) = (&mut self.script, is_late) {
                script.ran_dry += requests;
            }
            // A string that is only repeated needs no call, and takes no time.
            made_at = made_at.max(self.turn.now);
        }
    }

    /// True if the request for the next due slot could have been sent in time, had it been made: a
    /// connection was free.
    fn is_missed(&mut self) -> bool {
        let RequestSource::Queue(queue) = &self.requests else { return false };
        let Some(due) = self.next_unmade(queue) else { return false };
        let Some(conn) = self.pool.ready.peek() else { return false };
        let is_measured = due < self.timeline.t1;
        let is_free = self.pool.connection(conn).freed_at <= due;
        queue.repeated.is_none() && is_measured && is_free
    }

    /// Makes batches for future slots, while there is time before the next one.
    #[inline]
    pub(super) fn make_ahead(&mut self) {
        if self.has_time_ahead() {
            // Sends that are stamped already are submitted before the script runs.
            self.backend.submit();
            self.make_some_ahead();
        }
    }

    #[inline(never)]
    fn make_some_ahead(&mut self) {
        let from = self.turn.now;
        for _ in 0..AHEAD_TURN {
            let is_enough = !self.has_time_ahead() || self.turn.now.since(from) >= MAKING_TURN_NS;
            if is_enough || self.make_batch().is_none() {
                return;
            }
        }
    }

    /// True if a batch for a future slot should be made now.
    #[inline(always)]
    pub(super) fn has_time_ahead(&self) -> bool {
        match &self.requests {
            RequestSource::Static(_) | RequestSource::Fields(_) => false,
            RequestSource::Queue(queue) => self.has_time_for(queue),
        }
    }

    fn has_time_for(&self, queue: &RequestQueue) -> bool {
        let is_made = queue.repeated.is_some() || !self.schedule.is_open_loop();
        if is_made || !self.stage.is_sending || self.script.as_ref().is_none_or(Script::is_over) {
            return false;
        }
        let is_free = !self.pool.ready.is_empty();
        let waits = queue.is_learning || queue.is_reserving;
        let mean_ns = self.script.as_ref().map_or(0, |script| script.request_mean_ns());
        // While no connection is free nothing can be sent, but responses may still change later
        // requests.
        let is_pressing = is_free && queue.len() > 0 && self.has_due(self.turn.now.after(mean_ns));
        // Slots of the drain may never come, and batches made for them would be wasted.
        let last = self.timeline.t1.before(1);
        let until = if waits { self.turn.now.after(self.lead_ns()).min(last) } else { last };
        let is_blocked = is_pressing || (waits && !is_free) || queue.len() >= queue.limit();
        !is_blocked && self.is_slot_within(until, self.turn.now)
    }

    /// Returns the due time of the first slot without a batch; `None` in a closed loop.
    fn next_unmade(&self, queue: &RequestQueue) -> Option<Nanos> {
        let offset_ns = self.schedule.peek()?;
        let later_ns = self.schedule.gap_ns().saturating_mul(queue.requests());
        Some(self.timeline.start.after(offset_ns).after(later_ns))
    }

    /// True if a slot without a batch is due by `until`.
    fn is_slot_within(&self, until: Nanos, now: Nanos) -> bool {
        let RequestSource::Queue(queue) = &self.requests else { return false };
        let t1 = self.timeline.t1;
        match self.next_unmade(queue) {
            Some(due) => due <= until && (due < t1 || self.has_tail()),
            None => self.is_due(now) && self.stage.quota.is_none_or(|left| queue.requests() < left),
        }
    }

    /// Makes a batch and returns its number of requests; `None` if the script makes no more.
    fn make_batch(&mut self) -> Option<u64> {
        let RequestSource::Queue(queue) = &mut self.requests else { return None };
        let script = self.script.as_mut().filter(|script| !script.is_over())?;
        // Streams leave room for other strings, in any order.
        let reserves =
            queue.is_reserving || (!self.schedule.is_open_loop() && !self.pool.limits.streams);
        let conn = if reserves { Some(self.pool.ready.peek()?) } else { None };
        let mut batch = queue.empty();
        match &queue.repeated {
            Some(repeated) => batch.clone_from(repeated),
            // The script reads the clock after the call; batches made ahead need no later time.
            None => self.turn.now = script.request(&mut batch, conn, &mut self.backend)?,
        }
        batch.reserved = conn.map(|conn| (conn, self.pool.reserve(conn)));
        let requests = batch.requests.len() as u64;
        queue.push(batch);
        Some(requests)
    }

    /// Returns the lead of a script's call before its slot, in nanoseconds: several times the
    /// duration of a call.
    fn lead_ns(&self) -> u64 {
        let mean_ns = self.script.as_ref().map_or(0, |script| script.request_mean_ns());
        mean_ns.saturating_mul(4).max(LEAD_MIN_NS)
    }

    /// Returns the time to wake for a slot that is due at `due`: earlier if its request is not made
    /// yet. Nothing is made ahead for slots after t1.
    pub(super) fn lead(&self, due: Nanos) -> Nanos {
        let is_measured = due < self.timeline.t1;
        match &self.requests {
            RequestSource::Queue(queue)
                if is_measured && queue.len() == 0 && queue.repeated.is_none() =>
            {
                due.before(self.lead_ns()).max(self.turn.now.min(due))
            }
            _ => due,
        }
    }
}
