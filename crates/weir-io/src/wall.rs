//! The wall clock against the run's: by it the kernel's stamps become instants of the run.
//!
//! `CLOCK_REALTIME` and `CLOCK_MONOTONIC` run at one speed, as what disciplines the one slews the
//! other with it (clock_gettime(2)); the difference is a constant until somebody sets the wall
//! clock. So no rate has to be allowed for: every look at both narrows down the same number, and a
//! look that contradicts the earlier ones has found a step.

use crate::time::realtime_ns;
use crate::{Clock, Nanos};

/// How far looks may contradict each other before that is a step. Processors' counters may disagree
/// a little where the thread has moved between two readings; nobody sets a clock by so little.
const STEP_NS: i64 = 1_000;

/// A look that took longer than this was interrupted, and could hide a step as large.
const LOOK_NS: u64 = 10_000;

/// How often a look is tried again that was interrupted.
const LOOKS: u32 = 3;

/// How long after a step no stamp is taken for good. It is longer than bytes lie unread in the
/// socket of a client that runs, so what was stamped before the step is not read after this.
const DISTRUST_NS: u64 = 1_000_000_000;

/// A reading of the wall clock, in nanoseconds since 1970: what the kernel stamps with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WallTime(pub(crate) u64);

/// The wall clock, as far as this backend has seen it.
pub(crate) struct Wall {
    clock: Clock,
    offset: Option<Offset>,
    /// The last look vouches for stamps taken since the one before.
    vouched: bool,
    /// When the last step will be forgotten.
    trusted_from: Nanos,
}

impl Wall {
    pub(crate) fn new(clock: Clock) -> Wall {
        Wall { clock, offset: None, vouched: false, trusted_from: Nanos::ZERO }
    }

    /// Looks at both clocks. To be called after stamps were had from the kernel and before they are
    /// converted, so that a step between stamping and converting cannot be missed. Returns the
    /// last reading of the run's clock.
    pub(crate) fn look(&mut self) -> Nanos {
        let mut tries = 0;
        loop {
            let before = self.clock.now();
            let wall = realtime_ns();
            let after = self.clock.now();
            tries += 1;
            self.vouched = after.since(before) <= LOOK_NS;
            if self.vouched {
                self.learn(before, WallTime(wall), after);
            }
            if self.vouched || tries == LOOKS {
                return after;
            }
        }
    }

    fn learn(&mut self, before: Nanos, wall: WallTime, after: Nanos) {
        let seen = Offset::between(before, wall, after);
        let (known, has_stepped) = match self.offset {
            None => (seen, false),
            Some(known) => known.with(seen),
        };
        self.offset = Some(known);
        if has_stepped {
            self.trusted_from = after.after(DISTRUST_NS);
        }
    }

    /// When a stamp was taken that the kernel had given before `at`, the last look's or an earlier
    /// instant; `None` where that cannot be known. It may lie after `at`, by the error of the
    /// conversion at most where all is well.
    pub(crate) fn convert(&self, stamp: WallTime, at: Nanos) -> Option<Nanos> {
        let offset = self.offset.filter(|_| self.vouched && at >= self.trusted_from)?;
        let wall = i64::try_from(stamp.0).ok()?;
        u64::try_from(wall.checked_sub(offset.middle())?).ok().map(Nanos)
    }

    /// A wall clock that reads exactly so much more than the run's, for tests.
    #[cfg(test)]
    pub(crate) fn ahead_by(offset_ns: i64) -> Wall {
        let offset = Some(Offset { low: offset_ns, high: offset_ns });
        Wall { offset, vouched: true, ..Wall::new(Clock::start()) }
    }

    /// By how much a converted stamp can be wrong, in nanoseconds.
    pub(crate) fn error_ns(&self) -> u64 {
        self.offset.map_or(0, Offset::error_ns)
    }
}

/// Bounds of the wall clock's reading less the run's, in nanoseconds, both possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Offset {
    low: i64,
    high: i64,
}

impl Offset {
    /// What is known from one reading of the wall clock between two of the run's. Each reading is
    /// cut to whole nanoseconds, hence the one on either side.
    fn between(before: Nanos, wall: WallTime, after: Nanos) -> Offset {
        let less = |now: Nanos| wall.0.wrapping_sub(now.0).cast_signed();
        Offset { low: less(after) - 1, high: less(before) + 1 }
    }

    /// What is known after another look, and whether it takes a step to explain it.
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
        // Half of it, rounded up.
        (self.high.abs_diff(self.low)).div_ceil(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026 in nanoseconds since 1970, about.
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
        // Counters that disagree.
        check((0, 100), (101, 200), ((101, 200), false));
        check((0, 100), (1_100, 1_200), ((1_100, 1_200), false));
        check((0, 100), (-1_200, -1_000), ((-1_200, -1_000), false));
        // Steps, either way.
        check((0, 100), (1_101, 1_200), ((1_101, 1_200), true));
        check((0, 100), (-1_200, -1_001), ((-1_200, -1_001), true));
    }

    /// A wall clock that reads `offset_ns` more than the run's, seen once at `now` with readings
    /// that lie `bracket_ns` apart.
    fn look(wall: &mut Wall, now: u64, offset_ns: u64, bracket_ns: u64) {
        let reading = WallTime(YEARS + offset_ns + now + bracket_ns / 3);
        wall.learn(Nanos(now), reading, Nanos(now + bracket_ns));
        wall.vouched = true;
    }

    #[test]
    fn stamps_become_instants_to_the_error_that_is_told() {
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
        // Whether it was taken before or after the step, nobody knows.
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
