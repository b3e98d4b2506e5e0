//! Steps of the wall clock against the monotonic one. Nothing here uses threads.

use std::time::{SystemTime, UNIX_EPOCH};

use weir_io::Clock;

/// Target span between the readings of both clocks, in nanoseconds. The closest pair of up to
/// [`TRIES`] is used.
const BRACKET_NS: u64 = 1_000;
const TRIES: u32 = 5;

/// CLOCK_REALTIME relative to CLOCK_MONOTONIC. NTP slews both alike (clock_gettime(2)), so their
/// difference changes only when the wall clock is set.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WallClock {
    last: Option<ClockDifference>,
    pub(super) step_max_ns: Option<u64>,
}

/// CLOCK_REALTIME − CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug)]
struct ClockDifference {
    ns: i128,
    /// Half the time for which the two readings lasted, in nanoseconds.
    error_ns: u64,
}

impl WallClock {
    /// Compares the clocks.
    pub(super) fn sample(&mut self, clock: Clock) {
        let mut best: Option<ClockDifference> = None;
        for _ in 0..TRIES {
            let Some(difference) = ClockDifference::read(clock) else { return };
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

    fn record(&mut self, now: ClockDifference) {
        if let Some(last) = self.last {
            let change = u64::try_from((now.ns - last.ns).unsigned_abs()).unwrap_or(u64::MAX);
            let step_ns = change.saturating_sub(now.error_ns + last.error_ns);
            self.step_max_ns = self.step_max_ns.max(Some(step_ns));
        }
        self.last = Some(now);
    }
}

impl ClockDifference {
    /// Reads both clocks; `None` if the wall clock is before 1970.
    fn read(clock: Clock) -> Option<ClockDifference> {
        let before = clock.now();
        let wall = SystemTime::now();
        let bracket_ns = clock.now().since(before);
        let wall_ns = wall.duration_since(UNIX_EPOCH).ok()?.as_nanos();
        let middle_ns = before.after(bracket_ns / 2).0;
        let ns = i128::try_from(wall_ns).ok()? - i128::from(middle_ns);
        Some(ClockDifference { ns, error_ns: bracket_ns.div_ceil(2) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_what_reading_does_not_explain() {
        let check = |readings: &[(i128, u64)], expected| {
            let mut wall = WallClock::default();
            readings
                .iter()
                .for_each(|&(ns, error_ns)| wall.record(ClockDifference { ns, error_ns }));
            assert_eq!(wall.step_max_ns, expected, "{readings:?}");
        };
        check(&[], None);
        check(&[(5, 1)], None);
        check(&[(1_000, 30), (1_050, 25)], Some(0));
        check(&[(1_000, 30), (1_090, 20)], Some(40));
        check(&[(1_000, 0), (-4_000, 0), (-4_000, 0)], Some(5_000));
        check(&[(0, 0), (i128::MAX, 0)], Some(u64::MAX));
    }
}
