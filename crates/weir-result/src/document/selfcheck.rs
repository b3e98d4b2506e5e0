//! The noise floor: weir's own times on this machine, against a server in the same process that
//! responds at once (METHOD 1.17). Times below it cannot be distinguished.

use serde::{Deserialize, Serialize};

use crate::measurements::Measurements;
use crate::plan::{Plan, Rate};
use weir_stats::histogram::Histogram;

/// Noise floor: weir's measurements of a server in its own process.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SelfcheckSection {
    /// Rate over all threads: low, so that no request waits for another.
    pub rate: Rate,
    /// Connections over all threads.
    pub connections: u32,
    /// Number of workers.
    pub threads: u32,
    /// Number of measured requests.
    pub requests: u64,
    /// Time from the send to the last byte of the response.
    pub service_time: Floor,
    /// Time from the planned to the actual send.
    pub send_lag: Floor,
}

/// Least measurable value of a time, with nothing to wait for, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Floor {
    /// Median in nanoseconds.
    pub p50_ns: u64,
    /// 99th percentile in nanoseconds.
    pub p99_ns: u64,
}

impl SelfcheckSection {
    /// Makes the section from a run of `plan` at `rate`; `None` if there was no response.
    pub fn of(plan: &Plan, rate: Rate, measurements: &Measurements) -> Option<SelfcheckSection> {
        let service_time = &measurements.results.service_time.ok;
        Some(SelfcheckSection {
            rate,
            connections: plan.load.connections.count(),
            threads: plan.threads,
            requests: service_time.count(),
            service_time: Floor::of(service_time)?,
            send_lag: Floor::of(&measurements.send_lag.ok)?,
        })
    }

    /// Returns the worse floor of two parts of a run, which limits the whole.
    pub(super) fn worse(self, other: SelfcheckSection) -> SelfcheckSection {
        // Of equal medians the rest decides, so that the order of merging does not.
        let rank = |of: &SelfcheckSection| {
            let service = of.service_time;
            let lag = of.send_lag;
            (service.p50_ns, service.p99_ns, lag.p50_ns, lag.p99_ns, of.requests, of.threads)
        };
        std::cmp::max_by_key(self, other, rank)
    }
}

impl Floor {
    fn of(times: &Histogram) -> Option<Floor> {
        Some(Floor { p50_ns: times.percentile(50.0)?, p99_ns: times.percentile(99.0)? })
    }
}
