//! The run over time: slices by planned time, for statistics, and the series by when things
//! happened, for display.

use super::rates::{per_second, seconds};
use super::throughput::planned_ns;
use super::{SeriesEntry, SeriesPhase, SliceEntry};
use crate::counters::{Interval, Slice};
use crate::plan::Plan;
use weir_stats::histogram::SparseHistogram;

impl SliceEntry {
    /// Length of the slice in nanoseconds; 0 if its ends are no times within a run.
    pub fn length_ns(&self) -> u64 {
        let ends = unsigned_ns(self.start_s).ok().zip(unsigned_ns(self.end_s).ok());
        ends.map_or(0, |(start_ns, end_ns)| end_ns.saturating_sub(start_ns))
    }

    pub(super) fn of(slice: &Slice) -> SliceEntry {
        SliceEntry {
            start_s: seconds(slice.start_ns),
            end_s: seconds(slice.end_ns),
            ..SliceEntry::from(slice)
        }
    }

    pub(super) fn to_slice(&self) -> Result<Slice, String> {
        Ok(Slice {
            start_ns: unsigned_ns(self.start_s)?,
            end_ns: unsigned_ns(self.end_s)?,
            ..Slice::from(self)
        })
    }
}

impl SeriesEntry {
    /// Returns the entry of an interval of a run in progress, without its histogram. It equals the
    /// document's, except for two things that are known only at the end: where an automatic warm-up
    /// ended, and where a window ended that its length does not end.
    pub fn of_running(interval: &Interval, plan: &Plan) -> SeriesEntry {
        SeriesEntry { latency: SparseHistogram::default(), ..SeriesEntry::of_agent(interval, plan) }
    }

    /// Returns the entry of an interval of one agent of a run of this plan.
    pub fn of_agent(interval: &Interval, plan: &Plan) -> SeriesEntry {
        SeriesEntry::of(interval, planned_ns(plan).map_or(f64::INFINITY, seconds))
    }

    pub(super) fn of(interval: &Interval, window_s: f64) -> SeriesEntry {
        let start_s = interval.start_ns as f64 / 1e9;
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
            sent_rps: per_second(interval.sent, interval.length_ns),
            completed_rps: per_second(interval.completed, interval.length_ns),
            bytes_per_second: per_second(interval.bytes_received, interval.length_ns),
            p50_ns: latency.percentile(50.0),
            p90_ns: latency.percentile(90.0),
            p99_ns: latency.percentile(99.0),
            max_ns: (!latency.is_empty()).then_some(latency.exact().max_ns),
            mean_ns: latency.mean_ns(),
            ..SeriesEntry::from(interval)
        }
    }

    pub(super) fn to_interval(&self) -> Result<Interval, String> {
        Ok(Interval {
            start_ns: signed_ns(self.start_s)?,
            length_ns: unsigned_ns(self.length_s)?,
            ..Interval::from(self)
        })
    }
}

/// Greatest time, in seconds, up to which floats are exact to the nanosecond (52 days); a run is
/// shorter.
const SECONDS_MAX: f64 = 4_500_000.0;

/// Returns the nanoseconds of a time within a run, exactly.
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
