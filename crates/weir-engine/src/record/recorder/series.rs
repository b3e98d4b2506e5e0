//! The time series: events per interval, by the time of the event.

use weir_io::Nanos;
use weir_result::{Interval, Tally, coarsen_intervals};

use crate::live::WorkerLive;
use crate::time::Timeline;

/// Shortest interval, in nanoseconds.
const SECOND_NS: u64 = 1_000_000_000;

/// Most intervals of a window of known length; longer runs have longer intervals.
const INTERVALS: u64 = 3600;

/// Most intervals that are kept of a run whose length is unknown. Beyond that every two become one
/// of twice the length.
const KEPT_MAX: usize = 2 * INTERVALS as usize;

/// Intervals joined at a time: about 100 µs of work.
const JOINED_AT_ONCE: usize = 64;

/// Most bytes of the latencies of finished intervals, over all workers. Beyond that their buckets
/// are coarsened, so that memory does not grow with the length of a run.
const LATENCY_BYTES: usize = 8 << 20;

/// Smallest share of one worker, in bytes.
const LATENCY_BYTES_MIN: usize = 64 << 10;

/// Finished intervals coarsened at a time: about 50 µs of work.
const COARSENED_AT_ONCE: usize = 32;

/// One worker's series.
#[derive(Debug)]
pub(crate) struct Series {
    t0: Nanos,
    pub(crate) length_ns: u64,
    /// Interval being filled; its latencies are in `latency`.
    pub(crate) current: Interval,
    latency: Tally,
    done: Vec<Interval>,
    kept: Kept,
}

impl Series {
    /// Returns an empty series. Intervals lie on a grid through t0; the first one begins at S and
    /// may be shorter.
    pub(crate) fn new(timeline: &Timeline, workers: u32) -> Series {
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
        let share = LATENCY_BYTES / (workers as usize).max(1);
        Series {
            t0: timeline.t0,
            length_ns,
            current,
            latency: Tally::new(),
            done: Vec::new(),
            kept: Kept { length_ns, bytes_max: share.max(LATENCY_BYTES_MIN), ..Kept::default() },
        }
    }

    /// Moves the start of the window to `t0`, some intervals earlier than planned.
    pub(crate) fn rebase(&mut self, t0: Nanos) {
        let earlier_ns = i64::try_from(self.t0.since(t0)).unwrap_or(i64::MAX);
        let all = self.done.iter_mut().chain([&mut self.current]);
        all.for_each(|interval| interval.start_ns = interval.start_ns.saturating_add(earlier_ns));
        self.t0 = t0;
    }

    /// Counts `responses` complete responses.
    #[inline]
    pub(crate) fn completed(&mut self, is_ok: bool, latency_ns: u64, responses: u32) {
        self.current.completed += u64::from(responses);
        self.current.bad += if is_ok { 0 } else { u64::from(responses) };
        self.latency.record_times(latency_ns, responses);
    }

    /// Returns the end of the current interval.
    #[inline]
    pub(crate) fn current_end(&self) -> Nanos {
        let end = self.current.start_ns.saturating_add_unsigned(self.current.length_ns);
        match u64::try_from(end) {
            Ok(after) => self.t0.after(after),
            Err(_) => self.t0.before(end.unsigned_abs()),
        }
    }

    /// Returns the current interval, cut at `now`.
    pub(crate) fn in_progress(&self, now: Nanos, in_flight: u64, backlog: u64) -> Interval {
        let left_ns = self.current_end().since(now).min(self.current.length_ns);
        Interval {
            length_ns: self.current.length_ns - left_ns,
            in_flight,
            backlog,
            latency: self.latency.sparse(0),
            ..self.current.clone()
        }
    }

    /// Closes the intervals that end at or before `now`.
    pub(crate) fn roll(&mut self, now: Nanos, in_flight: u64, backlog: u64, live: &WorkerLive) {
        while self.current_end() <= now {
            self.current.in_flight = in_flight;
            self.current.backlog = backlog;
            self.close(live);
        }
    }

    fn close(&mut self, live: &WorkerLive) {
        self.current.latency = self.latency.take_sparse();
        let start_ns = self.current.start_ns.saturating_add_unsigned(self.current.length_ns);
        let next = Interval { start_ns, length_ns: self.length_ns, ..Interval::default() };
        let interval = std::mem::replace(&mut self.current, next);
        live.send_interval(&interval);
        self.keep(interval);
    }

    /// Returns the whole series; the current interval is cut at `end`, and sent as the others were.
    pub(crate) fn finish(mut self, end: Nanos, live: &WorkerLive) -> Vec<Interval> {
        self.current.length_ns -= self.current_end().since(end).min(self.current.length_ns);
        if self.current.length_ns > 0 {
            self.current.latency = self.latency.take_sparse();
            live.send_interval(&self.current);
            self.done.push(self.current);
        }
        if self.kept.length_ns > self.length_ns {
            coarsen_intervals(&mut self.done, self.kept.length_ns);
        }
        self.done
    }

    /// Keeps a finished interval. If all intervals together take too much memory, coarsens some
    /// earlier ones; if they are too many, joins some.
    fn keep(&mut self, mut interval: Interval) {
        let kept = &mut self.kept;
        interval.latency.coarsen(kept.level);
        let place = interval.place(kept.length_ns);
        match self.done.last_mut().filter(|last| last.place(kept.length_ns) == place) {
            Some(last) => {
                let before = last.latency.bytes();
                last.append(&interval);
                kept.bytes = kept.bytes - before + last.latency.bytes();
            }
            None => {
                kept.bytes += interval.latency.bytes();
                self.done.push(interval);
            }
        }
        self.join();
        self.coarsen();
    }

    /// Joins intervals of a long series, some at a time.
    fn join(&mut self) {
        let kept = &mut self.kept;
        if kept.joined.is_none() && self.done.len() > KEPT_MAX {
            kept.length_ns = kept.length_ns.saturating_mul(2);
            kept.joined = Some(0);
        }
        let Some(from) = kept.joined else { return };
        let until = (from + JOINED_AT_ONCE).min(self.done.len());
        let bytes = |all: &[Interval]| all.iter().map(|it| it.latency.bytes()).sum::<usize>();
        let mut some: Vec<Interval> = self.done.drain(from..until).collect();
        kept.bytes -= bytes(&some);
        coarsen_intervals(&mut some, kept.length_ns);
        kept.bytes += bytes(&some);
        kept.coarsened = kept.coarsened.min(from);
        let joined = from + some.len();
        self.done.splice(from..from, some);
        kept.joined = Some(joined).filter(|joined| *joined < self.done.len());
    }

    /// Coarsens the buckets of some intervals if all together take too much memory.
    fn coarsen(&mut self) {
        let kept = &mut self.kept;
        let is_through = kept.level == 0 || kept.coarsened >= self.done.len() - 1;
        if kept.bytes > kept.bytes_max && is_through && kept.level < LEVEL_MAX {
            kept.level += 1;
            kept.coarsened = 0;
        }
        let from = kept.coarsened.min(self.done.len());
        for interval in self.done[from..].iter_mut().take(COARSENED_AT_ONCE) {
            if kept.level > 0 {
                let before = interval.latency.bytes();
                interval.latency.coarsen(kept.level);
                kept.bytes -= before - interval.latency.bytes();
                kept.coarsened += 1;
            }
        }
    }
}

/// Most doublings of the bucket width: buckets are then an octave wide.
const LEVEL_MAX: u32 = 10;

/// Memory of the finished intervals.
#[derive(Debug, Default)]
struct Kept {
    bytes: usize,
    bytes_max: usize,
    /// Number of times the bucket width was doubled.
    level: u32,
    /// Number of intervals with buckets of that width, from the first on.
    coarsened: usize,
    /// Length of kept intervals, in nanoseconds.
    length_ns: u64,
    /// Number of intervals of that length, from the first on, while earlier ones are joined.
    joined: Option<usize>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a series whose intervals have `buckets` buckets each.
    fn filled(bytes_max: usize, intervals: u64, buckets: u64) -> Series {
        let t0 = Nanos(0);
        let timeline = Timeline { start: t0, t0, t1: Nanos::MAX, drain_end: Nanos::MAX };
        let mut series = Series::new(&timeline, 1);
        series.kept.bytes_max = bytes_max;
        let live = WorkerLive::new(0, None);
        for interval in 1..=intervals {
            for bucket in 0..buckets {
                // Each value falls into a bucket of its own, from 1 ms on.
                series.completed(true, 1_048_576 + bucket * 1_024, 1);
            }
            series.roll(Nanos(interval * SECOND_NS), 0, 0, &live);
        }
        series
    }

    #[test]
    fn an_hour_takes_no_more_than_its_share() {
        let series = filled(1 << 20, 3_600, 1_000);
        let bytes: usize = series.done.iter().map(|interval| interval.latency.bytes()).sum();
        assert_eq!(bytes, series.kept.bytes);
        // The limit excludes intervals that are added while earlier ones are coarsened.
        assert!(bytes < 2 << 20, "{bytes} bytes at level {}", series.kept.level);
        let done = series.finish(Nanos(3_600 * SECOND_NS), &WorkerLive::new(0, None));
        assert_eq!(done.len(), 3_600);
        assert!(done.iter().all(|interval| interval.latency.exact().count == 1_000));
        let p50_ns = done[0].latency.to_histogram().percentile(50.0).expect("1,000 values");
        let exact_ns = 1_048_576 + 500 * 1_024;
        assert!((exact_ns..exact_ns + exact_ns / 20).contains(&p50_ns), "{p50_ns}");
    }

    #[test]
    fn a_day_has_as_many_intervals_as_two_hours() {
        const DAY: u64 = 24 * 3_600;
        let series = filled(1 << 20, DAY, 2);
        assert!(series.done.len() <= KEPT_MAX, "{} intervals", series.done.len());
        let bytes: usize = series.done.iter().map(|interval| interval.latency.bytes()).sum();
        assert_eq!(bytes, series.kept.bytes);
        let end = Nanos(DAY * SECOND_NS + SECOND_NS / 2);
        let done = series.finish(end, &WorkerLive::new(0, None));
        let length_ns = 16 * SECOND_NS;
        assert_eq!(done.len() as u64, DAY / 16 + 1);
        for (index, interval) in done.iter().enumerate().take(done.len() - 1) {
            assert_eq!(interval.start_ns, (index as u64 * length_ns) as i64);
            assert_eq!((interval.length_ns, interval.completed), (length_ns, 32));
            assert_eq!(interval.latency.exact().count, 32);
        }
        assert_eq!(done.last().map(|last| last.length_ns), Some(SECOND_NS / 2));
    }

    #[test]
    fn the_warm_up_is_joined_to_no_part_of_the_window() {
        let start = Nanos(SECOND_NS / 2);
        let t0 = Nanos(4 * SECOND_NS);
        let timeline = Timeline { start, t0, t1: Nanos::MAX, drain_end: Nanos::MAX };
        let mut series = Series::new(&timeline, 1);
        let live = WorkerLive::new(0, None);
        for second in 1..=(4 + KEPT_MAX as u64 + 200) {
            series.roll(Nanos(second * SECOND_NS), second, 0, &live);
        }
        let done = series.finish(Nanos((4 + KEPT_MAX as u64 + 200) * SECOND_NS), &live);
        let starts: Vec<i64> = done.iter().take(3).map(|interval| interval.start_ns).collect();
        assert_eq!(starts, [-3_500_000_000, -2_000_000_000, 0]);
        assert_eq!((done[0].in_flight, done[1].in_flight), (2, 4), "of the later one");
        assert!(done.windows(2).all(|pair| pair[0].end_ns() == pair[1].start_ns));
    }

    #[test]
    fn what_fits_is_kept_as_it_is() {
        let series = filled(1 << 20, 60, 1_000);
        assert_eq!((series.kept.level, series.kept.bytes), (0, 60 * 1_000 * 8));
    }
}
