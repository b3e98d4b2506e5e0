//! The progress of a run on standard error: warnings, and on a terminal a line with phase, elapsed
//! time, rate, percentiles and errors. The line is never in a pipe.

use std::io::{self, IsTerminal, Write};

use weir_machine::sys;
use weir_result::{Interval, Note, Plan};
use weir_runner::{Frame, Observer, Phase, StudyProgress};
use weir_text::units;

use super::drain_left_ns;
use crate::terminal;

/// The progress of a run, or of the trials of a study.
#[derive(Debug)]
pub(crate) struct Progress {
    is_quiet: bool,
    /// True if a line is drawn.
    is_drawn: bool,
    /// Requests without success in the intervals so far.
    errors: u64,
}

impl Progress {
    /// Returns the progress of a run or of trials; with `is_quiet` it shows warnings alone. Without
    /// its line if the run prints lines of its own on the same terminal.
    pub(crate) fn new(is_quiet: bool, has_lines: bool) -> Progress {
        let is_drawn = !is_quiet && !has_lines && io::stderr().is_terminal() && !is_dumb();
        Progress { is_quiet, is_drawn, errors: 0 }
    }
}

impl Observer for Progress {
    fn waiting(&mut self, failure: &str) {
        if !self.is_quiet {
            terminal::eprint_line(format_args!("waiting for the server: {failure}"));
        }
    }

    fn trial(&mut self, study: &StudyProgress) {
        self.errors = 0;
        if !self.is_quiet {
            terminal::eprint_line(study.in_words());
        }
    }

    fn warning(&mut self, warning: &Note) {
        terminal::warn(&warning.text);
    }

    fn phase(&mut self, phase: Phase, plan: &Plan) {
        if self.is_drawn && phase == Phase::Load {
            draw(&format!(
                "connecting {} connections …",
                units::count(plan.own_connections().into())
            ));
        }
    }

    fn is_live(&self) -> bool {
        self.is_drawn
    }

    fn interval(&mut self, plan: &Plan, interval: &Interval) {
        self.errors += interval.errors + interval.timed_out + interval.bad;
        if drain_left_ns(plan, interval.end_ns()).is_none() {
            draw(&describe(plan, interval, self.errors));
        }
    }

    fn frame(&mut self, plan: &Plan, frame: &Frame) {
        if let Some(left_ns) = frame.at_ns.and_then(|now_ns| drain_left_ns(plan, now_ns)) {
            draw(&describe_drain(left_ns, self.errors));
        }
    }

    fn load_ended(&mut self) {
        draw("");
    }
}

/// Replaces the line.
fn draw(line: &str) {
    // Not locked for the whole run, because other threads write messages to it. A line that wraps
    // could not be overwritten, so it is cut. A closed terminal must not end the run.
    let mut stderr = io::stderr();
    let columns = sys::terminal_columns().map_or(usize::MAX, usize::from);
    let line: String = line.chars().take(columns.saturating_sub(1)).collect();
    let _gone = write!(stderr, "\r\x1b[K{line}").and_then(|()| stderr.flush());
}

/// True if the terminal supports no escape sequences.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|name| name == "dumb")
}

fn describe_drain(left_ns: u64, errors: u64) -> String {
    let left_s = left_ns.div_ceil(1_000_000_000);
    let errors = units::count(errors);
    format!("drain, at most {left_s} s left (Ctrl-C ends it)   errors {errors}")
}

fn describe(plan: &Plan, interval: &Interval, errors: u64) -> String {
    let end_ns = interval.end_ns();
    let phase = match plan.load.length_ns() {
        _ if interval.start_ns < 0 => "warm-up".to_owned(),
        Some(duration_ns) => format!("{} of {}", seconds(end_ns), seconds(duration_ns as i64)),
        None if plan.is_until_signal() => {
            format!("{}, until a signal (Ctrl-C)", seconds(end_ns))
        }
        None => seconds(end_ns),
    };
    let latency = &interval.latency;
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
    use weir_result::Load;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn the_line_names_the_end_of_the_window() {
        let interval =
            Interval { start_ns: 2 * SECOND as i64, length_ns: SECOND, ..Interval::default() };
        let check = |duration_ns, requests, expected: &str| {
            let plan = Plan {
                load: Load { duration_ns, requests, ..Plan::default().load },
                ..Plan::default()
            };
            let line = describe(&plan, &interval, 0);
            assert!(line.starts_with(&format!("{expected}   ")), "{line:?}");
        };
        check(Some(9 * SECOND), None, "3 s of 9 s");
        check(None, Some(10), "3 s");
        check(None, None, "3 s, until a signal (Ctrl-C)");
    }

    #[test]
    fn the_line_of_the_drain_says_how_to_end_it() {
        let line = describe_drain(3 * SECOND / 2, 1_200);
        assert_eq!(line, "drain, at most 2 s left (Ctrl-C ends it)   errors 1,200");
    }
}
