//! Phase changes: the borders of the window, of slices and of intervals. Detects the end of an
//! automatic warm-up, and of a load with a number of requests.

use weir_io::{Backend, Nanos};

use super::Worker;
use crate::lane::Lane;
use crate::pool::ConnectionPool;
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
            let start = self.pool.timeline.start;
            let timeline = Timeline::with_window(&self.job.plan, start, t0);
            self.pool.timeline = timeline;
            self.pool.recorder_mut().begin_window(&timeline);
            self.pool.recorder_mut().warmup = None;
        }
    }

    /// Adds this worker's responses of the warm-up to the board; the first worker decides whether
    /// it is over. The window begins at a border of intervals that no worker has passed.
    fn settle_in(&mut self, now: Nanos) {
        let plan = &self.job.plan;
        let Timeline { start, t0, .. } = self.pool.timeline;
        let recorder = self.pool.recorder_mut();
        let Some(warmup) = &mut recorder.warmup else { return };
        if now >= t0 {
            recorder.warmup = None;
            self.stage.is_unsettled = true;
        } else if warmup.look_at <= now {
            let board = self.control.board(plan.load.warmup.span_ns);
            warmup.add_to(board, start, now);
            let begins_at = recorder.border_from(t0, now.after(WINDOW_LEAD_NS));
            let decides = self.live.worker == 0 && begins_at < t0;
            if decides && board.has_settled(now.since(start)) {
                self.control.begin_window(begins_at);
            }
        }
    }

    /// Records the phases as they pass.
    pub(super) fn observe(&mut self, now: Nanos) {
        if let Some(left) = self.slots.quota
            && self.is_exhausted(left, now)
        {
            self.pool.timeline.cut(now, 0);
        }
        let Timeline { t0, t1, .. } = self.pool.timeline;
        if self.phases.t0_ns == 0 && now >= t0 {
            self.phases.t0_ns = now.0;
            self.pool.record_open();
            self.stalls.begin(t0, now, self.backend.usage(), self.waiting.seen);
        }
        if self.pool.recorder().warmup.is_some() {
            self.settle_in(now);
        }
        if self.phases.t1_ns == 0 && now >= t1 {
            self.phases.t1_ns = now.0;
            let wall_ns = now.since(Nanos(self.phases.t0_ns));
            self.stalls.end(wall_ns, self.backend.usage(), self.waiting.seen);
        }
        let ConnectionPool { timeline, connections, ledger, .. } = &mut self.pool;
        let backlog = |at: Nanos| self.slots.backlog(timeline, at);
        let in_flight = connections.in_flight();
        ledger.recorder.pass_borders(timeline, now, in_flight, backlog, &self.live);
        if self.live.frame_at <= now {
            self.send_frame(now);
        }
    }

    /// Sends the worker's state to the program.
    #[cold]
    fn send_frame(&mut self, now: Nanos) {
        let backlog = self.slots.backlog(&self.pool.timeline, now);
        let mut frame = self.pool.frame(now, backlog);
        frame.busy_ns = self.backend.busy_ns();
        self.live.send_frame(frame);
        self.backend.keep_cpu(now.after(FRAME_WORK_NS));
    }

    /// True if a closed loop with a number of requests, of which so many are left, is complete, or
    /// never will be: there was no response for longer than a request and a connect may take
    /// together. Apart from the code of runs without such a number.
    #[inline(never)]
    fn is_exhausted(&self, left: u64, now: Nanos) -> bool {
        let Timeline { t0, t1, .. } = self.pool.timeline;
        if t1 <= now {
            return false;
        }
        let connections = &self.pool.connections;
        // A request in flight ends with its timeout, unless late responses are accepted.
        let is_awaiting = connections.in_flight() > 0 && !connections.limits.late_responses;
        let users = self.pool.ledger.users();
        let is_thinking = users.is_some_and(|users| users.has_waiting());
        let is_waiting = is_awaiting || is_thinking || self.source.is_starved();
        let silence_ns = now.since(connections.alive_at());
        let is_dead = !is_waiting && silence_ns > connections.limits.patience_ns();
        // A worker without a share is complete at once, yet its window begins like all others.
        let is_through = left == 0 && self.pool.has_resolved_all();
        (is_through && now >= t0) || is_dead
    }

    /// True if no member of M is left unsent or unresolved.
    pub(super) fn is_resolved(&self) -> bool {
        let next = self.slots.next_at(&self.pool.timeline).filter(|_| !self.stage.is_cut);
        let has_unsent = next.is_some_and(|due| due < self.pool.timeline.t1);
        self.pool.has_resolved_all() && !has_unsent
    }
}
