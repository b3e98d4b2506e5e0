//! The run over time: slices by planned time, for statistics, and the series by when things
//! happened, for display.

use serde::{Deserialize, Serialize};

use super::latency::PackedHistogram;
use super::throughput::{per_second, seconds};
use crate::histogram::{Histogram, SparseHistogram};
use crate::measurements::{Interval, Slice};

/// One of the equal parts of the window: the requests due in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SliceEntry {
    /// Start of the slice, in seconds from t0.
    pub start_s: f64,
    /// End of the slice, in seconds from t0, exclusive.
    pub end_s: f64,
    /// Response time of its `ok` requests; null if there are none.
    pub ok: Option<PackedHistogram>,
    /// Response time, or age, of its other requests; null if there are none.
    pub not_ok: Option<PackedHistogram>,
    /// Requests sent during the slice.
    #[serde(default)]
    pub sent: u64,
    /// Complete responses during the slice, whichever requests they belong to.
    #[serde(default)]
    pub completed: u64,
    /// Of `completed`: responses that count as success (`plan.success`).
    #[serde(default)]
    pub good: u64,
    /// Requests in flight at the end of the slice.
    #[serde(default)]
    pub in_flight: u64,
    /// Requests due and unsent at the end of the slice.
    #[serde(default)]
    pub backlog: u64,
}

/// One interval of the run, by when things happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SeriesEntry {
    /// Phase in which the interval begins.
    pub phase: SeriesPhase,
    /// Start of the interval, in seconds from t0; negative during warm-up.
    pub start_s: f64,
    /// Length of the interval in seconds.
    pub length_s: f64,
    /// Requests sent.
    pub sent: u64,
    /// Complete responses.
    pub completed: u64,
    /// Of `completed`: responses that do not count as success.
    pub bad: u64,
    /// Requests that ended in a transport error.
    pub errors: u64,
    /// Requests that timed out.
    pub timed_out: u64,
    /// Bytes received.
    pub bytes_received: u64,
    /// Requests in flight at the end of the interval.
    pub in_flight: u64,
    /// Requests due and unsent at the end of the interval.
    pub backlog: u64,
    /// Requests sent per second.
    pub sent_rps: f64,
    /// Complete responses per second.
    pub completed_rps: f64,
    /// Bytes received per second.
    pub bytes_per_second: f64,
    /// Median response time (closed loop: service time) of `completed`, in nanoseconds; null if
    /// there are none.
    pub p50_ns: Option<u64>,
    /// 90th percentile of the same time.
    pub p90_ns: Option<u64>,
    /// 99th percentile of the same time, however few the responses are.
    pub p99_ns: Option<u64>,
    /// Greatest value of the same time.
    pub max_ns: Option<u64>,
    /// Mean of the same time.
    pub mean_ns: Option<f64>,
    /// Histogram of the same time; null if there are no responses.
    pub latency: Option<PackedHistogram>,
}

/// A phase of the series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SeriesPhase {
    /// Before t0.
    Warmup,
    /// From t0 to t1.
    Measured,
    /// From t1 on.
    Tail,
}

impl SliceEntry {
    pub(super) fn of(slice: &Slice) -> SliceEntry {
        SliceEntry {
            start_s: seconds(slice.start_ns),
            end_s: seconds(slice.end_ns),
            ok: PackedHistogram::of(&slice.ok),
            not_ok: PackedHistogram::of(&slice.not_ok),
            sent: slice.sent,
            completed: slice.completed,
            good: slice.good,
            in_flight: slice.in_flight,
            backlog: slice.backlog,
        }
    }

    pub(super) fn to_slice(&self) -> Result<Slice, String> {
        let unpack = |packed: &Option<PackedHistogram>| {
            packed.as_ref().map_or_else(|| Ok(Histogram::new()), PackedHistogram::unpack)
        };
        Ok(Slice {
            start_ns: unsigned_ns(self.start_s)?,
            end_ns: unsigned_ns(self.end_s)?,
            ok: unpack(&self.ok)?,
            not_ok: unpack(&self.not_ok)?,
            sent: self.sent,
            completed: self.completed,
            good: self.good,
            in_flight: self.in_flight,
            backlog: self.backlog,
        })
    }
}

impl SeriesEntry {
    pub(super) fn of(interval: &Interval, window_s: f64) -> SeriesEntry {
        let start_s = signed_seconds(interval.start_ns);
        let phase = match start_s {
            s if s < 0.0 => SeriesPhase::Warmup,
            s if s < window_s => SeriesPhase::Measured,
            _ => SeriesPhase::Tail,
        };
        let latency = interval.latency.to_histogram();
        SeriesEntry {
            phase,
            start_s,
            length_s: seconds(interval.length_ns),
            sent: interval.sent,
            completed: interval.completed,
            bad: interval.bad,
            errors: interval.errors,
            timed_out: interval.timed_out,
            bytes_received: interval.bytes_received,
            in_flight: interval.in_flight,
            backlog: interval.backlog,
            sent_rps: per_second(interval.sent, interval.length_ns),
            completed_rps: per_second(interval.completed, interval.length_ns),
            bytes_per_second: per_second(interval.bytes_received, interval.length_ns),
            p50_ns: latency.percentile(50.0),
            p90_ns: latency.percentile(90.0),
            p99_ns: latency.percentile(99.0),
            max_ns: (!latency.is_empty()).then_some(latency.exact().max_ns),
            mean_ns: latency.mean_ns(),
            latency: PackedHistogram::of_sparse(&interval.latency),
        }
    }

    pub(super) fn to_interval(&self) -> Result<Interval, String> {
        let latency = match &self.latency {
            None => SparseHistogram::default(),
            Some(packed) => SparseHistogram::from_histogram(&packed.unpack()?)
                .ok_or("an interval counts more than 32 bits hold")?,
        };
        Ok(Interval {
            start_ns: signed_ns(self.start_s)?,
            length_ns: unsigned_ns(self.length_s)?,
            sent: self.sent,
            completed: self.completed,
            bad: self.bad,
            errors: self.errors,
            timed_out: self.timed_out,
            bytes_received: self.bytes_received,
            in_flight: self.in_flight,
            backlog: self.backlog,
            latency,
        })
    }
}

/// Greatest time, in seconds, up to which floats are exact to the nanosecond (52 days); a run is
/// shorter.
const SECONDS_MAX: f64 = 4_500_000.0;

fn signed_seconds(ns: i64) -> f64 {
    ns as f64 / 1e9
}

/// Returns the nanoseconds that [`signed_seconds`] was made of, exactly.
fn signed_ns(seconds: f64) -> Result<i64, String> {
    if seconds.is_finite() && seconds.abs() <= SECONDS_MAX {
        Ok((seconds * 1e9).round() as i64)
    } else {
        Err(format!("{seconds:e} s is no time within a run"))
    }
}

fn unsigned_ns(seconds: f64) -> Result<u64, String> {
    u64::try_from(signed_ns(seconds)?).map_err(|_| format!("{seconds:e} s is negative"))
}
