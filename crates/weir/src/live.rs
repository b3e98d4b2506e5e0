//! A run while it goes: the progress line for people; metrics and lines for programs.

mod endpoint;
mod lines;
mod metrics;
mod progress;
mod scrapers;
mod totals;

use weir_result::{Interval, Load, Plan};

pub(crate) use endpoint::LiveEndpoint;
pub(crate) use lines::Lines;
pub(crate) use progress::Progress;
pub(crate) use scrapers::Scrapers;
pub(crate) use totals::{SharedTotals, Stage, Totals};

/// Remaining time of the drain, in nanoseconds, at `now_ns` from t0; `None` before it begins.
pub(crate) fn drain_left_ns(plan: &Plan, now_ns: i64) -> Option<u64> {
    let window_ns = plan.duration_ns?;
    let now_ns = u64::try_from(now_ns).ok().filter(|now_ns| *now_ns >= window_ns)?;
    Some(window_ns.saturating_add(plan.drain_limit_ns()).saturating_sub(now_ns))
}

/// Planned rate of this part of the run, in requests per second; `None` in a closed loop.
pub(crate) fn own_rate_rps(plan: &Plan) -> Option<f64> {
    let Load::OpenLoop { rate, .. } = plan.load else { return None };
    Some(rate.rps() * f64::from(plan.own_connections()) / f64::from(plan.connections))
}

/// End of an interval, in nanoseconds from t0.
fn end_ns(interval: &Interval) -> i64 {
    interval.start_ns.saturating_add_unsigned(interval.length_ns)
}

#[cfg(test)]
pub(crate) mod tests;
