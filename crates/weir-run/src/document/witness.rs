//! A few requests sent beside the load, on connections and a thread of their own: they see the
//! server as it is, without the client's queues (METHOD 1.9, C7).

use serde::{Deserialize, Serialize};

use super::intervals::{Column, Intervals};
use super::latency::Metric;
use super::timeline::SliceEntry;
use crate::histogram::Histogram;
use crate::measurements::{ByOutcome, Measurements};

/// What the witness saw, beside what the load saw.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WitnessSection {
    /// Its connections.
    pub connections: u64,
    /// Requests that it put on the wire, warm-up included.
    #[serde(default)]
    pub sent: u64,
    /// Its requests that ended as `ok`.
    pub requests: u64,
    /// Its median service time; null with too few requests.
    pub p50: Option<Estimate>,
    /// The load's median service time.
    pub main_p50: Option<Estimate>,
    /// The load's median as a multiple of the witness's; null where an end of an interval is not
    /// known.
    pub ratio: Option<RatioEstimate>,
    /// Its service times.
    pub service: Metric,
    /// The window in equal parts by planned time, with its response times.
    pub slices: Vec<SliceEntry>,
}

/// A time with its 95% interval within this run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    /// In nanoseconds.
    pub ns: u64,
    /// Lower end in nanoseconds.
    pub low_ns: u64,
    /// Upper end in nanoseconds.
    pub high_ns: u64,
}

/// A ratio with its 95% interval within this run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RatioEstimate {
    /// The ratio.
    pub ratio: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl WitnessSection {
    /// Of what the witness measured beside the load.
    pub(super) fn of(witness: &Measurements, main: &Measurements) -> WitnessSection {
        let p50 = median(witness);
        let main_p50 = median(main);
        let plain = |estimate: Estimate| {
            (estimate.low_ns as f64, estimate.ns as f64, estimate.high_ns as f64)
        };
        let ratio = main_p50
            .zip(p50)
            .and_then(|(main, witness)| weir_stats::ratio_interval(plain(main), plain(witness)));
        WitnessSection {
            connections: witness.connections.asked,
            sent: witness.sent.total(),
            requests: witness.service_time.ok.count(),
            p50,
            main_p50,
            ratio: ratio.map(|of| RatioEstimate { ratio: of.ratio, low: of.low, high: of.high }),
            service: Metric::of_one(&witness.service_time.ok),
            slices: witness.slices.iter().map(SliceEntry::of).collect(),
        }
    }

    pub(super) fn to_measurements(&self) -> Result<Measurements, String> {
        let mut witness = Measurements::default();
        witness.connections.asked = self.connections;
        witness.sent.measured = self.sent;
        witness.service_time.ok = self.service.alone("witness.service")?;
        for (index, slice) in self.slices.iter().enumerate() {
            let slice =
                slice.to_slice().map_err(|why| format!("witness.slices[{index}]: {why}"))?;
            witness.slices.push(slice);
        }
        Ok(witness)
    }
}

/// The median service time, with the interval that the slices' response times give its rank.
fn median(measurements: &Measurements) -> Option<Estimate> {
    let service: &Histogram = &measurements.service_time.ok;
    // Slices hold response times; the ranks at which their median's interval ends are those of the
    // service time's as nearly as one can know.
    let mut response = ByOutcome::default();
    measurements.slices.iter().for_each(|slice| response.ok.add(&slice.ok));
    let intervals = Intervals::of_slices(&response, &measurements.slices, Column::Ok, 0.0);
    let (low_p, high_p) = intervals.ranks_of(50.0)?;
    Some(Estimate {
        ns: service.percentile(50.0)?,
        low_ns: service.percentile(100.0 * low_p)?,
        high_ns: service.percentile(100.0 * high_p?)?,
    })
}
