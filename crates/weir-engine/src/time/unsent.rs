//! Planned slots that are never sent: those that are left at the end, and those that were shed,
//! since they were due while as many requests were in flight as allowed. The latter are kept by
//! their ranks, one bit each, so that each has its due time and its request afterwards.

use weir_result::{OutcomePart, Plan};

use super::partition::Partition;
use super::schedule::{Schedule, SlotRange};

/// The planned slots of one worker that were never sent.
#[derive(Debug)]
pub(crate) struct UnsentSlots {
    /// Schedule that holds those that were not taken.
    left: Schedule,
    shed: ShedSlots,
}

/// A planned slot that was never sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnsentSlot {
    /// Index in the whole plan.
    pub(crate) index: u64,
    /// Due time, as an offset from S.
    pub(crate) offset_ns: u64,
    /// Part of its class; none if it was left.
    pub(crate) part: Option<OutcomePart>,
}

impl UnsentSlots {
    /// Returns the slots that `left` still holds, and those that were shed.
    pub(crate) fn new(left: Schedule, shed: ShedSlots) -> UnsentSlots {
        UnsentSlots { left, shed }
    }

    /// Returns the number of the worker's slots due in `[from_ns, until_ns)`, sent or not; `None`
    /// in a closed loop, which has no plan.
    pub(crate) fn planned(&self, from_ns: u64, until_ns: u64) -> Option<u64> {
        self.left.planned(from_ns, until_ns)
    }

    /// Passes the slots that were left and due before `until_ns` to `each`, as
    /// [`Schedule::take_ranges`] does.
    pub(crate) fn left_ranges(
        &self,
        until_ns: u64,
        span_end: impl FnMut(u64) -> u64,
        each: impl FnMut(SlotRange),
    ) {
        self.left.clone().take_ranges(until_ns, span_end, each);
    }

    /// Returns the slots that were due before `until_ns`, in order.
    pub(crate) fn slots(&self, until_ns: u64) -> impl Iterator<Item = UnsentSlot> + use<'_> {
        let left = self.left.clone().walk(until_ns);
        let left = left.map(|(index, offset_ns)| UnsentSlot { index, offset_ns, part: None });
        // A slot is shed before the next one is taken.
        self.parted(until_ns).chain(left)
    }

    /// Returns those of them that were taken, and are in a part of their class.
    pub(crate) fn parted(&self, until_ns: u64) -> impl Iterator<Item = UnsentSlot> + use<'_> {
        let part = Some(OutcomePart::Shed);
        let shed = self.shed.slots(until_ns);
        shed.map(move |(index, offset_ns)| UnsentSlot { index, offset_ns, part })
    }
}

/// The slots that one worker has shed.
#[derive(Debug)]
pub(crate) struct ShedSlots {
    /// Requests in flight from which on due slots are shed; [`u64::MAX`] for no limit.
    pub(crate) in_flight_max: u64,
    /// Set bits at the ranks of the slots that were shed.
    ranks: Vec<u64>,
    /// Schedule that still holds every slot.
    schedule: Schedule,
}

impl ShedSlots {
    /// Returns the slots of `schedule`, whose worker owns `partition`; none of them is shed.
    pub(crate) fn new(plan: &Plan, partition: Partition, schedule: Schedule) -> ShedSlots {
        let most = |all: u32| partition.share_of_requests(all.into());
        ShedSlots {
            in_flight_max: plan.load.in_flight_max.map_or(u64::MAX, most),
            ranks: Vec::new(),
            schedule,
        }
    }

    /// Takes the next slot of `schedule` without sending it.
    pub(crate) fn shed(&mut self, schedule: &mut Schedule) {
        let rank = schedule.taken();
        let word = usize::try_from(rank / 64).expect("the plan limits the number of slots");
        if word >= self.ranks.len() {
            self.ranks.resize(word + 1, 0);
        }
        self.ranks[word] |= 1 << (rank % 64);
        schedule.take();
    }

    /// Returns the shed slots that were due before `until_ns`, in order: index in the whole plan
    /// and offset from S.
    fn slots(&self, until_ns: u64) -> impl Iterator<Item = (u64, u64)> + use<'_> {
        let mut schedule = self.schedule.clone();
        let ranks = (0..).zip(&self.ranks).flat_map(|(word, bits)| {
            (0..64).filter(move |bit| bits & (1 << bit) != 0).map(move |bit| word * 64 + bit)
        });
        let slots = ranks.map(move |rank| {
            schedule.skip_to(rank);
            (schedule.next_index(), schedule.peek().unwrap_or(u64::MAX))
        });
        slots.take_while(move |(_, offset_ns)| *offset_ns < until_ns)
    }
}
