//! The progress line on a terminal: phase, elapsed, rate, percentiles, errors. Never in a pipe.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use weir_io::system;
use weir_result::units;
use weir_result::{Histogram, Interval, Plan};

/// Interval between two updates of the drain's remaining time.
const TICK: Duration = Duration::from_millis(200);

/// Each worker's intervals, as they end; `None` when the run is over.
pub(crate) type Intervals = Receiver<Option<(u32, Interval)>>;

/// True if a progress line may be drawn on standard error.
pub(crate) fn is_wanted(quiet: bool) -> bool {
    !quiet && io::stderr().is_terminal() && !is_dumb()
}

/// True if the terminal supports no escape sequences.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|name| name == "dumb")
}

/// Draws a line for each interval that all workers have finished, until the run is over.
pub(crate) fn follow(plan: &Plan, intervals: &Intervals) {
    // Not locked for the whole run, because other threads write messages to it.
    let mut stderr = io::stderr();
    let mut draw = |line: &str| {
        // A line that wraps could not be overwritten, so it is cut. A closed terminal must not end
        // the run.
        let columns = system::terminal_columns().map_or(usize::MAX, usize::from);
        let line: String = line.chars().take(columns.saturating_sub(1)).collect();
        let _gone = write!(stderr, "\r\x1b[K{line}").and_then(|()| stderr.flush());
    };
    draw(&format!("connecting {} connections …", units::count(plan.own_connections().into())));
    let mut pending: BTreeMap<i64, (u32, Interval)> = BTreeMap::new();
    let mut errors = 0;
    // End of the last interval in nanoseconds from t0, and the instant at which it arrived.
    let mut border: Option<(i64, Instant)> = None;
    loop {
        match intervals.recv_timeout(TICK) {
            Ok(Some((_, interval))) => {
                let entry = pending
                    .entry(interval.start_ns)
                    .and_modify(|(parts, known)| {
                        *parts += 1;
                        known.add(&interval);
                    })
                    .or_insert((1, interval));
                if entry.0 == plan.own_threads() {
                    let whole = entry.1.clone();
                    errors += whole.errors + whole.timed_out + whole.bad;
                    pending.retain(|start_ns, _| *start_ns > whole.start_ns);
                    border = Some((end_ns(&whole), Instant::now()));
                    if drain_left_ns(plan, end_ns(&whole)).is_none() {
                        draw(&describe(plan, &whole, errors));
                    }
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Ok(None) | Err(RecvTimeoutError::Disconnected) => break,
        }
        let now_ns = border.map(|(end_ns, at)| {
            end_ns.saturating_add(i64::try_from(at.elapsed().as_nanos()).unwrap_or(i64::MAX))
        });
        if let Some(left_ns) = now_ns.and_then(|now_ns| drain_left_ns(plan, now_ns)) {
            draw(&describe_drain(left_ns, errors));
        }
    }
    draw("");
}

/// Remaining time of the drain, in nanoseconds, at `now_ns` from t0; `None` before it begins.
fn drain_left_ns(plan: &Plan, now_ns: i64) -> Option<u64> {
    let window_ns = plan.duration_ns?;
    let now_ns = u64::try_from(now_ns).ok().filter(|now_ns| *now_ns >= window_ns)?;
    Some(window_ns.saturating_add(plan.drain_limit_ns()).saturating_sub(now_ns))
}

fn describe_drain(left_ns: u64, errors: u64) -> String {
    let left_s = left_ns.div_ceil(1_000_000_000);
    let errors = units::count(errors);
    format!("drain, at most {left_s} s left (Ctrl-C ends it)   errors {errors}")
}

fn end_ns(interval: &Interval) -> i64 {
    interval.start_ns.saturating_add_unsigned(interval.length_ns)
}

fn describe(plan: &Plan, interval: &Interval, errors: u64) -> String {
    let end_ns = end_ns(interval);
    let phase = match plan.duration_ns {
        _ if interval.start_ns < 0 => "warm-up".to_owned(),
        Some(duration_ns) => format!("{} of {}", seconds(end_ns), seconds(duration_ns as i64)),
        None => seconds(end_ns),
    };
    let mut latency = Histogram::new();
    latency.add_sparse(&interval.latency);
    let rate = interval.completed as f64 / (interval.length_ns as f64 / 1e9);
    let mut line = format!("{phase}   {}", units::rate(rate));
    if let (Some(p50), Some(p99)) = (latency.percentile(50.0), latency.percentile(99.0)) {
        line += &format!("   p50 {}   p99 {}", units::duration(p50), units::duration(p99));
    }
    line + &format!("   errors {}", units::count(errors))
}

fn seconds(ns: i64) -> String {
    format!("{} s", ns / 1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn the_drain_is_counted_down_to_its_limit() {
        let plan = Plan { duration_ns: Some(20 * SECOND), ..Plan::default() };
        let left = |now_s: i64| drain_left_ns(&plan, now_s * SECOND as i64);
        assert_eq!([-1, 0, 19].map(left), [None; 3]);
        assert_eq!([20, 21, 24, 30].map(left), [4, 3, 0, 0].map(|s| Some(s * SECOND)));
        let limited = Plan { drain_ns: Some(SECOND / 2), ..plan };
        assert_eq!(drain_left_ns(&limited, 20 * SECOND as i64), Some(SECOND / 2));
        let counted = Plan { duration_ns: None, requests: Some(9), ..limited };
        assert_eq!(drain_left_ns(&counted, i64::MAX), None, "its window ends with the requests");
    }

    #[test]
    fn the_line_of_the_drain_says_how_to_end_it() {
        let line = describe_drain(3 * SECOND / 2, 1_200);
        assert_eq!(line, "drain, at most 2 s left (Ctrl-C ends it)   errors 1,200");
    }
}
