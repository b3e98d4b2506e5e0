//! Rates: what was offered, sent and completed per second of the window (METHOD 1.7).

use serde::{Deserialize, Serialize};

use super::Phases;
use super::recorded::Recorded;
use crate::plan::{Load, Plan};

/// Rates over the window, by when things happened: an answer counts when it came inside the window,
/// whichever request it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Throughput {
    /// Length of the window in seconds: as planned when a duration alone ended the run, else from
    /// the first t0 to the last t1 that a worker observed.
    pub window_s: f64,
    /// Planned requests per second; null in a closed loop, which offers none.
    pub offered_rps: Option<f64>,
    /// Requests sent inside the window.
    pub sent: u64,
    /// Requests sent per second.
    pub sent_rps: f64,
    /// Complete answers inside the window.
    pub completed: u64,
    /// Complete answers per second.
    pub completed_rps: f64,
    /// Of `completed`: with a status below 400.
    pub good: u64,
    /// Good answers per second.
    pub good_rps: f64,
    /// Bytes received inside the window, heads included.
    pub bytes_received: u64,
    /// Bytes received per second.
    pub bytes_per_second: f64,
}

impl Throughput {
    pub(super) fn of(plan: &Plan, recorded: &Recorded) -> Throughput {
        let measurements = &recorded.measurements;
        let window = &measurements.window;
        let window_ns = window_ns(plan, measurements.interrupted, &recorded.phases);
        let planned_rps = per_second(measurements.planned, window_ns);
        Throughput {
            window_s: seconds(window_ns),
            offered_rps: matches!(plan.load, Load::OpenLoop { .. }).then_some(planned_rps),
            sent: window.sent,
            sent_rps: per_second(window.sent, window_ns),
            completed: window.completed,
            completed_rps: per_second(window.completed, window_ns),
            good: window.good,
            good_rps: per_second(window.good, window_ns),
            bytes_received: window.bytes_received,
            bytes_per_second: per_second(window.bytes_received, window_ns),
        }
    }
}

/// The window's length. A run that its duration ended has the planned one; observed times only add
/// the lateness of clock readings. Each part has its own epoch, so that parts are never subtracted.
fn window_ns(plan: &Plan, interrupted: bool, phases: &[Phases]) -> u64 {
    match (plan.duration_ns, plan.requests) {
        (Some(duration_ns), None) if !interrupted => return duration_ns,
        _ => {}
    }
    let observed = |part: u32| {
        let of_part = || phases.iter().filter(move |worker| worker.part == part);
        let t0 = of_part().map(|worker| worker.t0_ns).min().unwrap_or(0);
        let t1 = of_part().map(|worker| worker.t1_ns).max().unwrap_or(0);
        // A run interrupted before t0 has no window.
        t1.saturating_sub(t0)
    };
    phases.iter().map(|worker| observed(worker.part)).max().unwrap_or(0)
}

/// A count per second over a span; nothing happens in no time.
pub(super) fn per_second(count: u64, span_ns: u64) -> f64 {
    if span_ns == 0 { 0.0 } else { count as f64 / seconds(span_ns) }
}

/// Nanoseconds as seconds, rounded to the nearest float: exact to the nanosecond for 52 days.
pub(super) fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
