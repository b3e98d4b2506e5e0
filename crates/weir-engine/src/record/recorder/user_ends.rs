//! Ends of the scenarios of users, and the steps that are no slots of the schedule.

use weir_io::Nanos;
use weir_result::{SlotPhase, StepCounts};

use super::Recorder;
use crate::exchange::DueStep;
use crate::time::Timeline;
use crate::users::{UserEnd, Users};

/// Requests of M that the schedule does not have: later steps of users. Filled in at the end.
#[derive(Debug, Default)]
pub(super) struct LaterSteps {
    /// Number of those that were sent.
    pub(super) sent: u64,
    /// Those that were due and never sent.
    pub(super) due: Vec<DueStep>,
    /// Counts of each step, of the users of M.
    pub(super) counts: Vec<StepCounts>,
}

impl Recorder {
    /// Counts the end of a user's scenario.
    pub(in crate::record) fn user_ended(&mut self, timeline: &Timeline, end: &UserEnd) {
        let Some(names) = &mut self.names else { return };
        if timeline.is_in_window(end.at) {
            names.user_completed(end, self.slices.at_event(end.at));
        }
        if end.phase == SlotPhase::Measured {
            names.resolve_user(end, self.slices.at(end.due_at));
        }
    }

    /// Returns the later steps of users that were due and never sent.
    pub(in crate::record) fn due_steps(&self) -> Vec<DueStep> {
        self.later.due.clone()
    }

    /// Counts the users that are left at the end of the run, and takes their steps.
    pub(in crate::record) fn end_users(
        &mut self,
        mut users: Users,
        timeline: &Timeline,
        end: Nanos,
    ) {
        for (ended, step) in users.finish(timeline, end) {
            self.user_ended(timeline, &ended);
            self.later.due.extend(step);
        }
        let (counts, sent) = users.into_counts();
        self.later.sent = sent;
        self.later.counts = counts;
    }
}
