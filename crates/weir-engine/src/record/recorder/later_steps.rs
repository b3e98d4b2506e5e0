//! Steps of users that are no slots of the schedule.

use weir_result::StepCounts;

use crate::exchange::DueStep;

/// Requests of M that the schedule does not have: later steps of users. Filled in at the end.
#[derive(Clone, Debug, Default)]
pub(in crate::record) struct LaterSteps {
    /// Number of those that were sent.
    pub(in crate::record) sent: u64,
    /// Those that were due and never sent.
    pub(in crate::record) due: Vec<DueStep>,
    /// Counts of each step, of the users of M.
    pub(in crate::record) counts: Vec<StepCounts>,
}
