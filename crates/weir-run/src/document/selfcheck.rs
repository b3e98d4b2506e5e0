//! The noise floor: what weir measured, on this machine, of a server within itself that answers at
//! once (METHOD 1.17). Nothing below can be told apart from it.

use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;
use crate::measurements::Measurements;
use crate::plan::{Plan, Rate};

/// What weir measured of a server within itself.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SelfcheckSection {
    /// The rate, over all threads: low, so that no request waits for another.
    pub rate: Rate,
    /// Connections over all threads.
    pub connections: u32,
    /// Workers.
    pub threads: u32,
    /// Requests measured.
    pub requests: u64,
    /// From the send to the last byte of the answer.
    pub service_time: Floor,
    /// From the planned time to the send.
    pub send_lag: Floor,
}

/// What remains of a time when there is nothing to wait for, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Floor {
    /// The median.
    pub p50_ns: u64,
    /// The 99th percentile.
    pub p99_ns: u64,
}

impl SelfcheckSection {
    /// Of what was measured by `plan` at `rate`; `None` where nothing was answered.
    pub fn of(plan: &Plan, rate: Rate, measurements: &Measurements) -> Option<SelfcheckSection> {
        let service_time = &measurements.service_time.ok;
        Some(SelfcheckSection {
            rate,
            connections: plan.connections,
            threads: plan.threads,
            requests: service_time.count(),
            service_time: Floor::of(service_time)?,
            send_lag: Floor::of(&measurements.send_lag.ok)?,
        })
    }

    /// The worse floor of two parts of a run: what the whole cannot go below.
    pub(super) fn worse(self, other: SelfcheckSection) -> SelfcheckSection {
        let is_worse = other.service_time.p50_ns > self.service_time.p50_ns;
        if is_worse { other } else { self }
    }
}

impl Floor {
    fn of(times: &Histogram) -> Option<Floor> {
        Some(Floor { p50_ns: times.percentile(50.0)?, p99_ns: times.percentile(99.0)? })
    }
}
