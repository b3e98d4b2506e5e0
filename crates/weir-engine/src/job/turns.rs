//! The turns of a list's requests: which request a slot carries.

use crate::time::Partition;

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

impl ListTurn {
    /// Returns the index of its slot in the run.
    #[inline]
    pub(crate) fn index(self) -> u64 {
        match self {
            ListTurn::Slot(index) => index,
            ListTurn::Nth { nth, worker, workers } => {
                nth.wrapping_mul(workers.into()).wrapping_add(worker.into())
            }
        }
    }
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

    /// Returns the number within the run of the worker's connection `own`.
    #[inline]
    pub(crate) fn connection(&self, own: u32) -> u32 {
        self.partition.nth_connection(own)
    }

    /// Returns the number of the first `slots` slots of the run that belong to the worker.
    pub(crate) fn owned_below(&self, slots: u64) -> u64 {
        self.partition.owned_below(slots)
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
