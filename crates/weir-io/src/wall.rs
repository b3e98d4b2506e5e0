//! Offset between the wall clock and the run's clock, to convert kernel time stamps.
//!
//! `CLOCK_REALTIME` and `CLOCK_MONOTONIC` run at the same rate, because clock discipline slews both
//! together (clock_gettime(2)). Their difference is constant until the wall clock is set, so there
//! is no drift to model. Each reading of both clocks narrows down the same number, and one that
//! contradicts the earlier ones reveals a step.

use weir_machine::sys::realtime_ns;

use crate::time::{Clock, Nanos};

/// Largest contradiction between readings that is not a step, in nanoseconds. CPU counters may
/// disagree slightly if the thread migrated between two readings; real clock steps are larger.
const STEP_NS: i64 = 1_000;

/// Longest uninterrupted reading, in nanoseconds. A longer one could hide a step as large.
const LOOK_NS: u64 = 10_000;

/// Attempts at a reading that is interrupted.
const LOOKS: u32 = 3;

/// Time after a step during which no stamp is converted, in nanoseconds. Bytes lie unread in a
/// running client's socket for less than this, so no stamp from before the step is read later.
const DISTRUST_NS: u64 = 1_000_000_000;

/// A wall-clock time in nanoseconds since 1970, as in the kernel's time stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WallTime(pub(crate) u64);

/// The wall clock's offset, as measured by this backend.
pub(crate) struct Wall {
    clock: Clock,
    offset: Option<Offset>,
    /// True if the last reading is valid for stamps taken since the one before.
    vouched: bool,
    /// Time from which stamps are converted again after the last step.
    trusted_from: Nanos,
}

impl Wall {
    pub(crate) fn new(clock: Clock) -> Wall {
        Wall { clock, offset: None, vouched: false, trusted_from: Nanos::ZERO }
    }

    /// Reads both clocks. Call it after stamps were read from the kernel and before they are
    /// converted, so that no step between stamping and converting is missed. Returns the last
    /// reading of the run's clock.
    pub(crate) fn look(&mut self) -> Nanos {
        let mut after = Nanos::ZERO;
        for _ in 0..LOOKS {
            let before = self.clock.now();
            let wall = realtime_ns();
            after = self.clock.now();
            self.vouched = after.since(before) <= LOOK_NS;
            if self.vouched {
                self.learn(before, WallTime(wall), after);
                break;
            }
        }
        after
    }

    fn learn(&mut self, before: Nanos, wall: WallTime, after: Nanos) {
        let seen = Offset::between(before, wall, after);
        let (known, has_stepped) = self.offset.map_or((seen, false), |known| known.with(seen));
        self.offset = Some(known);
        if has_stepped {
            self.trusted_from = after.after(DISTRUST_NS);
        }
    }

    /// Converts a stamp that the kernel took before `at`, where `at` is the time of the last
    /// reading or earlier. Returns `None` if the conversion is not reliable. The result may be
    /// later than `at`, normally by at most the conversion error.
    pub(crate) fn convert(&self, stamp: WallTime, at: Nanos) -> Option<Nanos> {
        let offset = self.offset.filter(|_| self.vouched && at >= self.trusted_from)?;
        let wall = i64::try_from(stamp.0).ok()?;
        u64::try_from(wall.checked_sub(offset.middle())?).ok().map(Nanos)
    }

    /// Creates a wall clock that is ahead of the run's by exactly `offset_ns`, for tests.
    #[cfg(test)]
    pub(crate) fn ahead_by(offset_ns: i64) -> Wall {
        let offset = Some(Offset { low: offset_ns, high: offset_ns });
        Wall { offset, vouched: true, ..Wall::new(Clock::start()) }
    }

    /// Returns the maximum error of a converted stamp, in nanoseconds.
    pub(crate) fn error_ns(&self) -> u64 {
        self.offset.map_or(0, Offset::error_ns)
    }
}

/// Lower and upper bound of the wall clock's reading minus the run's, in nanoseconds, inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Offset {
    low: i64,
    high: i64,
}

impl Offset {
    /// Computes the bounds from one reading of the wall clock between two of the run's. Each
    /// reading is truncated to whole nanoseconds, hence one more on either side.
    fn between(before: Nanos, wall: WallTime, after: Nanos) -> Offset {
        let less = |now: Nanos| wall.0.wrapping_sub(now.0).cast_signed();
        Offset { low: less(after) - 1, high: less(before) + 1 }
    }

    /// Combines two bounds. The flag is true if only a step of the wall clock explains the
    /// difference.
    fn with(self, seen: Offset) -> (Offset, bool) {
        let gap = (seen.low - self.high).max(self.low - seen.high);
        if gap > 0 {
            return (seen, gap > STEP_NS);
        }
        (Offset { low: self.low.max(seen.low), high: self.high.min(seen.high) }, false)
    }

    fn middle(self) -> i64 {
        self.low + (self.high - self.low) / 2
    }

    fn error_ns(self) -> u64 {
        // Half the width, rounded up.
        (self.high.abs_diff(self.low)).div_ceil(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Roughly 2026 in nanoseconds since 1970.
    const YEARS: u64 = 1_770_000_000_000_000_000;

    fn check(known: (i64, i64), seen: (i64, i64), expected: ((i64, i64), bool)) {
        let offset = |(low, high)| Offset { low, high };
        let (result, has_stepped) = offset(known).with(offset(seen));
        assert_eq!((result, has_stepped), (offset(expected.0), expected.1), "{known:?} {seen:?}");
    }

    #[test]
    fn looks_narrow_the_offset_down_until_it_steps() {
        check((0, 100), (20, 300), ((20, 100), false));
        check((0, 100), (-50, 60), ((0, 60), false));
        check((40, 60), (0, 100), ((40, 60), false));
        check((0, 100), (100, 200), ((100, 100), false));
        // CPU counters that disagree.
        check((0, 100), (101, 200), ((101, 200), false));
        check((0, 100), (1_100, 1_200), ((1_100, 1_200), false));
        check((0, 100), (-1_200, -1_000), ((-1_200, -1_000), false));
        // Steps in both directions.
        check((0, 100), (1_101, 1_200), ((1_101, 1_200), true));
        check((0, 100), (-1_200, -1_001), ((-1_200, -1_001), true));
    }

    /// Adds a reading at `now` of a wall clock that is `offset_ns` ahead; the two readings of the
    /// run's clock are `bracket_ns` apart.
    fn look(wall: &mut Wall, now: u64, offset_ns: u64, bracket_ns: u64) {
        let reading = WallTime(YEARS + offset_ns + now + bracket_ns / 3);
        wall.learn(Nanos(now), reading, Nanos(now + bracket_ns));
        wall.vouched = true;
    }

    #[test]
    fn stamps_become_instants_within_the_reported_error() {
        let mut wall = Wall::new(Clock::start());
        assert_eq!(wall.convert(WallTime(YEARS), Nanos(5)), None, "nothing is known yet");
        for (round, bracket_ns) in [900, 60, 300, 90].into_iter().enumerate() {
            look(&mut wall, 1_000 * round as u64, 0, bracket_ns);
            let error = wall.error_ns();
            for instant in [1_000, 77_777, 5_000_000_000] {
                let converted = wall.convert(WallTime(YEARS + instant), Nanos(instant));
                let converted = converted.expect("trusted").0;
                assert!(converted.abs_diff(instant) <= error, "{converted} {instant} {error}");
            }
        }
        assert!(wall.error_ns() <= 31, "{}", wall.error_ns());
        assert_eq!(wall.convert(WallTime(YEARS - 1_000), Nanos(5)), None, "before the epoch");
        wall.vouched = false;
        assert_eq!(wall.convert(WallTime(YEARS + 1_000), Nanos(5_000)), None, "a look that failed");
    }

    #[test]
    fn a_step_costs_stamps_and_falsifies_none() {
        const STEP: u64 = 40_000;
        let mut wall = Wall::new(Clock::start());
        look(&mut wall, 0, 0, 50);
        look(&mut wall, 500_000, STEP, 50);
        // The stamp may be from before or after the step.
        assert_eq!(wall.convert(WallTime(YEARS + 400_000), Nanos(500_050)), None);
        let then = 500_050 + DISTRUST_NS;
        look(&mut wall, then - 50, STEP, 50);
        assert_eq!(wall.convert(WallTime(YEARS + then), Nanos(then - 1)), None);
        let converted = wall.convert(WallTime(YEARS + STEP + then), Nanos(then)).expect("trusted");
        assert!(converted.0.abs_diff(then) <= wall.error_ns());
    }

    #[test]
    fn the_machine_agrees_with_itself() {
        let clock = Clock::start();
        let mut wall = Wall::new(clock);
        let mut checked = 0;
        while checked < 1_000 {
            let before = clock.now();
            let stamp = WallTime(realtime_ns());
            let after = clock.now();
            let at = wall.look();
            let Some(converted) = wall.convert(stamp, at) else { continue };
            let error = wall.error_ns() + STEP_NS.unsigned_abs();
            assert!(converted >= before.before(error) && converted <= after.after(error));
            checked += 1;
        }
    }
}
