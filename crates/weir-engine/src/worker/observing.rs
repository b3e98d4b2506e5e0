//! Phase changes: the borders of the window, of slices and of intervals. Detects the end of an
//! automatic warm-up, and of a load with a number of requests.

use weir_io::{Backend, Nanos};

use super::Worker;
use crate::lane::{Lane, PoolState};
use crate::time::Timeline;

/// Least delay between the decision that the warm-up is over and the start of the window, in
/// nanoseconds: every worker must have read it by then.
const WINDOW_LEAD_NS: u64 = 100_000_000;

/// Time after a frame in which the program is likely to be busy with it, in nanoseconds. To draw a
/// screen takes below 1 ms of CPU time, but beside a worker only what the worker leaves.
const FRAME_WORK_NS: u64 = 5_000_000;

impl<B: Backend, L: Lane> Worker<'_, B, L> {
    /// Sets the start of the window once an automatic warm-up has ended.
    pub(super) fn check_window(&mut self) {
        if self.pool.recorder().warmup.is_none() || self.stage.is_cut {
            return;
        }
        if let Some(t0) = self.control.window_begins_at() {
            let start = self.pool.shared.timeline.start;
            let timeline = Timeline::with_window(&self.job.plan, start, t0);
            self.pool.shared.timeline = timeline;
            self.pool.recorder_mut().begin_window(&timeline);
            self.pool.recorder_mut().warmup = None;
        }
    }

    /// Adds this worker's responses of the warm-up to the board; the first worker decides whether
    /// it is over. The window begins at a border of intervals that no worker has passed.
    fn settle_in(&mut self, now: Nanos) {
        let Timeline { start, t0, .. } = self.pool.shared.timeline;
        let Some(warmup) = &mut self.pool.shared.ledger.recorder.warmup else { return };
        if now >= t0 {
            self.pool.recorder_mut().warmup = None;
            self.stage.is_unsettled = true;
        } else if warmup.look_at <= now {
            let board = self.control.board(self.job.plan.load.warmup.span_ns);
            warmup.add_to(board, start, now);
            let begins_at = self.pool.recorder().border_from(t0, now.after(WINDOW_LEAD_NS));
            let decides = self.live.worker == 0 && begins_at < t0;
            if decides && board.has_settled(now.since(start)) {
                self.control.begin_window(begins_at);
            }
        }
    }

    /// Records the phases as they pass.
    pub(super) fn observe(&mut self, now: Nanos) {
        if self.is_exhausted(now) {
            self.pool.shared.timeline.cut(now, 0);
        }
        let Timeline { t0, t1, .. } = self.pool.shared.timeline;
        if self.phases.t0_ns == 0 && now >= t0 {
            self.phases.t0_ns = now.0;
            self.pool.shared.record_open();
            self.stalls.begin(t0, now, self.backend.usage(), self.waiting.seen);
        }
        if self.pool.recorder().warmup.is_some() {
            self.settle_in(now);
        }
        if self.pool.recorder().slices.next_end() <= now {
            self.end_slices(now);
        }
        if self.phases.t1_ns == 0 && now >= t1 {
            self.phases.t1_ns = now.0;
            let wall_ns = now.since(Nanos(self.phases.t0_ns));
            self.stalls.end(wall_ns, self.backend.usage(), self.waiting.seen);
        }
        let PoolState { timeline, ledger, .. } = &mut self.pool.shared;
        if ledger.recorder.sample_at(timeline) <= now {
            ledger.recorder.sample(timeline, now);
        }
        if self.pool.recorder().series.current_end() <= now {
            let backlog = self.slots.backlog(&self.pool.shared.timeline, now);
            let in_flight = self.pool.shared.connections.counts.in_flight;
            self.pool.recorder_mut().series.roll(now, in_flight, backlog, &self.live);
        }
        if self.live.frame_at <= now {
            self.send_frame(now);
        }
    }

    /// Sends the worker's state to the program.
    #[cold]
    fn send_frame(&mut self, now: Nanos) {
        let backlog = self.slots.backlog(&self.pool.shared.timeline, now);
        let mut frame = self.pool.frame(now, backlog);
        frame.busy_ns = self.backend.busy_ns();
        self.live.send_frame(frame);
        self.backend.keep_cpu(now.after(FRAME_WORK_NS));
    }

    /// Records the requests in flight and the backlog at the ends of slices.
    fn end_slices(&mut self, now: Nanos) {
        let slots = &self.slots;
        let in_flight = self.pool.shared.connections.counts.in_flight;
        let timeline = self.pool.shared.timeline;
        let backlog = |end: Nanos| slots.backlog(&timeline, end);
        self.pool.shared.ledger.recorder.slices.end(now, in_flight, backlog);
    }

    /// True if a closed loop with a number of requests is complete, or never will be: there was no
    /// response for longer than a request and a connect may take together.
    fn is_exhausted(&self, now: Nanos) -> bool {
        let Some(left) = self.slots.quota else { return false };
        let Timeline { t0, t1, .. } = self.pool.shared.timeline;
        if t1 <= now {
            return false;
        }
        let limits = &self.pool.shared.connections.limits;
        let patience_ns = limits.timeout_ns + limits.connect_timeout_ns;
        // A request in flight ends with its timeout, unless late responses are accepted.
        let is_awaiting =
            self.pool.shared.connections.counts.in_flight > 0 && !limits.late_responses;
        let is_waiting = is_awaiting || self.source.is_starved();
        let is_dead =
            !is_waiting && now.since(self.pool.shared.connections.counts.alive_at) > patience_ns;
        // A worker without a share is complete at once, yet its window begins like all others.
        let is_through = left == 0 && self.pool.recorder().unresolved() == 0;
        (is_through && now >= t0) || is_dead
    }

    /// True if no member of M is left unsent or unresolved.
    pub(super) fn is_resolved(&self) -> bool {
        let next = self.slots.next_at(&self.pool.shared.timeline).filter(|_| !self.stage.is_cut);
        let has_unsent = next.is_some_and(|due| due < self.pool.shared.timeline.t1);
        self.pool.recorder().unresolved() == 0 && !has_unsent
    }
}
