//! The schedule: the slots this worker owns and the due time of each.
//!
//! A schedule is a monotonic sequence of intended send times and also the queue: a slot that is due
//! and not yet taken simply stays in the past (METHOD 1.3). Deterministic schedules compute each
//! time from the slot's index, so nothing drifts. This module reads no clock: times are offsets
//! from S, the schedule's start.

use std::ops::Range;
use std::sync::Arc;

use weir_result::{Arrivals, Load, Plan, Rate};

use crate::curve::Curve;
use crate::partition::Partition;
use crate::random::Gaps;

/// Nanoseconds in a second.
const SECOND_NS: u128 = 1_000_000_000;

/// The slots of one worker, in order.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    kind: ScheduleKind,
    partition: Partition,
    /// Owned slots taken so far.
    taken: u64,
    /// Offset of the next owned slot in nanoseconds; unused in a closed loop.
    next_ns: u64,
    /// Its index in the whole plan, with random arrivals.
    next_index: u64,
}

#[derive(Clone, Debug)]
enum ScheduleKind {
    Closed,
    Uniform(Rate),
    Poisson(Gaps),
    Staged(Arc<Curve>, Rate),
    StagedPoisson(StagedGaps, Rate),
    /// Due times of all slots, ascending.
    Timed(Arc<[u64]>),
}

/// The slots of a Poisson process whose rate changes: one of rate 1, with Λ as its time.
#[derive(Clone, Debug)]
struct StagedGaps {
    gaps: Gaps,
    curve: Arc<Curve>,
    /// Offset of the last arrival, and its slots that are left.
    offset_ns: u64,
    left: u64,
    index: u64,
}

impl StagedGaps {
    fn new(seed: u64, curve: Arc<Curve>) -> StagedGaps {
        let gaps = Gaps::new(seed, Rate { numerator: 1, denominator: 1 });
        StagedGaps { gaps, curve, offset_ns: 0, left: 0, index: 0 }
    }

    fn restarted(&self) -> StagedGaps {
        StagedGaps {
            gaps: self.gaps.restarted(),
            curve: Arc::clone(&self.curve),
            offset_ns: 0,
            left: 0,
            index: 0,
        }
    }
}

/// The slots: their indices, and their offsets from S in whole nanoseconds.
impl Iterator for StagedGaps {
    type Item = (u64, u64);

    fn next(&mut self) -> Option<(u64, u64)> {
        if self.left == 0 {
            let (_, billionths) = self.gaps.next()?;
            (self.offset_ns, self.left) = self.curve.offset_of(billionths);
            if self.offset_ns == u64::MAX {
                self.left = 0;
                return None;
            }
        }
        self.left -= 1;
        self.index += 1;
        Some((self.index - 1, self.offset_ns))
    }
}

impl Schedule {
    /// Returns the schedule of the worker of `plan` that owns `partition`. If there are `times`,
    /// they are the due times of all slots as offsets from S, ascending.
    pub(crate) fn of(plan: &Plan, times: Option<&Arc<[u64]>>, partition: Partition) -> Schedule {
        if let Some(times) = times {
            return Schedule::starting(ScheduleKind::Timed(Arc::clone(times)), partition);
        }
        let Load::OpenLoop { rate, arrivals } = plan.load else {
            return Schedule::new(plan.load, partition);
        };
        if plan.stages.is_empty() {
            return Schedule::new(plan.load, partition);
        }
        let curve = Arc::new(Curve::new(&plan.stages, plan.warmup_ns));
        let kind = match arrivals {
            Arrivals::Uniform => ScheduleKind::Staged(curve, rate),
            Arrivals::Poisson { seed } => {
                ScheduleKind::StagedPoisson(StagedGaps::new(seed, curve), rate)
            }
        };
        Schedule::starting(kind, partition)
    }

    /// Returns the schedule of a constant load.
    pub(crate) fn new(load: Load, partition: Partition) -> Schedule {
        let kind = match load {
            Load::ClosedLoop => ScheduleKind::Closed,
            Load::OpenLoop { rate, arrivals: Arrivals::Uniform } => ScheduleKind::Uniform(rate),
            Load::OpenLoop { rate, arrivals: Arrivals::Poisson { seed } } => {
                ScheduleKind::Poisson(Gaps::new(seed, rate))
            }
        };
        Schedule::starting(kind, partition)
    }

    /// Returns a schedule of which no slot is taken.
    fn starting(kind: ScheduleKind, partition: Partition) -> Schedule {
        let mut schedule = Schedule { kind, partition, taken: 0, next_ns: 0, next_index: 0 };
        schedule.advance();
        schedule
    }

    /// True if slots have planned times.
    pub(crate) fn is_open_loop(&self) -> bool {
        !matches!(self.kind, ScheduleKind::Closed)
    }

    /// Returns the due time of the next slot, as an offset from S. A closed loop has no plan:
    /// `None`.
    #[inline]
    pub(crate) fn peek(&self) -> Option<u64> {
        self.is_open_loop().then_some(self.next_ns)
    }

    /// Returns the due time of the slot behind `nth` others, as [`peek`](Schedule::peek) does.
    /// Random slots are drawn one by one.
    pub(crate) fn peek_nth(&self, nth: u64) -> Option<u64> {
        let index = || self.partition.nth_owned(self.taken.saturating_add(nth));
        match &self.kind {
            ScheduleKind::Closed => None,
            _ if nth == 0 => Some(self.next_ns),
            ScheduleKind::Uniform(rate) => Some(uniform_offset(*rate, index())),
            ScheduleKind::Staged(curve, _) => Some(curve.offset(index())),
            ScheduleKind::Timed(times) => {
                let at = usize::try_from(index()).unwrap_or(usize::MAX);
                Some(times.get(at).copied().unwrap_or(u64::MAX))
            }
            ScheduleKind::Poisson(gaps) => Some(nth_of(gaps.clone(), &self.partition, nth)),
            ScheduleKind::StagedPoisson(gaps, _) => {
                Some(nth_of(gaps.clone(), &self.partition, nth))
            }
        }
    }

    /// Returns the index in the whole plan of the slot that [`peek`](Schedule::peek) returned.
    #[inline]
    pub(crate) fn next_index(&self) -> u64 {
        match self.kind {
            ScheduleKind::Poisson(_) | ScheduleKind::StagedPoisson(..) => self.next_index,
            _ => self.partition.nth_owned(self.taken),
        }
    }

    /// Takes and returns the slots due before `until_ns`, one by one: index and offset.
    pub(crate) fn walk(mut self, until_ns: u64) -> impl Iterator<Item = (u64, u64)> {
        std::iter::from_fn(move || {
            let offset_ns = self.peek().filter(|ns| *ns < until_ns)?;
            let index = self.next_index();
            self.take();
            Some((index, offset_ns))
        })
    }

    /// Returns the mean time between owned slots in nanoseconds; 0 in a closed loop.
    pub(crate) fn gap_ns(&self) -> u64 {
        let all_ns = match &self.kind {
            ScheduleKind::Closed => return 0,
            ScheduleKind::Uniform(rate)
            | ScheduleKind::Staged(_, rate)
            | ScheduleKind::StagedPoisson(_, rate) => 1e9 / rate.rps(),
            ScheduleKind::Poisson(gaps) => gaps.mean_ns,
            ScheduleKind::Timed(times) => {
                let last_ns = times.last().copied().unwrap_or(0);
                last_ns as f64 / times.len().max(1) as f64
            }
        };
        (all_ns / self.partition.fraction()) as u64
    }

    /// Returns the number of owned slots taken so far: the rank of the next one.
    #[inline]
    pub(crate) fn taken(&self) -> u64 {
        self.taken
    }

    /// Takes the slots before the one with this rank.
    pub(crate) fn skip_to(&mut self, rank: u64) {
        match self.kind {
            ScheduleKind::Poisson(_) | ScheduleKind::StagedPoisson(..) => {
                (self.taken..rank).for_each(|_| self.take());
            }
            _ => {
                self.taken = self.taken.max(rank);
                self.advance();
            }
        }
    }

    /// Takes the slot that [`peek`](Schedule::peek) returned.
    #[inline]
    pub(crate) fn take(&mut self) {
        self.taken += 1;
        self.advance();
    }

    /// Moves `next_ns` to the first owned slot that is not taken.
    fn advance(&mut self) {
        match &mut self.kind {
            ScheduleKind::Closed => {}
            ScheduleKind::Uniform(rate) => {
                self.next_ns = uniform_offset(*rate, self.partition.nth_owned(self.taken));
            }
            ScheduleKind::Poisson(gaps) => {
                (self.next_index, self.next_ns) = next_owned(gaps, &self.partition);
            }
            ScheduleKind::Staged(curve, _) => {
                self.next_ns = curve.offset(self.partition.nth_owned(self.taken));
            }
            ScheduleKind::StagedPoisson(gaps, _) => {
                (self.next_index, self.next_ns) = next_owned(gaps, &self.partition);
            }
            ScheduleKind::Timed(times) => {
                let index = usize::try_from(self.partition.nth_owned(self.taken));
                let time = index.ok().and_then(|index| times.get(index));
                self.next_ns = time.copied().unwrap_or(u64::MAX);
            }
        }
    }

    /// Returns the number of owned slots due in `[from_ns, until_ns)`, from the plan alone. The
    /// outcome classes must add up to it. A Poisson plan is walked again from its seed.
    pub(crate) fn planned(&self, from_ns: u64, until_ns: u64) -> u64 {
        match &self.kind {
            ScheduleKind::Closed => 0,
            ScheduleKind::Uniform(rate) => {
                let below = |ns| self.partition.owned_below(uniform_first_at(*rate, ns));
                below(until_ns) - below(from_ns)
            }
            ScheduleKind::Poisson(gaps) => {
                count_owned(gaps.restarted(), &self.partition, from_ns..until_ns)
            }
            ScheduleKind::Staged(curve, _) => {
                let below = |ns| self.partition.owned_below(curve.first_at(ns));
                below(until_ns) - below(from_ns)
            }
            ScheduleKind::StagedPoisson(gaps, _) => {
                count_owned(gaps.restarted(), &self.partition, from_ns..until_ns)
            }
            ScheduleKind::Timed(times) => {
                let below = |ns| self.partition.owned_below(timed_first_at(times, ns));
                below(until_ns) - below(from_ns)
            }
        }
    }

    /// Returns the number of owned slots that are due before `until_ns` and not taken. For a
    /// Poisson plan it is the expected number, since counting would mean walking the plan.
    pub(crate) fn backlog(&self, until_ns: u64) -> u64 {
        match &self.kind {
            ScheduleKind::Closed => 0,
            ScheduleKind::Uniform(rate) => self
                .partition
                .owned_below(uniform_first_at(*rate, until_ns))
                .saturating_sub(self.taken),
            ScheduleKind::Poisson(gaps) if self.next_ns < until_ns => {
                let overdue_ns = until_ns - self.next_ns;
                1 + (overdue_ns as f64 / gaps.mean_ns * self.partition.fraction()) as u64
            }
            ScheduleKind::Poisson(_) => 0,
            ScheduleKind::Staged(curve, _) => {
                self.partition.owned_below(curve.first_at(until_ns)).saturating_sub(self.taken)
            }
            ScheduleKind::StagedPoisson(gaps, _) if self.next_ns < until_ns => {
                // Expected by Λ, as above.
                let due = gaps.curve.first_at(until_ns) - gaps.curve.first_at(self.next_ns);
                1 + (due as f64 * self.partition.fraction()) as u64
            }
            ScheduleKind::StagedPoisson(..) => 0,
            ScheduleKind::Timed(times) => {
                let due = self.partition.owned_below(timed_first_at(times, until_ns));
                due.saturating_sub(self.taken)
            }
        }
    }

    /// Takes every slot due before `until_ns`, in runs that do not cross the border of a span.
    /// `span_end` returns, for an offset, the exclusive end of its span. Uniform runs are counted,
    /// not walked, so a rate far beyond what can be sent still ends at once.
    pub(crate) fn take_ranges(
        &mut self,
        until_ns: u64,
        mut span_end: impl FnMut(u64) -> u64,
        mut each: impl FnMut(SlotRange),
    ) {
        while self.is_open_loop() && self.next_ns < until_ns {
            let first_ns = self.next_ns;
            let end = span_end(first_ns).clamp(first_ns + 1, until_ns);
            let range = match &self.kind {
                ScheduleKind::Uniform(rate) => {
                    let end_rank = self.partition.owned_below(uniform_first_at(*rate, end));
                    let last = uniform_offset(*rate, self.partition.nth_owned(end_rank - 1));
                    let indices = self.partition.sum_of_owned(self.taken, end_rank);
                    let slots = end_rank - self.taken;
                    self.taken = end_rank;
                    SlotRange {
                        slots,
                        first_ns,
                        last_ns: last,
                        sum_ns: sum_ns(*rate, slots, indices),
                    }
                }
                _ => {
                    self.taken += 1;
                    SlotRange { slots: 1, first_ns, last_ns: first_ns, sum_ns: first_ns.into() }
                }
            };
            each(range);
            self.advance();
        }
    }
}

/// Returns the number of `times` before `ns`.
fn timed_first_at(times: &[u64], ns: u64) -> u64 {
    times.partition_point(|time| *time < ns) as u64
}

/// Returns the index and the offset of the next of random slots that a partition owns.
#[inline]
fn next_owned(slots: &mut impl Iterator<Item = (u64, u64)>, partition: &Partition) -> (u64, u64) {
    slots.find(|(index, _)| partition.owns(*index)).unwrap_or((u64::MAX, u64::MAX))
}

/// Returns the offset of the `nth` of random slots that a partition owns, from 1.
fn nth_of(slots: impl Iterator<Item = (u64, u64)>, partition: &Partition, nth: u64) -> u64 {
    let mut owned = slots.filter(|(index, _)| partition.owns(*index));
    let before = usize::try_from(nth - 1).unwrap_or(usize::MAX);
    owned.nth(before).map_or(u64::MAX, |(_, offset_ns)| offset_ns)
}

/// Returns the number of slots in a span of offsets that a partition owns.
fn count_owned(
    slots: impl Iterator<Item = (u64, u64)>,
    partition: &Partition,
    span: Range<u64>,
) -> u64 {
    let slots = slots.take_while(|(_, offset)| *offset < span.end);
    let later = slots.skip_while(|(_, offset)| *offset < span.start);
    later.filter(|(index, _)| partition.owns(*index)).count() as u64
}

/// Consecutive owned slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlotRange {
    /// Number of slots, at least 1.
    pub(crate) slots: u64,
    /// Offset of the first slot.
    pub(crate) first_ns: u64,
    /// Offset of the last slot.
    pub(crate) last_ns: u64,
    /// Sum of the offsets, accurate to 1 ns per slot.
    pub(crate) sum_ns: u128,
}

/// Returns the offset from S at which `requests` slots of the whole plan after `from_ns` have
/// passed. A window that is limited by a number of requests ends there.
pub(crate) fn end_of_requests(load: Load, from_ns: u64, requests: u64) -> Option<u64> {
    match load {
        Load::ClosedLoop => None,
        Load::OpenLoop { rate, arrivals: Arrivals::Uniform } => {
            // The slots lie half a gap inside the window, so n of them take exactly n gaps.
            let span = u128::from(requests) * u128::from(rate.denominator) * SECOND_NS
                / u128::from(rate.numerator);
            let first = uniform_first_at(rate, from_ns);
            let last = uniform_offset(rate, first + requests.max(1) - 1);
            Some(saturate(u128::from(from_ns) + span).max(last + 1))
        }
        Load::OpenLoop { rate, arrivals: Arrivals::Poisson { seed } } => {
            let mut slots = Gaps::new(seed, rate).skip_while(|(_, offset)| *offset < from_ns);
            slots.nth(usize::try_from(requests).ok()?).map(|(_, offset)| offset)
        }
    }
}

/// Returns `floor((2i + 1) · den · 10⁹ / (2 · num))` (METHOD 1.3).
#[inline]
fn uniform_offset(rate: Rate, index: u64) -> u64 {
    // 64 bits hold the product in any run of a sane length, and divide several times faster.
    let short = (2 * index + 1)
        .checked_mul(rate.denominator)
        .and_then(|product| product.checked_mul(1_000_000_000));
    match (short, rate.numerator.checked_mul(2)) {
        (Some(product), Some(divisor)) => product / divisor,
        _ => saturate(
            (2 * u128::from(index) + 1) * u128::from(rate.denominator) * SECOND_NS
                / (2 * u128::from(rate.numerator)),
        ),
    }
}

/// Returns the least index whose offset is at least `ns`.
fn uniform_first_at(rate: Rate, ns: u64) -> u64 {
    // offset(i) ≥ ns  ⇔  (2i + 1) · den · 10⁹ ≥ 2 · num · ns, since ns is whole.
    let right = 2 * u128::from(rate.numerator) * u128::from(ns);
    let halves = right.div_ceil(u128::from(rate.denominator) * SECOND_NS);
    saturate(halves / 2)
}

/// Returns the sum of the offsets of slots whose indices add up to `indices`.
fn sum_ns(rate: Rate, slots: u64, indices: u128) -> u128 {
    let halves = 2 * indices + u128::from(slots);
    let (per, divisor) = (u128::from(rate.denominator) * SECOND_NS, 2 * u128::from(rate.numerator));
    // Split so that the product fits in 128 bits for any number of slots.
    halves / divisor * per + halves % divisor * per / divisor
}

fn saturate(ns: u128) -> u64 {
    u64::try_from(ns).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn rate(numerator: u64, denominator: u64) -> Rate {
        Rate { numerator, denominator }
    }

    fn uniform(rate: Rate) -> Load {
        Load::OpenLoop { rate, arrivals: Arrivals::Uniform }
    }

    fn poisson(rate: Rate, seed: u64) -> Load {
        Load::OpenLoop { rate, arrivals: Arrivals::Poisson { seed } }
    }

    fn offsets(load: Load, partition: Partition, until_ns: u64) -> Vec<u64> {
        let mut schedule = Schedule::new(load, partition);
        let mut offsets = Vec::new();
        while let Some(ns) = schedule.peek().filter(|ns| *ns < until_ns) {
            offsets.push(ns);
            schedule.take();
        }
        offsets
    }

    #[test]
    fn uniform_slots_lie_half_a_gap_inside() {
        let all = offsets(uniform(rate(4, 1)), Partition::new(0, 1, 1), 1_000_000_000);
        assert_eq!(all, [125_000_000, 375_000_000, 625_000_000, 875_000_000]);
    }

    #[test]
    fn rates_below_one_per_second_and_fractions() {
        let slow = offsets(uniform(rate(1, 4)), Partition::new(0, 1, 3), 12_000_000_000);
        assert_eq!(slow, [2_000_000_000, 6_000_000_000, 10_000_000_000]);
        let third = offsets(uniform(rate(10, 3)), Partition::new(0, 1, 1), 3_000_000_000);
        assert_eq!(third.len(), 10);
        assert_eq!(third[0], 150_000_000);
    }

    #[test]
    fn parts_share_every_slot_once() {
        for load in [uniform(rate(1_000, 1)), poisson(rate(1_000, 1), 7)] {
            for (parts, connections) in [(1, 1), (2, 10), (2, 3), (3, 10), (7, 7), (4, 5)] {
                let whole = offsets(load, Partition::new(0, 1, connections), 1_000_000_000);
                let mut union = Vec::new();
                for part in 0..parts {
                    let partition = Partition::new(part, parts, connections);
                    let mine = offsets(load, partition, 1_000_000_000);
                    let schedule = Schedule::new(load, partition);
                    assert_eq!(mine.len() as u64, schedule.planned(0, 1_000_000_000));
                    union.extend(mine);
                }
                union.sort_unstable();
                assert_eq!(union, whole, "{load:?} {parts} parts, {connections} connections");
            }
        }
    }

    /// Times are shared by the index of their slots, and none follows the last one.
    #[test]
    fn listed_times_are_those_of_the_slots() {
        let times: Arc<[u64]> = [0, 5, 5, 5, 9, 20, 21, 21].into();
        let plan = Plan::default();
        for (parts, connections) in [(1, 1), (1, 3), (2, 3), (3, 7), (3, 20)] {
            let mut all = Vec::new();
            for part in 0..parts {
                let partition = Partition::new(part, parts, connections);
                let schedule = Schedule::of(&plan, Some(&times), partition);
                let mine: Vec<(u64, u64)> = schedule.clone().walk(u64::MAX).collect();
                for (from, until) in [(0, 5), (5, 6), (6, 21), (0, u64::MAX)] {
                    let within = mine.iter().filter(|(_, ns)| (from..until).contains(ns));
                    assert_eq!(schedule.planned(from, until), within.count() as u64);
                }
                let mut half = schedule.clone();
                mine.iter().take(1).for_each(|_| half.take());
                assert_eq!(half.backlog(21), schedule.planned(0, 21).saturating_sub(1));
                let mut slots = 0;
                half.take_ranges(u64::MAX, |ns| ns + 1, |range| slots += range.slots);
                assert_eq!((slots, half.peek()), ((mine.len() as u64).max(1) - 1, Some(u64::MAX)));
                all.extend(mine);
            }
            all.sort_unstable();
            let expected: Vec<(u64, u64)> = (0..).zip(times.iter().copied()).collect();
            assert_eq!(all, expected, "{parts} parts, {connections} connections");
        }
    }

    #[test]
    fn later_slots_are_known_before_they_are_taken() {
        for load in [uniform(rate(997, 3)), poisson(rate(500, 1), 4)] {
            for part in 0..2 {
                let whole = Schedule::new(load, Partition::new(part, 2, 3));
                let mut schedule = whole.clone();
                for rank in 0..50 {
                    let ahead = schedule.peek_nth(7);
                    let mut skipped = whole.clone();
                    skipped.skip_to(rank + 7);
                    assert_eq!((skipped.peek(), skipped.taken()), (ahead, rank + 7), "{load:?}");
                    assert_eq!(schedule.peek_nth(0), schedule.peek());
                    schedule.take();
                }
            }
        }
        let closed = Schedule::new(Load::ClosedLoop, Partition::new(0, 1, 1));
        assert_eq!(closed.peek_nth(1), None);
    }

    #[test]
    fn planned_counts_windows_exactly() {
        let schedule = Schedule::new(uniform(rate(20_000, 1)), Partition::new(0, 1, 100));
        assert_eq!(schedule.planned(2_000_000_000, 12_000_000_000), 200_000);
        let all = offsets(uniform(rate(333, 7)), Partition::new(1, 3, 8), 20_000_000_000);
        let schedule = Schedule::new(uniform(rate(333, 7)), Partition::new(1, 3, 8));
        for (from, until) in [(0, 1), (1_234_567, 9_876_543_210), (5_000_000_000, 5_000_000_001)] {
            let counted = all.iter().filter(|ns| (from..until).contains(*ns)).count() as u64;
            assert_eq!(schedule.planned(from, until), counted, "[{from}, {until})");
        }
    }

    #[test]
    fn ranges_are_what_walking_gives() {
        let load = uniform(rate(12_345, 11));
        let partition = Partition::new(1, 2, 5);
        let walked = offsets(load, partition, 3_000_000_000);
        let mut schedule = Schedule::new(load, partition);
        for _ in 0..17 {
            schedule.take();
        }
        let (mut slots, mut sum): (u64, u128) =
            (17, walked[..17].iter().map(|ns| u128::from(*ns)).sum());
        schedule.take_ranges(
            3_000_000_000,
            |ns| (ns / 700_000 + 1) * 700_000,
            |range| {
                assert_eq!(range.first_ns, walked[slots as usize]);
                slots += range.slots;
                assert_eq!(range.last_ns, walked[slots as usize - 1]);
                assert_eq!(range.first_ns / 700_000, range.last_ns / 700_000);
                sum += range.sum_ns;
            },
        );
        assert_eq!(slots as usize, walked.len());
        let exact: u128 = walked.iter().map(|ns| u128::from(*ns)).sum();
        assert!(sum.abs_diff(exact) <= u128::from(slots), "{sum} {exact}");
        assert!(schedule.peek().expect("open loop") >= 3_000_000_000);
    }

    #[test]
    fn absurd_rates_are_counted_not_walked() {
        let mut schedule =
            Schedule::new(uniform(rate(100_000_000_000, 1)), Partition::new(0, 1, 3));
        let mut slots = 0;
        schedule.take_ranges(u64::MAX / 1_000_000, |ns| ns + 1_000_000_000, |r| slots += r.slots);
        assert_eq!(slots, schedule.planned(0, u64::MAX / 1_000_000));
    }

    #[test]
    fn a_number_of_requests_takes_its_time() {
        let load = uniform(rate(1_000, 1));
        assert_eq!(end_of_requests(load, 2_000_000_000, 500), Some(2_500_000_000));
        let schedule = Schedule::new(load, Partition::new(0, 1, 1));
        assert_eq!(schedule.planned(2_000_000_000, 2_500_000_000), 500);
        let load = poisson(rate(1_000, 1), 3);
        let end = end_of_requests(load, 1_000_000_000, 500).expect("open loop");
        let schedule = Schedule::new(load, Partition::new(0, 1, 1));
        assert_eq!(schedule.planned(1_000_000_000, end), 500);
    }
}
