//! Facts of a run that has ended, by which the slots that were never sent are counted.

use weir_io::Nanos;

use crate::job::Turns;
use crate::time::Timeline;

/// Facts beside the schedule that decide the number of planned requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlanFacts {
    pub(crate) timeline: Timeline,
    /// Requests, or users, that a closed loop had to measure and did not send. In an open loop 0:
    /// its plan has them.
    pub(crate) missing: u64,
    /// True if the window ended early. Some requests may then have been sent beyond its end:
    /// requests of one string leave before their slots, and a busy worker detects the end late.
    pub(crate) is_cut: bool,
    /// The worker's turns of a list in a closed loop, and the number of those that it took.
    pub(crate) listed: (Turns, u64),
    /// End of sending: the age of a slot that was never sent counts up to here.
    pub(crate) unsent_until: Nanos,
}
