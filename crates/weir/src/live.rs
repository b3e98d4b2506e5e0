//! The progress line on a terminal: phase, elapsed, rate, percentiles, errors. Never in a pipe.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::Receiver;

use weir_io::system;
use weir_run::units;
use weir_run::{Histogram, Interval, Plan};

/// Each worker's intervals, as they end; `None` when the run is over.
pub(crate) type Intervals = Receiver<Option<(u32, Interval)>>;

/// Whether a progress line may be drawn on standard error.
pub(crate) fn is_wanted(quiet: bool) -> bool {
    !quiet && io::stderr().is_terminal() && !is_dumb()
}

/// Whether the terminal knows no escape sequences.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|name| name == "dumb")
}

/// Draws a line for each interval that all workers have finished, until the run is over.
pub(crate) fn follow(plan: &Plan, intervals: &Intervals) {
    // Not locked for the whole run, in which others have something to say.
    let mut stderr = io::stderr();
    let mut draw = |line: &str| {
        // A terminal that went away must not end the run.
        // A line that wraps could not be drawn over.
        let columns = system::terminal_columns().map_or(usize::MAX, usize::from);
        let line: String = line.chars().take(columns.saturating_sub(1)).collect();
        let _gone = write!(stderr, "\r\x1b[K{line}").and_then(|()| stderr.flush());
    };
    draw(&format!("connecting {} connections …", units::count(plan.connections.into())));
    let mut pending: BTreeMap<i64, (u32, Interval)> = BTreeMap::new();
    let mut errors = 0;
    while let Ok(Some((_, interval))) = intervals.recv() {
        let entry = pending
            .entry(interval.start_ns)
            .and_modify(|(parts, known)| {
                *parts += 1;
                known.add(&interval);
            })
            .or_insert((1, interval));
        if entry.0 == plan.threads {
            let whole = entry.1.clone();
            errors += whole.errors + whole.timed_out + whole.bad;
            pending.retain(|start_ns, _| *start_ns > whole.start_ns);
            draw(&describe(plan, &whole, errors));
        }
    }
    draw("");
}

fn describe(plan: &Plan, interval: &Interval, errors: u64) -> String {
    let end_ns = interval.start_ns.saturating_add_unsigned(interval.length_ns);
    let phase = match plan.duration_ns {
        _ if interval.start_ns < 0 => "warm-up".to_owned(),
        Some(duration_ns) if end_ns.unsigned_abs() > duration_ns => "tail".to_owned(),
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
