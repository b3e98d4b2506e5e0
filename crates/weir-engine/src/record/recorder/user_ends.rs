//! Ends of the scenarios of users.

use weir_result::SlotPhase;

use super::Recorder;
use crate::time::Timeline;
use crate::users::UserEnd;

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
}
