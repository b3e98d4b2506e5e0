//! The cumulative arrivals Λ of a load in stages, and its inverse, in exact integers: slot times
//! depend on the plan alone, not on threads, connections or parts (METHOD 1.24).
//!
//! Rates are whole multiples of 1/D per second, with a D for all stages, and times are whole
//! nanoseconds. Λ is therefore a whole multiple of 1/W with W = 2·D·10⁹ at the borders of stages,
//! and a quadratic polynomial with whole coefficients within one.

use weir_result::{Rate, Stage};

/// Nanoseconds in a second.
const SECOND_NS: i128 = 1_000_000_000;

/// The arrivals of a load in stages.
#[derive(Clone, Debug)]
pub(crate) struct Curve {
    /// D: all rates are multiples of 1/D per second.
    denominator: i128,
    /// In order, without gaps. The last has no end.
    parts: Vec<CurvePart>,
}

/// A stage, or the time before or behind the stages.
#[derive(Clone, Copy, Debug)]
struct CurvePart {
    /// Offset from S of its start.
    from_ns: u64,
    /// Its length; not used if the rate is constant.
    length_ns: i128,
    /// Rates at its start and its end, in 1/D per second.
    begin: i128,
    end: i128,
    /// Λ at its start, in 1/W.
    arrived: i128,
    /// Index of its first arrival, and of that arrival's first slot.
    first_arrival: u64,
    first_slot: u64,
    /// Slots of each arrival.
    burst: u64,
}

impl Curve {
    /// Returns the arrivals of `stages` behind a warm-up of `warmup_ns` at the first rate. Behind
    /// the last stage its last rate goes on.
    ///
    /// # Panics
    /// If there are no stages.
    pub(crate) fn new(stages: &[Stage], warmup_ns: u64) -> Curve {
        let first = stages[0];
        let last = stages[stages.len() - 1];
        let denominator = stages.iter().flat_map(|stage| [stage.from, stage.to]);
        let denominator = denominator.map(|rate| i128::from(rate.denominator)).fold(1, lcm);
        let mut curve = Curve { denominator, parts: Vec::with_capacity(stages.len() + 2) };
        let level = |rate, duration_ns, burst| Stage { duration_ns, from: rate, to: rate, burst };
        let before = level(first.from, warmup_ns, first.burst);
        let behind = level(last.to, u64::MAX, last.burst);
        let before = Some(before).filter(|_| warmup_ns > 0);
        let mut next = CurvePart {
            from_ns: 0,
            length_ns: 0,
            begin: 0,
            end: 0,
            arrived: 0,
            first_arrival: 0,
            first_slot: 0,
            burst: 1,
        };
        for stage in before.iter().chain(stages).chain([&behind]) {
            next = curve.push(next, stage);
        }
        curve
    }

    /// Appends a stage at the start of `next`, and returns the start of the one behind it.
    fn push(&mut self, next: CurvePart, stage: &Stage) -> CurvePart {
        let scaled = |rate: Rate| {
            i128::from(rate.numerator) * self.denominator / i128::from(rate.denominator)
        };
        let part = CurvePart {
            length_ns: stage.duration_ns.into(),
            begin: scaled(stage.from),
            end: scaled(stage.to),
            burst: stage.burst.into(),
            ..next
        };
        self.parts.push(part);
        if stage.duration_ns == u64::MAX {
            return part;
        }
        let arrived = part.arrived + (part.begin + part.end) * part.length_ns;
        let first_arrival = self.first_arrival_at(arrived);
        let slots = (first_arrival - part.first_arrival) * part.burst;
        CurvePart {
            from_ns: part.from_ns + stage.duration_ns,
            arrived,
            first_arrival,
            first_slot: part.first_slot + slots,
            ..part
        }
    }

    /// Returns the offset from S, rounded down to nanoseconds, at which Λ reaches i + ½ for the
    /// arrival i of this slot; `u64::MAX` if it never does.
    pub(crate) fn offset(&self, slot: u64) -> u64 {
        let part = self.part(|part| part.first_slot <= slot);
        let arrival = part.first_arrival + (slot - part.first_slot) / part.burst;
        part.offset((2 * i128::from(arrival) + 1) * self.half())
    }

    /// Returns the offset from S at which Λ reaches `events`, a number of arrivals in 10⁻⁹, and the
    /// number of slots of an arrival there.
    pub(crate) fn offset_of(&self, events: u64) -> (u64, u64) {
        let reached = 2 * self.denominator * i128::from(events);
        let part = self.part(|part| part.arrived <= reached);
        (part.offset(reached), part.burst)
    }

    /// Returns the least index of a slot whose offset is at least `ns`.
    pub(crate) fn first_at(&self, ns: u64) -> u64 {
        let part = self.part(|part| part.from_ns <= ns);
        let arrived = part.arrived_by(i128::from(ns - part.from_ns));
        let arrival = self.first_arrival_at(arrived).max(part.first_arrival);
        part.first_slot + (arrival - part.first_arrival) * part.burst
    }

    /// Returns the least i with (i + ½) · W ≥ `arrived`.
    fn first_arrival_at(&self, arrived: i128) -> u64 {
        let more = arrived - self.half();
        let index = more.max(0) / (2 * self.half());
        let is_short = (2 * index + 1) * self.half() < arrived;
        u64::try_from(index + i128::from(is_short)).unwrap_or(u64::MAX)
    }

    /// W/2.
    fn half(&self) -> i128 {
        self.denominator * SECOND_NS
    }

    /// Returns the last part that begins before or where something is.
    fn part(&self, has_begun: impl Fn(&CurvePart) -> bool) -> &CurvePart {
        let begun = self.parts.partition_point(has_begun);
        &self.parts[begun.max(1) - 1]
    }
}

impl CurvePart {
    /// Returns the offset from S, rounded down, at which Λ reaches `reached` in 1/W; `u64::MAX` if
    /// it never does.
    fn offset(&self, reached: i128) -> u64 {
        let more = reached - self.arrived;
        let within = if self.begin == self.end {
            if self.begin == 0 {
                return u64::MAX;
            }
            more / (2 * self.begin)
        } else {
            self.root(more)
        };
        u64::try_from(within).map_or(u64::MAX, |within| self.from_ns.saturating_add(within))
    }

    /// Returns the greatest t with 2·begin·t + (end − begin)·t²/length ≤ `more`.
    fn root(&self, more: i128) -> i128 {
        let begin = self.begin as f64;
        let slope = (self.end - self.begin) as f64;
        let square = begin * begin + slope * more as f64 / self.length_ns as f64;
        let near = more as f64 / (begin + square.max(0.0).sqrt());
        // The root is exact to some nanoseconds; whole numbers decide.
        let mut within = (near as i128).clamp(0, self.length_ns);
        while within > 0 && !self.is_within(within, more) {
            within -= 1;
        }
        while within < self.length_ns && self.is_within(within + 1, more) {
            within += 1;
        }
        within
    }

    /// True if at most `more` in 1/W have arrived `within` nanoseconds after the start.
    fn is_within(&self, within: i128, more: i128) -> bool {
        let slope = self.end - self.begin;
        2 * self.begin * self.length_ns * within + slope * within * within <= more * self.length_ns
    }

    /// Returns Λ in 1/W `within` nanoseconds after the start, rounded up.
    fn arrived_by(&self, within: i128) -> i128 {
        let level = 2 * self.begin * within;
        let slope = self.end - self.begin;
        let bend = match slope {
            0 => 0,
            _ => -(-slope * within * within).div_euclid(self.length_ns),
        };
        self.arrived + level + bend
    }
}

fn lcm(a: i128, b: i128) -> i128 {
    let mut x = a;
    let mut y = b;
    while y != 0 {
        (x, y) = (y, x % y);
    }
    a / x * b
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn rate(numerator: u64, denominator: u64) -> Rate {
        Rate { numerator, denominator }
    }

    fn stage(seconds: u64, from: Rate, to: Rate) -> Stage {
        Stage { duration_ns: seconds * SECOND, from, to, burst: 1 }
    }

    /// Λ at an offset as a number of arrivals, by the trapezium rule of each stage.
    fn arrivals(stages: &[Stage], offset_ns: u64) -> f64 {
        let mut sum = 0.0;
        let mut left = offset_ns as f64 / 1e9;
        for stage in stages {
            let length = stage.duration_ns as f64 / 1e9;
            let from = stage.from.rps();
            let to = stage.to.rps();
            let within = left.min(length);
            let now = from + (to - from) * within / length;
            sum += (from + now) / 2.0 * within;
            left -= within;
        }
        sum
    }

    #[test]
    fn slots_are_where_half_an_arrival_more_has_come() {
        let stages = [
            stage(3, rate(100, 1), rate(100, 1)),
            stage(5, rate(100, 1), rate(2_000, 3)),
            stage(2, rate(0, 1), rate(0, 1)),
            stage(4, rate(500, 1), rate(7, 2)),
        ];
        let curve = Curve::new(&stages, 0);
        let mut last = 0;
        let end = 14 * SECOND;
        for slot in 0..curve.first_at(end) {
            let offset_ns = curve.offset(slot);
            assert!(offset_ns >= last && offset_ns < end, "{slot}: {offset_ns}");
            let arrived = arrivals(&stages, offset_ns);
            assert!((arrived - slot as f64 - 0.5).abs() < 1e-5, "{slot}: {arrived}");
            assert_eq!(curve.first_at(offset_ns), slot, "{offset_ns}");
            assert_eq!(curve.first_at(offset_ns + 1), slot + 1, "{offset_ns}");
            assert!(!(8 * SECOND..10 * SECOND).contains(&offset_ns), "{slot}: {offset_ns}");
            last = offset_ns;
        }
    }

    /// A ramp in whole numbers: rates r and s over T s have T(r + s)/2 slots.
    #[test]
    fn a_ramp_has_the_area_below_it() {
        for (from, to, seconds) in [(0, 1_000, 10), (1_000, 0, 10), (30, 90, 7), (1, 1_000_000, 60)]
        {
            let curve = Curve::new(&[stage(seconds, rate(from, 1), rate(to, 1))], 2 * SECOND);
            let end = (2 + seconds) * SECOND;
            let slots = curve.first_at(end) - curve.first_at(2 * SECOND);
            assert_eq!(slots, (from + to) * seconds / 2, "{from} to {to}");
        }
    }

    #[test]
    fn one_stage_is_a_constant_rate() {
        for (numerator, denominator) in [(1_000, 1), (1, 3), (99_999, 7)] {
            let rate = rate(numerator, denominator);
            let curve = Curve::new(&[stage(10, rate, rate)], 0);
            for slot in [0, 1, 2, 77, 12_345, 1 << 30] {
                let exact = (2 * u128::from(slot) + 1) * u128::from(denominator) * 1_000_000_000
                    / (2 * u128::from(numerator));
                assert_eq!(u128::from(curve.offset(slot)), exact, "{slot}");
            }
        }
    }

    #[test]
    fn a_burst_is_due_at_once() {
        let burst = Stage { burst: 200, ..stage(10, rate(50, 1), rate(50, 1)) };
        let stages = [stage(1, rate(10, 1), rate(10, 1)), burst];
        let curve = Curve::new(&stages, 0);
        assert_eq!(curve.first_at(SECOND), 10);
        assert_eq!(curve.first_at(11 * SECOND) - 10, 100_000);
        assert_eq!(curve.offset(10), SECOND + SECOND / 100);
        assert_eq!(curve.offset(209), SECOND + SECOND / 100);
        assert_eq!(curve.offset(210), SECOND + 3 * SECOND / 100);
    }

    #[test]
    fn nothing_comes_behind_a_rate_of_zero() {
        let curve = Curve::new(&[stage(10, rate(10, 1), rate(0, 1))], 0);
        assert_eq!(curve.first_at(u64::MAX), 50);
        assert_eq!(curve.offset(50), u64::MAX);
    }
}
