//! The time series: what happened in each second, by when it happened.

use weir_io::Nanos;
use weir_run::{Interval, Tally};

use crate::recorder::Live;
use crate::timeline::Timeline;

/// The shortest interval.
const SECOND_NS: u64 = 1_000_000_000;

/// Most intervals of a window of known length; longer runs have longer ones.
const INTERVALS: u64 = 3600;

/// One worker's series.
#[derive(Debug)]
pub(crate) struct Series {
    t0: Nanos,
    length_ns: u64,
    /// The interval being filled; its latencies are in `latency`.
    pub(crate) current: Interval,
    latency: Tally,
    done: Vec<Interval>,
}

impl Series {
    /// Intervals lie on a grid through t0; the first one begins at S and may be shorter.
    pub(crate) fn new(timeline: &Timeline) -> Series {
        let window_ns = match timeline.t1 {
            Nanos::MAX => 0,
            t1 => t1.since(timeline.t0),
        };
        let length_ns = window_ns.div_ceil(INTERVALS).div_ceil(SECOND_NS).max(1) * SECOND_NS;
        let before = timeline.t0.since(timeline.start);
        let start_ns = -i64::try_from(before).unwrap_or(i64::MAX);
        let first_ns = match before % length_ns {
            0 => length_ns,
            partial => partial,
        };
        let current = Interval { start_ns, length_ns: first_ns, ..Interval::default() };
        Series { t0: timeline.t0, length_ns, current, latency: Tally::new(), done: Vec::new() }
    }

    /// The window begins at `t0`, some intervals earlier than it was to.
    pub(crate) fn rebase(&mut self, t0: Nanos) {
        let earlier_ns = i64::try_from(self.t0.since(t0)).unwrap_or(i64::MAX);
        let all = self.done.iter_mut().chain([&mut self.current]);
        all.for_each(|interval| interval.start_ns = interval.start_ns.saturating_add(earlier_ns));
        self.t0 = t0;
    }

    /// Length of an interval.
    pub(crate) fn length_ns(&self) -> u64 {
        self.length_ns
    }

    /// So many complete answers.
    #[inline]
    pub(crate) fn completed(&mut self, is_ok: bool, latency_ns: u64, answers: u32) {
        self.current.completed += u64::from(answers);
        self.current.bad += if is_ok { 0 } else { u64::from(answers) };
        self.latency.record_times(latency_ns, answers);
    }

    /// The end of the current interval.
    #[inline]
    pub(crate) fn current_end(&self) -> Nanos {
        let end = self.current.start_ns.saturating_add_unsigned(self.current.length_ns);
        match u64::try_from(end) {
            Ok(after) => self.t0.after(after),
            Err(_) => self.t0.before(end.unsigned_abs()),
        }
    }

    /// Closes the intervals that end at or before `now`.
    pub(crate) fn roll(&mut self, now: Nanos, in_flight: u64, backlog: u64, live: &Live) {
        while self.current_end() <= now {
            self.current.in_flight = in_flight;
            self.current.backlog = backlog;
            self.close(live);
        }
    }

    fn close(&mut self, live: &Live) {
        self.current.latency = self.latency.take_sparse();
        let start_ns = self.current.start_ns.saturating_add_unsigned(self.current.length_ns);
        let next = Interval { start_ns, length_ns: self.length_ns, ..Interval::default() };
        let interval = std::mem::replace(&mut self.current, next);
        live.send(&interval);
        self.done.push(interval);
    }

    /// The whole series; the interval under way is cut at `end`.
    pub(crate) fn finish(mut self, end: Nanos) -> Vec<Interval> {
        self.current.length_ns -= self.current_end().since(end).min(self.current.length_ns);
        if self.current.length_ns > 0 {
            self.current.latency = self.latency.take_sparse();
            self.done.push(self.current);
        }
        self.done
    }
}
