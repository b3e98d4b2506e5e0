//! The phases of a run as instants on one clock, the same for every worker (METHOD 1.5).

use weir_io::Nanos;
use weir_result::{Plan, SlotPhase};

use super::schedule::end_of_requests;

/// S, t0, t1 and the end of the drain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeline {
    /// Start of the schedule (S): slot times count from here.
    pub(crate) start: Nanos,
    /// Begin of the window.
    pub(crate) t0: Nanos,
    /// End of the window, exclusive; [`Nanos::MAX`] as long as only a number of requests decides
    /// it.
    pub(crate) t1: Nanos,
    /// Latest end of the drain. Nothing is sent from here on, and unresolved slots are censored.
    pub(crate) drain_end: Nanos,
}

impl Timeline {
    /// Returns the timeline of a run whose schedule starts at `start`.
    pub(crate) fn new(plan: &Plan, start: Nanos) -> Timeline {
        Timeline::with_window(plan, start, start.after(plan.load.warmup.span_ns))
    }

    /// Returns the timeline of a run whose window begins at `t0`.
    pub(crate) fn with_window(plan: &Plan, start: Nanos, t0: Nanos) -> Timeline {
        let by_time = plan.load.length_ns().map_or(Nanos::MAX, |span_ns| t0.after(span_ns));
        let timeline = Timeline { start, t0, t1: by_time, drain_end: Nanos::MAX };
        let t1 = plan.load.requests.map_or(by_time, |requests| timeline.end_of(plan, requests));
        Timeline { t1, drain_end: t1.after(plan.drain_limit_ns()), ..timeline }
    }

    /// Returns the end of the window if it has `requests` requests, or its own if that is earlier.
    fn end_of(&self, plan: &Plan, requests: u64) -> Nanos {
        let offset_ns = end_of_requests(&plan.load, self.t0.since(self.start), requests);
        offset_ns.map_or(self.t1, |offset_ns| self.t1.min(self.start.after(offset_ns)))
    }

    /// Ends the window as if `plan` had `requests` requests.
    pub(crate) fn limit(&mut self, plan: &Plan, requests: u64) {
        self.t1 = self.end_of(plan, requests);
        self.drain_end = self.drain_end.min(self.t1.after(plan.drain_limit_ns()));
    }

    /// Returns the timeline of a run that ended before its schedule began.
    pub(crate) fn empty(now: Nanos) -> Timeline {
        Timeline { start: now, t0: now, t1: now, drain_end: now }
    }

    /// Ends the window at `at` and the drain `drain_ns` later, unless they end earlier.
    pub(crate) fn cut(&mut self, at: Nanos, drain_ns: u64) {
        self.t1 = self.t1.min(at);
        self.t0 = self.t0.min(self.t1);
        self.end_drain(at.after(drain_ns));
    }

    /// Ends the drain at `at`, unless it ends earlier.
    pub(crate) fn end_drain(&mut self, at: Nanos) {
        self.drain_end = self.drain_end.min(at);
    }

    /// Returns the offset of t1 from S, in nanoseconds.
    pub(crate) fn window_end_ns(&self) -> u64 {
        self.t1.since(self.start)
    }

    /// Returns the phase of a slot intended at `at`.
    #[inline]
    pub(crate) fn phase(&self, at: Nanos) -> SlotPhase {
        if at < self.t0 {
            SlotPhase::Warmup
        } else if at < self.t1 {
            SlotPhase::Measured
        } else {
            SlotPhase::Tail
        }
    }

    /// True if `at` lies in the window.
    #[inline]
    pub(crate) fn is_in_window(&self, at: Nanos) -> bool {
        self.t0 <= at && at < self.t1
    }
}
