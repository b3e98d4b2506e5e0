//! Rates: requests offered and sent per second of the window (METHOD 1.7).

use super::rates::{per_second, seconds};
use super::recorded::Recorded;
use super::{Phases, Throughput};
use crate::plan::{Arrivals, Plan};

impl Throughput {
    /// Computes the rates of the `share` of the plan's load that was recorded.
    pub(super) fn of(plan: &Plan, share: f64, recorded: &Recorded) -> Throughput {
        let measurements = &recorded.measurements;
        let window = &measurements.window;
        let stopped = measurements.script.as_ref().is_some_and(|script| script.stopped > 0);
        let is_cut = measurements.interrupted || stopped;
        let window_ns = window_ns(plan, is_cut, &recorded.phases);
        Throughput {
            window_s: seconds(window_ns),
            offered_rps: plan.load.rate().map(|rate| share * rate.rps()),
            sent_rps: per_second(window.sent, window_ns),
            bytes_per_second: per_second(window.bytes_received, window_ns),
            ..Throughput::from(window)
        }
    }
}

/// Length of the window: as planned if the plan alone ends the window, else from the planned t0 to
/// the last t1 that a worker observed. Each part has its own epoch, so that times of different
/// parts are never subtracted.
pub(super) fn window_ns(plan: &Plan, is_cut: bool, phases: &[Phases]) -> u64 {
    let planned_ns = planned_ns(plan);
    let is_planned = plan.load.requests.is_none() || by_count_ns(plan).is_some();
    if let (Some(planned_ns), true, false) = (planned_ns, is_planned, is_cut) {
        return planned_ns;
    }
    // A run interrupted before t0 has no window.
    let observed =
        |worker: &Phases| worker.t1_ns.saturating_sub(worker.start_ns + plan.load.warmup.span_ns);
    let observed_ns = phases.iter().map(observed).max().unwrap_or(0);
    observed_ns.min(planned_ns.unwrap_or(u64::MAX))
}

/// End of the window by the plan, in nanoseconds from t0.
pub(super) fn planned_ns(plan: &Plan) -> Option<u64> {
    plan.load.length_ns().into_iter().chain(by_count_ns(plan)).min()
}

/// Duration of a number of evenly spaced requests: that many gaps.
fn by_count_ns(plan: &Plan) -> Option<u64> {
    let is_even = plan.load.arrivals() == Some(Arrivals::Uniform);
    let rate = plan.load.constant_rate().filter(|_| is_even)?;
    let billions = u128::from(plan.load.requests?) * u128::from(rate.denominator) * 1_000_000_000;
    u64::try_from(billions / u128::from(rate.numerator)).ok()
}
