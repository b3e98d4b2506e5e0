//! Outcomes of all planned requests. Six classes add up to the planned count: the conservation law,
//! which is checked before a document exists.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::recorded::Recorded;
use crate::measurements::Outcomes;

/// Outcomes of all planned requests. `planned` is the sum of the six classes that follow it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Accounting {
    /// Measured requests. Open loop: due in `[t0, t1)` by plan. Closed loop: sent in it.
    pub planned: u64,
    /// Complete responses that count as success (`plan.success`; by default a status below 400).
    pub ok: u64,
    /// Complete responses that do not count as success.
    pub bad_response: u64,
    /// Requests that ended without a complete response: reset, closed, malformed.
    pub transport_error: u64,
    /// Requests without a complete response within the timeout.
    pub timed_out: u64,
    /// Requests sent, and still without a response when the run ended.
    pub in_flight_at_end: u64,
    /// Requests due, and never sent.
    pub never_sent: u64,
    /// Of `planned`: requests without a response within the timeout, whatever their class. More
    /// than `timed_out` if late responses were awaited; absent if there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub overdue: u64,
    /// Of `ok` and `bad_response`: responses by status code.
    pub status: BTreeMap<u16, u64>,
    /// Of `transport_error`: requests by kind of error.
    pub errors: BTreeMap<String, u64>,
    /// Requests put on the wire to the target, measured or not.
    pub sent: SentCounts,
    /// Interim (1xx) responses, which end no request.
    pub interim_responses: u64,
}

/// Requests put on the wire, by phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SentCounts {
    /// Requests of the preflight, before the load.
    pub preflight: u64,
    /// Requests of the one-connection probe, before the load; absent without one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub probe: u64,
    /// Requests due before t0 by plan.
    pub warmup: u64,
    /// Planned requests that were sent.
    pub measured: u64,
    /// Requests due in the drain by plan: they keep the load up until the planned ones are
    /// resolved.
    pub tail: u64,
    /// Requests of the probe thread, which are in no other count of this section; absent without
    /// one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub witness: u64,
    /// Repeated sends of requests that the peer had returned; absent if there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub resent: u64,
    /// Sum of all counts above.
    pub total: u64,
    /// Requests whose send failed before the kernel had taken all of their bytes, in none of the
    /// counts above; absent if there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed: u64,
    /// Of `total`: requests that the peer returned without processing them; absent if there are
    /// none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub returned: u64,
}

impl Accounting {
    pub(super) fn of(recorded: &Recorded) -> Accounting {
        let measurements = &recorded.measurements;
        let outcomes = &measurements.outcomes;
        let sent = &measurements.sent;
        let beside = recorded.witness.as_ref().map(|witness| witness.sent).unwrap_or_default();
        let (preflight, probe, witness) =
            (recorded.preflight_sent, recorded.probe.sent, beside.total());
        Accounting {
            planned: measurements.planned,
            ok: outcomes.ok,
            bad_response: outcomes.bad_response,
            transport_error: outcomes.transport_error,
            timed_out: outcomes.timed_out,
            in_flight_at_end: outcomes.in_flight_at_end,
            never_sent: outcomes.never_sent,
            overdue: measurements.overdue,
            status: measurements.status.clone(),
            errors: recorded.errors.clone(),
            sent: SentCounts {
                preflight,
                probe,
                warmup: sent.warmup,
                measured: sent.measured,
                tail: sent.tail,
                witness,
                total: preflight + probe + sent.total() + witness,
                failed: sent.failed + recorded.probe.failed + beside.failed,
                resent: sent.resent,
                returned: sent.returned,
            },
            interim_responses: measurements.interim_responses,
        }
    }

    /// Counts of the six classes.
    pub(super) fn outcomes(&self) -> Outcomes {
        Outcomes {
            ok: self.ok,
            bad_response: self.bad_response,
            transport_error: self.transport_error,
            timed_out: self.timed_out,
            in_flight_at_end: self.in_flight_at_end,
            never_sent: self.never_sent,
        }
    }
}

pub(super) fn is_zero(count: &u64) -> bool {
    *count == 0
}
