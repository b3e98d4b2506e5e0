//! Ends of users, as the record gets them.

use weir_io::Nanos;
use weir_result::{MissKind, SlotPhase};

use crate::exchange::Outcome;

/// The end of a user's scenario.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UserEnd {
    /// Index of the scenario.
    pub(crate) scenario: u16,
    /// Due time of the first step.
    pub(crate) due_at: Nanos,
    /// Phase in which the user arrived.
    pub(crate) phase: SlotPhase,
    /// Sum of the response times of the steps, in nanoseconds.
    pub(crate) answered_ns: u64,
    /// Outcome of the last step; that of a user in progress at the end of the run is
    /// [`Outcome::InFlightAtEnd`].
    pub(crate) outcome: Outcome,
    /// Kind of what its response missed, if it is a bad one.
    pub(crate) missed: Option<MissKind>,
    pub(crate) at: Nanos,
}
