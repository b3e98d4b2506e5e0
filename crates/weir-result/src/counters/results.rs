//! Counts that the results of any scope are made of: of a run, of a stage, of a name of its list,
//! and of a name within a stage. Those of names, and of stages, add up to those of the run.

use std::collections::BTreeMap;

use super::{ByOutcome, MessageShare, Outcomes};
use crate::failures::{ErrorKind, MissKind};
use crate::rules::{self, Merge};

merged! {
    /// Counts of the slots of M of one scope.
    #[derive(Clone, Debug, Default)]
    pub struct ResultCounts {
        /// Slots of the scope; of a run |M|. Open loop: from the plan's formula and the order of a
        /// list, not from counting. Closed loop: dispatches in the window, counted at dispatch.
        pub planned: u64 => rules::sum,
        /// Their outcomes; they add up to `planned`.
        pub outcomes: Outcomes => rules::merge,
        /// Their responses by status code.
        pub status: BTreeMap<u16, u64> => rules::counts,
        /// Calls of gRPC with a complete response by the name of their status; of a run alone.
        pub grpc_status: BTreeMap<String, u64> => rules::counts,
        /// Those that ended as `transport_error`, by kind; they add up to that class.
        pub errors: BTreeMap<ErrorKind, u64> => rules::counts,
        /// Those that ended as `bad_response`, by the kind of expectation that was missed; with
        /// expectations they add up to that class. Empty without expectations and messages.
        pub missed: BTreeMap<MissKind, u64> => rules::counts,
        /// Complete responses inside `[t0, t1)`, whichever slots they belong to.
        pub completed: u64 => rules::sum,
        /// Of `completed`: responses that count as success.
        pub good: u64 => rules::sum,
        /// `Te − T0`. In a closed loop the same as `service_time`.
        pub response_time: ByOutcome => rules::merge,
        /// `Te − Ts`; slots never sent have none.
        pub service_time: ByOutcome => rules::merge,
        /// Messages of the responses, if they are measured.
        pub messages: Option<MessageShare> => rules::merge,
    }
}

impl ResultCounts {
    /// Adds the counts of another scope, or of another worker.
    pub fn add(&mut self, other: &ResultCounts) {
        self.merge(other);
    }
}
