//! Growth: connections that are opened while the load runs, because no open one has room for a slot
//! that is due. It never closes one, and knows no slots.

use std::ops::Range;

use weir_io::ConnId;

use super::ConnectionLimits;
use super::open_queue::{CONNECTING_MAX, OpenQueue};

/// The connections of one worker that have never been opened.
#[derive(Debug)]
pub(crate) struct Growth {
    left: Range<u32>,
    /// Slots that a connection takes at a time.
    depth: u16,
}

impl Growth {
    /// Returns the growth from the initial connections to all; none if the others come at planned
    /// times.
    pub(super) fn new(limits: &ConnectionLimits, is_staged: bool) -> Growth {
        let from = if is_staged { limits.connections } else { limits.initial };
        Growth { left: from..limits.connections, depth: limits.depth }
    }

    /// True if a connection is left to open.
    pub(super) fn is_possible(&self) -> bool {
        !self.left.is_empty()
    }

    /// Returns the number of slots that the connections being opened will take: those in the queue,
    /// and `connecting` others. `None` if no further one may be opened now: none is left, or as
    /// many wait as may connect at once. With a connect rate one at most waits for its turn.
    pub(super) fn slots_awaited(&self, queue: &OpenQueue, connecting: u32) -> Option<u64> {
        let opening = queue.len() + u64::from(connecting);
        let is_full = match queue.pace {
            Some(_) => !queue.is_empty(),
            None => opening >= u64::from(CONNECTING_MAX),
        };
        (self.is_possible() && !is_full).then(|| opening * u64::from(self.depth))
    }

    /// Takes the next connection to open.
    pub(super) fn take(&mut self) -> Option<ConnId> {
        self.left.next().map(ConnId)
    }
}
