//! Outcomes of all planned requests, and requests put on the wire. Six classes add up to the
//! planned count: the conservation law, which is checked before a document exists.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::absent::is_default;
use crate::failures::MissExample;
use crate::rules;

merged! {
    /// Counts of the six classes (METHOD 1.6), over the measured requests of a scope.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub struct Outcomes {
        /// Complete responses that count as success (`plan.success` or `plan.expect`; by default a
        /// status below 400).
        pub ok: u64 => rules::sum,
        /// Complete responses that do not count as success.
        pub bad_response: u64 => rules::sum,
        /// Requests that ended without a complete response: reset, closed, malformed.
        pub transport_error: u64 => rules::sum,
        /// Requests without a complete response within the timeout.
        pub timed_out: u64 => rules::sum,
        /// Requests sent, and still without a response when the run ended.
        pub in_flight_at_end: u64 => rules::sum,
        /// Requests due, and never sent.
        pub never_sent: u64 => rules::sum,
        /// Of `never_sent`: requests that were due while as many were in flight as allowed
        /// (`plan.load.in_flight_max`); absent if there are none.
        #[serde(default, skip_serializing_if = "is_default")]
        pub shed: u64 => rules::sum,
    }
}

/// Requests put on the wire, and what was seen of them beside their outcomes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Accounting {
    /// Requests put on the wire to the target, measured or not.
    pub sent: SentCounts,
    /// Measured requests without a response within the timeout, whatever their class. More than
    /// those that timed out if late responses were awaited; absent if there are none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub overdue: u64,
    /// Interim (1xx) responses, which end no request.
    pub interim_responses: u64,
    /// One example of each kind of missed expectation; absent if there are none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub miss_examples: BTreeMap<String, MissExample>,
}

impl Outcomes {
    /// Returns the six classes with their names, in the order of METHOD 1.6.
    pub fn classes(&self) -> [(&'static str, u64); 6] {
        [
            ("ok", self.ok),
            ("bad_response", self.bad_response),
            ("transport_error", self.transport_error),
            ("timed_out", self.timed_out),
            ("in_flight_at_end", self.in_flight_at_end),
            ("never_sent", self.never_sent),
        ]
    }

    /// Returns the sum of the six classes, which must equal the planned count.
    pub fn total(&self) -> u64 {
        self.classes().into_iter().map(|(_, count)| count).sum()
    }
}

counters! {
    /// Requests put on the wire, by phase.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    measured Sent;
    /// Requests put on the wire, by phase.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    stored SentCounts;

    /// Requests of the preflight, before the load.
    stored preflight: u64;
    /// Requests of the one-connection probe, before the load; absent without one.
    stored probe: u64, #[serde(default, skip_serializing_if = "is_default")];
    /// Requests due before t0 by plan.
    counter warmup: u64 => rules::sum;
    /// Planned requests that were sent.
    counter measured: u64 => rules::sum;
    /// Requests due in the drain by plan: they keep the load up until the planned ones are
    /// resolved.
    counter tail: u64 => rules::sum;
    /// Requests of the probe thread, which are in no other count of this section; absent without
    /// one.
    stored witness: u64, #[serde(default, skip_serializing_if = "is_default")];
    /// Repeated sends of requests that the peer had returned; absent if there are none.
    counter resent: u64 => rules::sum, #[serde(default, skip_serializing_if = "is_default")];
    /// Sum of all counts above.
    stored total: u64;
    /// Requests whose send failed before the kernel had taken all of their bytes, in none of the
    /// counts above; absent if there are none.
    counter failed: u64 => rules::sum, #[serde(default, skip_serializing_if = "is_default")];
    /// Of `total`: requests that the peer returned without processing them; absent if there are
    /// none.
    counter returned: u64 => rules::sum, #[serde(default, skip_serializing_if = "is_default")];
}

impl Sent {
    /// Returns the number of requests put on the wire, in all phases.
    pub fn total(&self) -> u64 {
        self.warmup + self.measured + self.tail + self.resent
    }
}
