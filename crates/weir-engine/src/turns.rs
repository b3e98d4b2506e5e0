//! The turns of a list's requests: which request a slot carries.

use crate::partition::Partition;

/// The turn of a request of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListTurn {
    /// The slot with this index in the run.
    Slot(u64),
    /// This many requests of a worker of a closed loop came before.
    Nth {
        /// Number of requests.
        nth: u64,
        /// Number of the worker.
        worker: u32,
        /// Number of workers.
        workers: u32,
    },
}

/// The turns that belong to one worker.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turns {
    partition: Partition,
    /// True if slots are shared by their index: in an open loop, and if each row is sent once.
    by_slot: bool,
}

impl Turns {
    /// Returns the turns of the worker that owns `partition`. `by_slot` is true if slots are shared
    /// by their index.
    pub(crate) fn new(partition: Partition, by_slot: bool) -> Turns {
        Turns { partition, by_slot }
    }

    /// Returns the turn behind `nth` others.
    #[inline]
    pub(crate) fn nth(&self, nth: u64) -> ListTurn {
        let Partition { part, parts, .. } = self.partition;
        match self.by_slot {
            true => ListTurn::Slot(self.partition.nth_owned(nth)),
            false => ListTurn::Nth { nth, worker: part, workers: parts },
        }
    }
}
