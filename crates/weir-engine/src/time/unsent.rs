//! Shedding: slots that are due while as many requests are in flight as allowed are never sent.
//! They are kept by their ranks, one bit each, so that each has its due time and its request
//! afterwards.

use weir_result::Plan;

use super::partition::Partition;
use super::schedule::Schedule;

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
    pub(crate) fn slots(&self, until_ns: u64) -> impl Iterator<Item = (u64, u64)> + use<'_> {
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
