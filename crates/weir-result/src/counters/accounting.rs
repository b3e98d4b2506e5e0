//! Requests put on the wire.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::absent::is_default;
use crate::failures::MissExample;
use crate::rules;

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
    /// Requests of the setup of scenarios, before the load and during it; absent without one.
    stored setup: u64, #[serde(default, skip_serializing_if = "is_default")];
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
