//! Outcomes of all planned requests, and requests put on the wire. Six classes add up to the
//! planned count: the conservation law, which is checked before a document exists.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::absent::is_default;
use crate::failures::MissExample;
use crate::rules;

counters! {
    /// Counts of the six classes (METHOD 1.6), over the slots of M.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    measured Outcomes;
    /// Outcomes of all planned requests. `planned` is the sum of the six classes that follow it.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    stored Accounting;

    /// Measured requests. Open loop: due in `[t0, t1)` by plan. Closed loop: sent in it.
    stored planned: u64;
    /// Complete responses that count as success (`plan.success` or `plan.expect`; by default a
    /// status below 400).
    counter ok: u64 => rules::sum;
    /// Complete responses that do not count as success.
    counter bad_response: u64 => rules::sum;
    /// Requests that ended without a complete response: reset, closed, malformed.
    counter transport_error: u64 => rules::sum;
    /// Requests without a complete response within the timeout.
    counter timed_out: u64 => rules::sum;
    /// Requests sent, and still without a response when the run ended.
    counter in_flight_at_end: u64 => rules::sum;
    /// Requests due, and never sent.
    counter never_sent: u64 => rules::sum;
    /// Of `never_sent`: requests that were due while as many were in flight as allowed
    /// (`plan.load.in_flight_max`); absent if there are none.
    counter shed: u64 => rules::sum, #[serde(default, skip_serializing_if = "is_default")];
    /// Of `planned`: requests without a response within the timeout, whatever their class. More
    /// than `timed_out` if late responses were awaited; absent if there are none.
    stored overdue: u64, #[serde(default, skip_serializing_if = "is_default")];
    /// Of `ok` and `bad_response`: responses by status code.
    stored status: BTreeMap<u16, u64>;
    /// Of `ok` and `bad_response`: calls of gRPC by the name of their status, `none` without one;
    /// absent if there are none.
    stored grpc_status: BTreeMap<String, u64>,
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")];
    /// Of `transport_error`: requests by kind of error.
    stored errors: BTreeMap<String, u64>;
    /// Of `bad_response`: requests by the kind of expectation that their responses missed; absent
    /// if there are none.
    stored missed: BTreeMap<String, u64>,
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")];
    /// One example of each kind of `missed`; absent if there are none.
    stored miss_examples: BTreeMap<String, MissExample>,
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")];
    /// Requests put on the wire to the target, measured or not.
    stored sent: SentCounts;
    /// Interim (1xx) responses, which end no request.
    stored interim_responses: u64;
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
