//! The latency against the planned rate, of a load whose rate changes by plan.

use weir_result::document::{SliceEntry, StageSection};
use weir_result::quantile::Bound;
use weir_result::{Document, Stage};

use crate::view::{Axis, AxisUnit, Mark, Plot, Role};

/// Least ratio of the greatest to the least rate that is a change.
const CHANGE: f64 = 1.01;

/// Percentiles with a line of their own.
const LINES: [(&str, f64, Role); 2] = [("p50", 50.0, Role::Main), ("p99", 99.0, Role::Second)];

/// Latencies at a rate.
struct RatePoint {
    /// Planned requests per second.
    rps: f64,
    /// Value of each of [`LINES`] in nanoseconds.
    ns: Vec<Option<f64>>,
}

/// Plots percentiles of the response time against the planned rate, a point for each stage with a
/// constant rate, and for each slice of a ramp; `None` if the rate does not change.
pub(super) fn latency(document: &Document) -> Option<Plot> {
    let stages = document.plan.load.stages().iter().zip(&document.stages);
    let mut points: Vec<RatePoint> = stages
        .flat_map(|(planned, stage)| match planned.from.rps() == planned.to.rps() {
            true => vec![RatePoint::of_stage(stage)],
            false => of_ramp(document, planned, stage),
        })
        .filter(|point| point.ns.iter().any(Option::is_some))
        .collect();
    points.sort_by(|a, b| a.rps.total_cmp(&b.rps));
    if points.last()?.rps < CHANGE * points.first()?.rps {
        return None;
    }
    let line = |(index, (name, _, role)): (usize, (&str, f64, Role))| {
        Mark::line(name, role, points.iter().map(|point| (point.rps, point.ns[index])))
    };
    let marks = LINES.into_iter().enumerate().map(line).collect();
    let about = "The response time at each planned rate. Where the lines leave their floor, \
                 requests began to queue.";
    let axes = [
        Axis::linear("Planned requests per second", AxisUnit::PerSecond),
        Axis::log("Time", AxisUnit::Nanoseconds),
    ];
    Some(Plot::new(["latency-by-rate", "Latency against the rate"], about, axes, marks))
}

impl RatePoint {
    /// A stage with a constant rate. A percentile that falls on a failure has no place.
    fn of_stage(stage: &StageSection) -> RatePoint {
        let summary = stage.results.response_time.headline();
        let value = |(_, p, _): (&str, f64, Role)| {
            let value = summary.percentile(p)?;
            let is_time = matches!(value.bound, Bound::Exact | Bound::Upper);
            is_time.then_some(value.ns.max(1) as f64)
        };
        RatePoint { rps: stage.planned_rps, ns: LINES.map(value).to_vec() }
    }

    /// A slice of a ramp, in the middle of which the rate is `rps`.
    fn of_slice(slice: &SliceEntry, rps: f64) -> RatePoint {
        let value = |(_, p, _): (&str, f64, Role)| {
            Some(slice.ok.percentile(p).filter(|_| !slice.ok.is_empty())?.max(1) as f64)
        };
        RatePoint { rps, ns: LINES.map(value).to_vec() }
    }
}

/// Returns a point for each slice of a ramp.
fn of_ramp(document: &Document, planned: &Stage, stage: &StageSection) -> Vec<RatePoint> {
    let is_within = |slice: &&SliceEntry| {
        (stage.start_s..stage.end_s).contains(&slice.start_s)
            && slice.end_s <= document.throughput.window_s
    };
    let at = |slice: &SliceEntry| {
        let middle_s = (slice.start_s + slice.end_s) / 2.0 - stage.start_s;
        planned.rps_at((middle_s * 1e9) as u64)
    };
    let slices = document.slices.iter().filter(is_within);
    slices.map(|slice| RatePoint::of_slice(slice, at(slice))).collect()
}
