//! The probe thread: a few requests beside the load, on connections and a thread of their own. They
//! measure the server without the client's queues (METHOD 1.9, `probe-thread`).

use serde::{Deserialize, Serialize};
use weir_stats::{ValueInterval, ratio_interval};

use super::SliceEntry;
use super::intervals::{Intervals, Selection};
use super::latency::Metric;
use crate::counters::ByOutcome;
use crate::measurements::Measurements;
use crate::shape::each;
use weir_stats::histogram::Histogram;

/// Probe thread: its measurements, compared with the load's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WitnessSection {
    /// Connections of the probe thread.
    pub connections: u64,
    /// Requests of the probe thread put on the wire, warm-up included.
    #[serde(default)]
    pub sent: u64,
    /// Requests of the probe thread that ended as `ok`.
    pub requests: u64,
    /// Median service time of the probe thread; null with too few requests.
    pub p50: Option<TimeEstimate>,
    /// Median service time of the load; null with too few requests.
    pub main_p50: Option<TimeEstimate>,
    /// Median of the load as a multiple of the probe thread's; null if an end of an interval is not
    /// known.
    pub ratio: Option<RatioEstimate>,
    /// Service times of the probe thread.
    pub service: Metric,
    /// Equal parts of the window by planned time, with response times of the probe thread.
    pub slices: Vec<SliceEntry>,
}

/// A time with its 95% interval within this run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimeEstimate {
    /// Value in nanoseconds.
    pub ns: u64,
    /// Lower end of the interval in nanoseconds.
    pub low_ns: u64,
    /// Upper end of the interval in nanoseconds.
    pub high_ns: u64,
}

/// A ratio with its 95% interval within this run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RatioEstimate {
    /// Value of the ratio.
    pub ratio: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl WitnessSection {
    /// Makes the section from the measurements of the probe thread and of the load.
    pub(super) fn of(witness: &Measurements, main: &Measurements) -> WitnessSection {
        let p50 = median(witness);
        let main_p50 = median(main);
        let plain = |estimate: TimeEstimate| ValueInterval {
            low: estimate.low_ns as f64,
            value: estimate.ns as f64,
            high: estimate.high_ns as f64,
        };
        let ratio = main_p50
            .zip(p50)
            .and_then(|(main, witness)| ratio_interval(plain(main), plain(witness)));
        WitnessSection {
            connections: witness.connections.requested,
            sent: witness.sent.total(),
            requests: witness.results.service_time.ok.count(),
            p50,
            main_p50,
            ratio: ratio.map(|of| RatioEstimate { ratio: of.value, low: of.low, high: of.high }),
            service: Metric::of_one(&witness.results.service_time.ok),
            slices: witness.slices.iter().map(SliceEntry::of).collect(),
        }
    }

    pub(super) fn to_measurements(&self) -> Result<Measurements, String> {
        let mut witness = Measurements::default();
        witness.connections.requested = self.connections;
        witness.sent.measured = self.sent;
        witness.results.service_time.ok = self.service.alone("witness.service")?;
        witness.slices = each("witness.slices", &self.slices, SliceEntry::to_slice)?;
        Ok(witness)
    }
}

/// Returns the median service time, with the interval that the slices' response times give its
/// rank.
fn median(measurements: &Measurements) -> Option<TimeEstimate> {
    let service: &Histogram = &measurements.results.service_time.ok;
    // Slices hold response times; the ranks at which their median's interval ends are the best
    // known estimate of the service time's.
    let mut response = ByOutcome::default();
    measurements.slices.iter().for_each(|slice| response.ok.add(&slice.ok));
    let intervals = Intervals::of_slices(&response, &measurements.slices, Selection::Ok, 0.0);
    let (low_p, high_p) = intervals.ranks_of(50.0)?;
    Some(TimeEstimate {
        ns: service.percentile(50.0)?,
        low_ns: service.percentile(100.0 * low_p)?,
        high_ns: service.percentile(100.0 * high_p?)?,
    })
}
