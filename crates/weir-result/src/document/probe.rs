//! The one-connection probe: the service time of the target without any load, measured before the
//! warm-up as the baseline for the `Limit` line (METHOD 1.9). This module uses no clock and no
//! socket.

use serde::{Deserialize, Serialize};

use crate::measurements::Measurements;

/// The one-connection probe as it ran; all zero if it did not run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Probed {
    /// Requests put on the wire.
    pub sent: u64,
    /// Requests whose send failed.
    pub failed: u64,
    /// Of `sent`: requests that the peer returned without processing them.
    pub returned: u64,
    /// Complete responses; more than the result has if the probe was repeated.
    pub answered: u64,
    /// Successful connects.
    pub connects: u64,
    /// Result of the probe, if a response came in time.
    pub section: Option<ProbeSection>,
}

/// One-connection probe: a closed loop over one connection before the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProbeSection {
    /// Requests put on the wire.
    pub requests: u64,
    /// Of `requests`: complete responses that count as success (`plan.success`).
    pub ok: u64,
    /// Successful connects.
    pub connects: u64,
    /// Service times of all complete responses.
    pub service_time: ProbeTimes,
    /// Duration of the probe in nanoseconds, connecting included.
    pub elapsed_ns: u64,
}

/// Service times of the probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProbeTimes {
    /// Number of complete responses.
    pub count: u64,
    /// Least service time in nanoseconds.
    pub min_ns: u64,
    /// Median service time in nanoseconds.
    pub p50_ns: u64,
    /// 90th percentile of the service time in nanoseconds.
    pub p90_ns: u64,
    /// Greatest service time in nanoseconds.
    pub max_ns: u64,
}

impl Probed {
    /// Makes the probe's result from the engine's measurements of it.
    pub fn of(measurements: &Measurements, elapsed_ns: u64) -> Probed {
        let sent = measurements.sent.total();
        let connects = measurements.connections.connects;
        let mut times = measurements.results.service_time.ok.clone();
        times.add(&measurements.results.service_time.bad);
        let percentile = |p| times.percentile(p);
        let service_time = percentile(50.0).zip(percentile(90.0)).map(|(p50_ns, p90_ns)| {
            let exact = times.exact();
            let min_ns = exact.min_ns;
            let max_ns = exact.max_ns;
            ProbeTimes { count: exact.count, min_ns, p50_ns, p90_ns, max_ns }
        });
        let ok = measurements.results.service_time.ok.count();
        let section = service_time.map(|service_time| ProbeSection {
            requests: sent,
            ok,
            connects,
            service_time,
            elapsed_ns,
        });
        let answered = times.count();
        let failed = measurements.sent.failed;
        let returned = measurements.sent.returned;
        Probed { sent, failed, returned, answered, connects, section }
    }

    /// Adds the probe of another part: counts add up, and the result with the lower median remains,
    /// which had less in its way.
    pub(super) fn add(&mut self, other: &Probed) {
        self.sent += other.sent;
        self.failed += other.failed;
        self.returned += other.returned;
        self.answered += other.answered;
        self.connects += other.connects;
        let sections = self.section.into_iter().chain(other.section);
        self.section = sections.min_by_key(|section| (section.service_time.p50_ns, *section));
    }
}
