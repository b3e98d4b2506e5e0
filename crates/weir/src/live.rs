//! A run while it goes: the progress line for people; metrics and lines for programs.

mod endpoint;
mod lines;
mod metrics;
mod progress;
mod scrapers;
mod totals;

use weir_report::prometheus::label_values;
use weir_result::{NameTotals, Plan};
use weir_runner::{LiveOverhead, RecentFrames};

pub(crate) use endpoint::LiveEndpoint;
pub(crate) use lines::Lines;
pub(crate) use progress::Progress;
pub(crate) use scrapers::Scrapers;
pub(crate) use totals::{AgentTotals, LivePhase, SharedTotals, Totals};

/// Remaining time of the drain, in nanoseconds, at `now_ns` from t0; `None` before it begins.
pub(crate) fn drain_left_ns(plan: &Plan, now_ns: i64) -> Option<u64> {
    let window_ns = plan.load.length_ns()?;
    let now_ns = u64::try_from(now_ns).ok().filter(|now_ns| *now_ns >= window_ns)?;
    Some(window_ns.saturating_add(plan.drain_limit_ns()).saturating_sub(now_ns))
}

/// Planned rate of this part of the run at `now_ns` from t0, in requests per second; `None` in a
/// closed loop and in a replay.
pub(crate) fn own_rate_rps(plan: &Plan, now_ns: Option<i64>) -> Option<f64> {
    // The rate of a replayed log changes with each request.
    if plan.load.log().is_some() {
        return None;
    }
    let rps = plan.load.rate_at(now_ns.unwrap_or(0))?;
    Some(rps * f64::from(plan.own_connections()) / f64::from(plan.load.connections.count()))
}

/// Labels of the totals by name in frames: of the names of a list that have intervals, and of all
/// others together.
pub(crate) fn name_labels(plan: &Plan) -> Vec<String> {
    let Some(list) = &plan.list else { return Vec::new() };
    let names = list.with_intervals.iter();
    let names = names.map(|name| list.names.get(usize::from(*name)).map_or("", String::as_str));
    let has_others = list.with_intervals.len() < list.names.len();
    label_values(names.chain(has_others.then_some("(others)")))
}

/// Measured requests with a name and without success, by the name of their outcome.
pub(crate) fn failures(name: &NameTotals) -> [(&'static str, u64); 3] {
    [("bad_response", name.bad), ("transport_error", name.errors), ("timed_out", name.timed_out)]
}

/// Figures of the client itself, each with its help: the send lag in seconds, the client overhead
/// and the CPU use. Those that are not known are `None`.
pub(crate) fn client_figures(frames: &RecentFrames) -> [(&'static str, Option<f64>); 3] {
    let latest = &frames.latest;
    [
        (
            "99th percentile of the time from the planned send to the send, of the last second",
            frames.send_lag_p99_ns().map(|ns| ns as f64 / 1e9),
        ),
        (
            "Share of the 99th percentile of the latency that the client caused",
            latest.client_overhead().map(LiveOverhead::share),
        ),
        ("CPU use of the busiest worker; 1 is a whole CPU", latest.worker_cpu),
    ]
}

#[cfg(test)]
pub(crate) mod tests;
