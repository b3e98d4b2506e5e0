//! The schedule: the slots this worker owns and the due time of each.
//!
//! A schedule is a monotonic sequence of intended send times and also the queue: a slot that is due
//! and not yet taken simply stays in the past (METHOD 1.3). There are two kinds: due times that
//! follow from a slot's index, so that nothing drifts, and due times that are drawn one after the
//! other. This module reads no clock: times are offsets from S, the schedule's start.

mod drawn;
mod indexed;

use std::sync::Arc;

use weir_result::{Arrivals, DueTimes, Load};

use super::curve::Curve;
use super::partition::Partition;
use drawn::Drawn;
use indexed::IndexedTimes;

/// The slots of one worker, in order.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    kind: ScheduleKind,
    partition: Partition,
    /// Mean time between owned slots in nanoseconds; 0 in a closed loop.
    gap_ns: u64,
    /// Owned slots taken so far.
    taken: u64,
    /// Offset of the next owned slot in nanoseconds; unused in a closed loop.
    next_ns: u64,
    /// Its index in the whole plan, if times are drawn.
    next_index: u64,
}

#[derive(Clone, Debug)]
enum ScheduleKind {
    Closed,
    Indexed(IndexedTimes),
    Drawn(Drawn),
}

impl Schedule {
    /// Returns the schedule of the worker that owns `partition` of a load, whose first rate is that
    /// of the warm-up too. `log` has the due times of a log as offsets from S, ascending.
    pub(crate) fn of(load: &Load, log: Option<&Arc<[u64]>>, partition: Partition) -> Schedule {
        let curve = || Arc::new(Curve::new(load.stages(), load.warmup.span_ns));
        let kind = match (&load.due, load.constant_rate()) {
            (None, _) => ScheduleKind::Closed,
            (Some(DueTimes::Log(_)), _) => {
                let times = log.map(Arc::clone).unwrap_or_default();
                ScheduleKind::Indexed(IndexedTimes::Times(times))
            }
            (Some(DueTimes::Curve { arrivals: Arrivals::Uniform, .. }), rate) => {
                let of_curve = || IndexedTimes::Curve(curve());
                ScheduleKind::Indexed(rate.map_or_else(of_curve, IndexedTimes::Uniform))
            }
            (Some(DueTimes::Curve { arrivals: Arrivals::Poisson { seed }, .. }), rate) => {
                let of_curve = || Drawn::on_curve(*seed, curve());
                ScheduleKind::Drawn(rate.map_or_else(of_curve, |rate| Drawn::constant(*seed, rate)))
            }
        };
        let gap_ns = load.rate().map_or(0.0, |rate| 1e9 / rate.rps());
        Schedule::starting(kind, gap_ns, partition)
    }

    /// Returns a schedule of which no slot is taken. `gap_ns` is the mean time between two slots of
    /// the whole plan.
    fn starting(kind: ScheduleKind, gap_ns: f64, partition: Partition) -> Schedule {
        let gap_ns = (gap_ns / partition.fraction()) as u64;
        let mut schedule =
            Schedule { kind, partition, gap_ns, taken: 0, next_ns: 0, next_index: 0 };
        schedule.advance();
        schedule
    }

    /// Returns the due time of the next slot, as an offset from S. A closed loop has no plan:
    /// `None`.
    #[inline]
    pub(crate) fn peek(&self) -> Option<u64> {
        (!matches!(self.kind, ScheduleKind::Closed)).then_some(self.next_ns)
    }

    /// Returns the due time of the slot behind `nth` others, as [`peek`](Schedule::peek) does.
    /// Random slots are drawn one by one.
    pub(crate) fn peek_nth(&self, nth: u64) -> Option<u64> {
        match &self.kind {
            ScheduleKind::Closed => None,
            _ if nth == 0 => Some(self.next_ns),
            ScheduleKind::Indexed(slots) => {
                Some(slots.offset(self.partition.nth_owned(self.taken.saturating_add(nth))))
            }
            ScheduleKind::Drawn(slots) => Some(slots.nth_owned(&self.partition, nth)),
        }
    }

    /// Returns the index in the whole plan of the slot that [`peek`](Schedule::peek) returned.
    #[inline]
    pub(crate) fn next_index(&self) -> u64 {
        match self.kind {
            ScheduleKind::Drawn(_) => self.next_index,
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
        self.gap_ns
    }

    /// Returns the number of owned slots taken so far: the rank of the next one.
    #[inline]
    pub(crate) fn taken(&self) -> u64 {
        self.taken
    }

    /// Takes the slots before the one with this rank.
    pub(crate) fn skip_to(&mut self, rank: u64) {
        match self.kind {
            ScheduleKind::Drawn(_) => (self.taken..rank).for_each(|_| self.take()),
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
            ScheduleKind::Indexed(slots) => {
                self.next_ns = slots.offset(self.partition.nth_owned(self.taken));
            }
            ScheduleKind::Drawn(slots) => {
                (self.next_index, self.next_ns) = slots.next_owned(&self.partition);
            }
        }
    }

    /// Returns the number of owned slots due in `[from_ns, until_ns)`, from the plan alone; `None`
    /// in a closed loop. The outcome classes must add up to it. Drawn times are drawn again from
    /// their seed.
    pub(crate) fn planned(&self, from_ns: u64, until_ns: u64) -> Option<u64> {
        match &self.kind {
            ScheduleKind::Closed => None,
            ScheduleKind::Indexed(slots) => {
                let below = |ns| self.partition.owned_below(slots.first_at(ns));
                Some(below(until_ns) - below(from_ns))
            }
            ScheduleKind::Drawn(slots) => {
                Some(slots.count_owned(&self.partition, from_ns..until_ns))
            }
        }
    }

    /// Returns the number of owned slots that are due before `until_ns` and not taken. If times are
    /// drawn it is the expected number, since counting would mean drawing them.
    pub(crate) fn backlog(&self, until_ns: u64) -> u64 {
        match &self.kind {
            ScheduleKind::Closed => 0,
            ScheduleKind::Indexed(slots) => {
                self.partition.owned_below(slots.first_at(until_ns)).saturating_sub(self.taken)
            }
            ScheduleKind::Drawn(slots) if self.next_ns < until_ns => {
                1 + (slots.expected(self.next_ns..until_ns) * self.partition.fraction()) as u64
            }
            ScheduleKind::Drawn(_) => 0,
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
        while let Some(first_ns) = self.peek().filter(|first_ns| *first_ns < until_ns) {
            let end = span_end(first_ns).clamp(first_ns + 1, until_ns);
            let range = match &self.kind {
                ScheduleKind::Indexed(slots @ IndexedTimes::Uniform(rate)) => {
                    let end_rank = self.partition.owned_below(slots.first_at(end));
                    let last_ns = slots.offset(self.partition.nth_owned(end_rank - 1));
                    let indices = self.partition.sum_of_owned(self.taken, end_rank);
                    let count = end_rank - self.taken;
                    self.taken = end_rank;
                    let sum_ns = indexed::sum_ns(*rate, count, indices);
                    SlotRange { slots: count, first_ns, last_ns, sum_ns }
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
pub(crate) fn end_of_requests(load: &Load, from_ns: u64, requests: u64) -> Option<u64> {
    let rate = load.constant_rate()?;
    match load.arrivals()? {
        Arrivals::Uniform => Some(indexed::end_of_uniform(rate, from_ns, requests)),
        Arrivals::Poisson { seed } => {
            let mut slots = Drawn::constant(seed, rate).skip_while(|(_, offset)| *offset < from_ns);
            slots.nth(usize::try_from(requests).ok()?).map(|(_, offset)| offset)
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_result::{Rate, Warmup};

    use super::*;

    const fn rate(numerator: u64, denominator: u64) -> Rate {
        Rate { numerator, denominator }
    }

    fn with_due(due: DueTimes) -> Load {
        Load { due: Some(due), warmup: Warmup::default(), ..Load::default() }
    }

    fn uniform(rate: Rate) -> Load {
        with_due(DueTimes::constant(rate, Arrivals::Uniform))
    }

    fn poisson(rate: Rate, seed: u64) -> Load {
        with_due(DueTimes::constant(rate, Arrivals::Poisson { seed }))
    }

    fn of_load(load: &Load, partition: Partition) -> Schedule {
        Schedule::of(load, None, partition)
    }

    fn offsets(load: &Load, partition: Partition, until_ns: u64) -> Vec<u64> {
        let mut schedule = of_load(load, partition);
        let mut offsets = Vec::new();
        while let Some(ns) = schedule.peek().filter(|ns| *ns < until_ns) {
            offsets.push(ns);
            schedule.take();
        }
        offsets
    }

    #[test]
    fn uniform_slots_lie_half_a_gap_inside() {
        let all = offsets(&uniform(rate(4, 1)), Partition::new(0, 1, 1), 1_000_000_000);
        assert_eq!(all, [125_000_000, 375_000_000, 625_000_000, 875_000_000]);
    }

    #[test]
    fn rates_below_one_per_second_and_fractions() {
        let slow = offsets(&uniform(rate(1, 4)), Partition::new(0, 1, 3), 12_000_000_000);
        assert_eq!(slow, [2_000_000_000, 6_000_000_000, 10_000_000_000]);
        let third = offsets(&uniform(rate(10, 3)), Partition::new(0, 1, 1), 3_000_000_000);
        assert_eq!(third.len(), 10);
        assert_eq!(third[0], 150_000_000);
    }

    #[test]
    fn parts_share_every_slot_once() {
        for load in [uniform(rate(1_000, 1)), poisson(rate(1_000, 1), 7)] {
            for (parts, connections) in [(1, 1), (2, 10), (2, 3), (3, 10), (7, 7), (4, 5)] {
                let whole = offsets(&load, Partition::new(0, 1, connections), 1_000_000_000);
                let mut union = Vec::new();
                for part in 0..parts {
                    let partition = Partition::new(part, parts, connections);
                    let mine = offsets(&load, partition, 1_000_000_000);
                    let schedule = of_load(&load, partition);
                    assert_eq!(Some(mine.len() as u64), schedule.planned(0, 1_000_000_000));
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
        let load = with_due(DueTimes::Log(weir_result::ReplayPlan::default()));
        for (parts, connections) in [(1, 1), (1, 3), (2, 3), (3, 7), (3, 20)] {
            let mut all = Vec::new();
            for part in 0..parts {
                let partition = Partition::new(part, parts, connections);
                let schedule = Schedule::of(&load, Some(&times), partition);
                let mine: Vec<(u64, u64)> = schedule.clone().walk(u64::MAX).collect();
                for (from, until) in [(0, 5), (5, 6), (6, 21), (0, u64::MAX)] {
                    let within = mine.iter().filter(|(_, ns)| (from..until).contains(ns));
                    assert_eq!(schedule.planned(from, until), Some(within.count() as u64));
                }
                let mut half = schedule.clone();
                mine.iter().take(1).for_each(|_| half.take());
                let planned = schedule.planned(0, 21).unwrap_or_default();
                assert_eq!(half.backlog(21), planned.saturating_sub(1));
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
                let whole = of_load(&load, Partition::new(part, 2, 3));
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
        let closed = of_load(&Load::default(), Partition::new(0, 1, 1));
        assert_eq!(closed.peek_nth(1), None);
    }

    #[test]
    fn planned_counts_windows_exactly() {
        let schedule = of_load(&uniform(rate(20_000, 1)), Partition::new(0, 1, 100));
        assert_eq!(schedule.planned(2_000_000_000, 12_000_000_000), Some(200_000));
        let all = offsets(&uniform(rate(333, 7)), Partition::new(1, 3, 8), 20_000_000_000);
        let schedule = of_load(&uniform(rate(333, 7)), Partition::new(1, 3, 8));
        for (from, until) in [(0, 1), (1_234_567, 9_876_543_210), (5_000_000_000, 5_000_000_001)] {
            let counted = all.iter().filter(|ns| (from..until).contains(*ns)).count() as u64;
            assert_eq!(schedule.planned(from, until), Some(counted), "[{from}, {until})");
        }
    }

    #[test]
    fn ranges_are_what_walking_gives() {
        let load = uniform(rate(12_345, 11));
        let partition = Partition::new(1, 2, 5);
        let walked = offsets(&load, partition, 3_000_000_000);
        let mut schedule = of_load(&load, partition);
        for _ in 0..17 {
            schedule.take();
        }
        let mut slots: u64 = 17;
        let mut sum: u128 = walked[..17].iter().map(|ns| u128::from(*ns)).sum();
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
        let mut schedule = of_load(&uniform(rate(100_000_000_000, 1)), Partition::new(0, 1, 3));
        let mut slots = 0;
        schedule.take_ranges(u64::MAX / 1_000_000, |ns| ns + 1_000_000_000, |r| slots += r.slots);
        assert_eq!(Some(slots), schedule.planned(0, u64::MAX / 1_000_000));
    }

    #[test]
    fn a_number_of_requests_takes_its_time() {
        let load = uniform(rate(1_000, 1));
        assert_eq!(end_of_requests(&load, 2_000_000_000, 500), Some(2_500_000_000));
        let schedule = of_load(&load, Partition::new(0, 1, 1));
        assert_eq!(schedule.planned(2_000_000_000, 2_500_000_000), Some(500));
        let load = poisson(rate(1_000, 1), 3);
        let end = end_of_requests(&load, 1_000_000_000, 500).expect("open loop");
        let schedule = of_load(&load, Partition::new(0, 1, 1));
        assert_eq!(schedule.planned(1_000_000_000, end), Some(500));
    }
}
