//! The slots of one worker, in order: the slots of its schedule, or in a closed loop one whenever
//! there is room.

use weir_io::Nanos;

use super::slots::Slots;
use crate::exchange::SlotPhase;
use crate::job::{Job, ListTurn, Turns};
use crate::time::{Partition, Schedule, ShedSlots, Timeline, UnsentSlots};

/// The slots that one worker has not taken yet.
#[derive(Debug)]
pub(crate) struct SlotSource {
    pub(crate) schedule: Schedule,
    /// Requests of M not yet dispatched, in a closed loop with a number of requests.
    pub(crate) quota: Option<u64>,
    /// True if slots after t1 are sent, which keeps the load up until M is resolved. None are sent
    /// if the number of requests is fixed, if the window was cut, or if the load ends at t1 like
    /// wrk's.
    pub(crate) has_tail: bool,
    /// Slots that were shed, and the limit from which on they are.
    shed: ShedSlots,
    /// Interval of `--tick`; 1 ns without.
    tick_ns: u64,
    /// Turns of a list.
    pub(crate) turns: Turns,
    /// Slots of a list that were taken.
    pub(crate) listed: u64,
}

impl SlotSource {
    /// Returns the slots of `job` that `partition` owns.
    pub(crate) fn new(job: &Job, partition: Partition) -> SlotSource {
        let plan = &job.plan;
        let schedule = Schedule::of(&plan.load, job.requests.times.as_ref(), partition);
        let quota = job.request_count().filter(|_| schedule.peek().is_none());
        SlotSource {
            shed: ShedSlots::new(plan, partition, schedule.clone()),
            schedule,
            quota: quota.map(|requests| partition.owned_below(requests)),
            has_tail: job.request_count().is_none() && !job.ending.stops_at_t1,
            tick_ns: plan.tick_ns.unwrap_or(1),
            turns: job.turns_of(partition),
            listed: 0,
        }
    }

    /// Returns the intended time of the next planned slot.
    #[inline]
    pub(crate) fn next_at(&self, timeline: &Timeline) -> Option<Nanos> {
        self.schedule.peek().map(|offset_ns| timeline.start.after(offset_ns))
    }

    /// Returns the send time of the next planned slot: with `--tick`, the first tick at or after
    /// its intended time.
    #[inline]
    pub(crate) fn next_tick(&self, timeline: &Timeline) -> Option<Nanos> {
        self.schedule.peek().map(|offset_ns| self.tick_at(timeline, offset_ns))
    }

    /// Returns the send time of the planned slot behind `nth` others; `None` if it is never sent.
    pub(crate) fn nth_tick(&self, timeline: &Timeline, nth: u64) -> Option<Nanos> {
        let offset_ns = self.schedule.peek_nth(nth)?;
        let is_sent = self.has_tail || timeline.start.after(offset_ns) < timeline.t1;
        is_sent.then(|| self.tick_at(timeline, offset_ns))
    }

    /// Returns the first tick at or after a slot's offset.
    #[inline]
    fn tick_at(&self, timeline: &Timeline, offset_ns: u64) -> Nanos {
        let ticks = offset_ns.div_ceil(self.tick_ns);
        timeline.start.after(ticks.saturating_mul(self.tick_ns))
    }

    /// True if a planned slot is due.
    #[inline]
    pub(crate) fn has_due(&self, timeline: &Timeline, now: Nanos) -> bool {
        self.next_at(timeline).is_some_and(|due| due <= now)
    }

    /// True if a request may be sent at `now`.
    #[inline]
    pub(crate) fn is_due(&self, timeline: &Timeline, now: Nanos) -> bool {
        match self.next_at(timeline) {
            Some(due) => due <= now && (due < timeline.t1 || self.has_tail),
            None => {
                let is_over = now >= timeline.t1 && !self.has_tail;
                now >= timeline.start && !is_over && self.quota != Some(0)
            }
        }
    }

    /// Returns the planned slots that were not sent, at the end of the load.
    pub(crate) fn into_unsent(self) -> UnsentSlots {
        UnsentSlots::new(self.schedule, self.shed)
    }

    /// True if due slots are shed: with `in_flight`, as many requests are in flight as allowed.
    #[inline(always)]
    pub(crate) fn sheds(&self, in_flight: u64) -> bool {
        in_flight >= self.shed.in_flight_max
    }

    /// True if a request may be sent at `now`. If as many are in flight as allowed, the slots that
    /// are due are shed.
    #[inline(always)]
    pub(crate) fn admits(&mut self, timeline: &Timeline, now: Nanos, in_flight: u64) -> bool {
        if self.sheds(in_flight) {
            self.shed_due(timeline, now);
            return false;
        }
        self.is_due(timeline, now)
    }

    /// Sheds the slots that are due.
    #[cold]
    pub(crate) fn shed_due(&mut self, timeline: &Timeline, now: Nanos) {
        while self.is_due(timeline, now) {
            self.shed.shed(&mut self.schedule);
        }
    }

    /// Takes the next identical slots, at most `most`. Planned slots are taken one by one.
    #[inline(always)]
    pub(crate) fn take(&mut self, timeline: &Timeline, now: Nanos, most: u16) -> Slots {
        if let Some(due) = self.next_at(timeline) {
            self.schedule.take();
            return Slots {
                intended_at: due,
                phase: timeline.phase(due),
                count: 1,
                tag: 0,
                row: 0,
            };
        }
        let (phase, count) = match (&mut self.quota, timeline.phase(now)) {
            // A batch may hold more requests than the quota has left.
            (Some(0), SlotPhase::Measured) => (SlotPhase::Tail, 1),
            (Some(left), SlotPhase::Measured) => {
                let count = u16::try_from(*left).unwrap_or(u16::MAX).min(most);
                *left -= u64::from(count);
                (SlotPhase::Measured, count)
            }
            (_, phase) => (phase, most),
        };
        Slots { intended_at: now, phase, count, tag: 0, row: 0 }
    }

    /// Lowers the number of requests of the run in a closed loop, from `planned` to `requests`.
    pub(crate) fn lower_quota(&mut self, planned: u64, requests: u64) {
        let missing = self.turns.owned_below(planned) - self.turns.owned_below(requests);
        self.quota = self.quota.map(|left| left.saturating_sub(missing));
    }

    /// Returns the turn of a list's next request.
    #[inline]
    pub(crate) fn next_turn(&self) -> ListTurn {
        match self.schedule.peek() {
            Some(_) => ListTurn::Slot(self.schedule.next_index()),
            None => self.turns.nth(self.listed),
        }
    }

    /// Takes the next slot, for the request of a list with this index and name.
    #[inline]
    pub(crate) fn take_listed(
        &mut self,
        timeline: &Timeline,
        now: Nanos,
        row: u16,
        name: u16,
    ) -> Slots {
        self.listed += 1;
        Slots { tag: name, row, ..self.take(timeline, now, 1) }
    }

    /// Takes a slot for each of the `requests` requests of a string. All have the intended time of
    /// the first, and tags from `tag` on.
    pub(crate) fn take_string(
        &mut self,
        timeline: Timeline,
        now: Nanos,
        requests: u16,
        tag: u16,
    ) -> impl Iterator<Item = Slots> {
        let mut first_at = None;
        self.listed += u64::from(requests);
        (tag..tag + requests).map(move |tag| {
            let slot = self.take(&timeline, now, 1);
            Slots { intended_at: *first_at.get_or_insert(slot.intended_at), tag, ..slot }
        })
    }

    /// Returns the number of planned slots that are due at `until` and not taken.
    pub(crate) fn backlog(&self, timeline: &Timeline, until: Nanos) -> u64 {
        self.schedule.backlog(until.since(timeline.start))
    }
}
