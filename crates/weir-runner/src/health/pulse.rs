//! Measurements of a thread that only sleeps: how late it woke, and steps of the wall clock against
//! the monotonic one. Nothing here uses threads.

use std::time::{SystemTime, UNIX_EPOCH};

use weir_io::{Clock, Nanos};

/// The longest lateness of a beat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pulse {
    gap_max_ns: u64,
    gap_at_ns: u64,
}

impl Pulse {
    /// Records a beat that was due at `due_at` and came at `woken_at`. Only the part of its
    /// lateness in the window `[t0, t1)` counts.
    pub(super) fn beat(&mut self, due_at: Nanos, woken_at: Nanos, (t0, t1): (Nanos, Nanos)) {
        let from = due_at.max(t0);
        let gap_ns = woken_at.min(t1).since(from);
        if gap_ns > self.gap_max_ns {
            *self = Pulse { gap_max_ns: gap_ns, gap_at_ns: from.since(t0) };
        }
    }

    /// The longest lateness, in nanoseconds.
    pub(super) fn gap_max_ns(self) -> u64 {
        self.gap_max_ns
    }

    /// Start of the longest lateness, in nanoseconds from t0.
    pub(super) fn gap_at_ns(self) -> u64 {
        self.gap_at_ns
    }
}

/// Target span between the readings of both clocks, in nanoseconds. The closest pair of up to
/// [`TRIES`] is used.
const BRACKET_NS: u64 = 1_000;
const TRIES: u32 = 5;

/// CLOCK_REALTIME relative to CLOCK_MONOTONIC. NTP slews both alike (clock_gettime(2)), so their
/// difference changes only when the wall clock is set.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WallClock {
    last: Option<Difference>,
    step_max_ns: Option<u64>,
}

/// CLOCK_REALTIME − CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug)]
struct Difference {
    ns: i128,
    /// Half the time for which the two readings lasted, in nanoseconds.
    error_ns: u64,
}

impl WallClock {
    /// Compares the clocks.
    pub(super) fn sample(&mut self, clock: Clock) {
        let mut best: Option<Difference> = None;
        for _ in 0..TRIES {
            let Some(difference) = Difference::read(clock) else { return };
            if best.is_none_or(|best| difference.error_ns < best.error_ns) {
                best = Some(difference);
            }
            if difference.error_ns <= BRACKET_NS / 2 {
                break;
            }
        }
        if let Some(best) = best {
            self.record(best);
        }
    }

    fn record(&mut self, now: Difference) {
        if let Some(last) = self.last {
            let change = u64::try_from((now.ns - last.ns).unsigned_abs()).unwrap_or(u64::MAX);
            let step_ns = change.saturating_sub(now.error_ns + last.error_ns);
            self.step_max_ns = self.step_max_ns.max(Some(step_ns));
        }
        self.last = Some(now);
    }

    /// The greatest change between two readings, in nanoseconds, beyond the error of reading the
    /// clocks; `None` before the second reading.
    pub(super) fn step_max_ns(&self) -> Option<u64> {
        self.step_max_ns
    }
}

impl Difference {
    /// Reads both clocks; `None` if the wall clock is before 1970.
    fn read(clock: Clock) -> Option<Difference> {
        let before = clock.now();
        let wall = SystemTime::now();
        let bracket_ns = clock.now().since(before);
        let wall_ns = wall.duration_since(UNIX_EPOCH).ok()?.as_nanos();
        let middle_ns = before.after(bracket_ns / 2).0;
        let ns = i128::try_from(wall_ns).ok()? - i128::from(middle_ns);
        Some(Difference { ns, error_ns: bracket_ns.div_ceil(2) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_window_s_part_of_a_lateness_counts() {
        let check = |due_at, woken_at, expected: (u64, u64)| {
            let mut pulse = Pulse::default();
            pulse.beat(Nanos(due_at), Nanos(woken_at), (Nanos(1000), Nanos(2000)));
            assert_eq!((pulse.gap_max_ns(), pulse.gap_at_ns()), expected, "{due_at} {woken_at}");
        };
        check(1100, 1100, (0, 0));
        check(1100, 1150, (50, 100));
        check(500, 900, (0, 0));
        check(500, 1200, (200, 0));
        check(1900, 2500, (100, 900));
        check(500, 2500, (1000, 0));
        check(2100, 2500, (0, 0));
    }

    #[test]
    fn the_longest_gap_is_kept() {
        let mut pulse = Pulse::default();
        for (due_at, woken_at) in [(10, 12), (20, 29), (30, 31), (40, 49)] {
            pulse.beat(Nanos(due_at), Nanos(woken_at), (Nanos(0), Nanos::MAX));
        }
        assert_eq!((pulse.gap_max_ns(), pulse.gap_at_ns()), (9, 20));
    }

    #[test]
    fn steps_are_what_reading_does_not_explain() {
        let check = |readings: &[(i128, u64)], expected| {
            let mut wall = WallClock::default();
            readings.iter().for_each(|&(ns, error_ns)| wall.record(Difference { ns, error_ns }));
            assert_eq!(wall.step_max_ns(), expected, "{readings:?}");
        };
        check(&[], None);
        check(&[(5, 1)], None);
        check(&[(1_000, 30), (1_050, 25)], Some(0));
        check(&[(1_000, 30), (1_090, 20)], Some(40));
        check(&[(1_000, 0), (-4_000, 0), (-4_000, 0)], Some(5_000));
        check(&[(0, 0), (i128::MAX, 0)], Some(u64::MAX));
    }
}
