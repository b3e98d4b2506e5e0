//! The phases of a run as its coordinator sees them, and what is due repeatedly in each. Times are
//! nanoseconds of its clock; this file reads none.

use crate::message::FromAgent;

/// Phase of a run.
#[derive(Debug)]
pub(crate) enum RunPhase {
    Gathering {
        until_ns: u64,
    },
    /// The agents are chosen, and the run is being planned for them.
    Gathered,
    Preparing {
        until_ns: u64,
    },
    /// All are ready, and are asked to begin at a time.
    Arming {
        at_ns: u64,
    },
    /// All have answered: each begins, unless it cannot be told so.
    Loading {
        at_ns: u64,
        /// Since when they are told to stop.
        stopping_from_ns: Option<u64>,
    },
    GivingUp {
        until_ns: u64,
        reasons: Vec<String>,
    },
    Over,
}

impl RunPhase {
    /// True if a message can be meant for this phase: one that comes in another is late, or false,
    /// and changes nothing.
    pub(crate) fn admits(&self, message: &FromAgent) -> bool {
        match message {
            FromAgent::Hello(_) | FromAgent::Claim => false,
            FromAgent::Clock { .. } => true,
            FromAgent::Ready { .. } => matches!(self, RunPhase::Preparing { .. }),
            FromAgent::Refused { .. } => {
                matches!(self, RunPhase::Preparing { .. } | RunPhase::Arming { .. })
            }
            FromAgent::Armed { .. } => matches!(self, RunPhase::Arming { .. }),
            FromAgent::Working { .. } => matches!(self, RunPhase::Loading { .. }),
            FromAgent::Ended { .. } => matches!(
                self,
                RunPhase::Preparing { .. }
                    | RunPhase::Arming { .. }
                    | RunPhase::Loading { .. }
                    | RunPhase::GivingUp { .. }
            ),
        }
    }
}

/// When something repeated is due next.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    pub(crate) repeat_ns: u64,
    pub(crate) alive_ns: u64,
    pub(crate) clocks_ns: u64,
}

impl Timers {
    /// True if what `next_ns` tells is due; it is due again after `every_ns`.
    pub(crate) fn is_due(next_ns: &mut u64, now_ns: u64, every_ns: u64) -> bool {
        let is_due = now_ns >= *next_ns;
        if is_due {
            *next_ns = now_ns + every_ns;
        }
        is_due
    }
}
