//! The lines of `--format jsonl` on standard output: intervals while the run goes, with a list the
//! totals by name beside each; then the remaining intervals, the names and the summary.

use std::collections::{BTreeSet, VecDeque};
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::json;
use weir_machine::sys;
use weir_report::json::escaped;
use weir_report::jsonl;
use weir_result::document::SeriesEntry;
use weir_result::{Document, Interval, Plan};
use weir_runner::{Frame, Observer};

use crate::errors::NotWritten;
use crate::live::name_labels;
use crate::terminal;

/// The lines of a run. Copies share them: one observes the run, the other prints the end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lines(Arc<Mutex<LinesState>>);

#[derive(Debug, Default)]
struct LinesState {
    /// Starts of the intervals that were printed, in nanoseconds from t0 as it was then. Of those
    /// after the first of the window, which follow each other, only the last: a run may be long.
    printed_ns: Vec<i64>,
    /// Starts and lines of those that standard output had no room for yet.
    waiting: VecDeque<(i64, Vec<u8>)>,
    /// Reason why standard output could not be written. Nothing is printed after that until the end
    /// of the run, which reports it.
    failure: Option<NotWritten>,
    /// The latest frame, with the totals by name.
    latest: Frame,
}

impl Lines {
    /// Prints the intervals that were not printed during the run, and the summary.
    ///
    /// # Errors
    /// When standard output cannot be written.
    pub(crate) fn finish(&self, document: &Document) -> Result<(), NotWritten> {
        let mut state = self.lock();
        let first_ns = document.series.first().map_or(0, start_ns);
        let printed =
            as_in_document(first_ns, document.plan.load.warmup.span_ns, &state.printed_ns);
        let is_left = |entry: &&SeriesEntry| !has_printed(&printed, start_ns(entry));
        let mut left = document.series.iter().filter(is_left);
        let end = terminal::print(|out| {
            left.try_for_each(|entry| jsonl::write_interval(entry, out))?;
            jsonl::write_stages(document, out)?;
            jsonl::write_names(document, out)?;
            jsonl::write_summary(document, out)
        });
        state.failure.take().map_or(end, Err)
    }

    fn lock(&self) -> MutexGuard<'_, LinesState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Lines {
    fn is_live(&self) -> bool {
        true
    }

    fn interval(&mut self, plan: &Plan, interval: &Interval) {
        let mut line = Vec::new();
        let entry = SeriesEntry::of_running(interval, plan);
        if jsonl::write_interval(&entry, &mut line).is_ok() {
            let mut state = self.lock();
            line.extend(names_line(plan, &state.latest));
            state.waiting.push_back((interval.start_ns, line));
            state.print();
        }
    }

    fn frame(&mut self, _: &Plan, frame: &Frame) {
        let mut state = self.lock();
        state.latest = frame.clone();
        state.print();
    }
}

impl LinesState {
    /// Prints lines while standard output has room for them: a reader that pauses must hold up
    /// neither the other observers nor the end of the run.
    fn print(&mut self) {
        while self.failure.is_none() && !self.waiting.is_empty() && sys::is_stdout_writable() {
            let Some((start_ns, line)) = self.waiting.pop_front() else { return };
            // It may be there in part after a failure, so that it is not printed again.
            self.failure = terminal::print(|out| out.write_all(&line)).err();
            keep_start(&mut self.printed_ns, start_ns);
        }
    }
}

/// Returns the line of the totals by name of a frame, as an object with `"type": "names"`; empty
/// without a list.
fn names_line(plan: &Plan, frame: &Frame) -> Vec<u8> {
    let labels = name_labels(plan);
    if labels.is_empty() || frame.names.is_empty() {
        return Vec::new();
    }
    let names = labels.iter().zip(&frame.names).map(|(name, of)| {
        json!({
            "name": name,
            "responses": of.responses(),
            "failed": of.bad + of.errors + of.timed_out,
            "p50_ns": of.latency.percentile(50.0),
            "p99_ns": of.latency.percentile(99.0),
        })
    });
    let at_s = frame.at_ns.map(|at_ns| at_ns as f64 / 1e9);
    let line = json!({ "type": "names", "at_s": at_s, "names": names.collect::<Vec<_>>() });
    format!("{}\n", escaped(line.to_string())).into_bytes()
}

/// Returns the starts of printed intervals as the document has them, whose first one starts at
/// `first_ns`. An automatic warm-up may end early: t0 is then earlier than planned, and intervals
/// until then were printed with starts that are too early by as much.
fn as_in_document(first_ns: i64, warmup_ns: u64, printed_ns: &[i64]) -> BTreeSet<i64> {
    let planned_ns = 0_i64.saturating_sub_unsigned(warmup_ns);
    let earlier_ns = first_ns.saturating_sub(planned_ns);
    if earlier_ns <= 0 {
        return printed_ns.iter().copied().collect();
    }
    // Where t0 moved, the starts leap by that much.
    let mut before_ns = planned_ns;
    let moved = printed_ns.iter().position(|start_ns| {
        let leap_ns = *start_ns - std::mem::replace(&mut before_ns, *start_ns);
        leap_ns >= earlier_ns
    });
    let (old, new) = printed_ns.split_at(moved.unwrap_or(printed_ns.len()));
    old.iter().map(|start_ns| start_ns + earlier_ns).chain(new.iter().copied()).collect()
}

/// Adds the start of an interval that was printed, in the place of an earlier one of the window.
fn keep_start(printed_ns: &mut Vec<i64>, start_ns: i64) {
    match printed_ns.last_mut() {
        Some(last_ns) if 0 < *last_ns && *last_ns < start_ns => *last_ns = start_ns,
        _ => printed_ns.push(start_ns),
    }
}

/// True if the interval of this start was printed: in the window all up to the last were.
fn has_printed(printed_ns: &BTreeSet<i64>, start_ns: i64) -> bool {
    match start_ns {
        0.. => printed_ns.last().is_some_and(|last_ns| start_ns <= *last_ns),
        _ => printed_ns.contains(&start_ns),
    }
}

/// Start of an interval, in nanoseconds from t0.
fn start_ns(entry: &SeriesEntry) -> i64 {
    (entry.start_s * 1e9).round() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    /// Checks starts in a run whose warm-up was planned with one length and took another.
    fn check((planned_s, taken_s): (u64, i64), printed_s: &[i64], expected_s: &[i64]) {
        let ns = |starts_s: &[i64]| starts_s.iter().map(|s| s * SECOND).collect::<Vec<_>>();
        let warmup_ns = planned_s * SECOND.unsigned_abs();
        let found = as_in_document(-taken_s * SECOND, warmup_ns, &ns(printed_s));
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ns(expected_s), "{printed_s:?}");
    }

    #[test]
    fn a_long_window_takes_no_memory() {
        let mut printed_ns = Vec::new();
        (-3..100_000).for_each(|start_s| keep_start(&mut printed_ns, start_s * SECOND));
        assert_eq!(printed_ns, [-3, -2, -1, 0, 99_999].map(|start_s| start_s * SECOND));
        let printed = as_in_document(-3 * SECOND, 3_000_000_000, &printed_ns);
        for (start_s, expected) in [
            (-4, false),
            (-3, true),
            (-1, true),
            (0, true),
            (64, true),
            (99_999, true),
            (100_000, false),
        ] {
            assert_eq!(has_printed(&printed, start_s * SECOND), expected, "{start_s}");
        }
        assert!(!has_printed(&BTreeSet::new(), 0), "nothing was printed");
        let warm_up = BTreeSet::from([-SECOND]);
        assert!(!has_printed(&warm_up, 0), "the window was not");
    }

    #[test]
    fn a_warm_up_of_fixed_length_leaves_starts_as_they_are() {
        check((2, 2), &[-2, -1, 0, 1], &[-2, -1, 0, 1]);
        check((2, 2), &[-2, 1], &[-2, 1]);
        // Nothing was measured.
        check((2, 0), &[], &[]);
    }

    #[test]
    fn starts_before_the_end_of_an_automatic_warm_up_are_moved() {
        check((60, 4), &[-60, -59, -58, -1, 0], &[-4, -3, -2, -1, 0]);
        // The one in which t0 moved is missing, as it had two names.
        check((60, 4), &[-60, -59, -58, 0, 1], &[-4, -3, -2, 0, 1]);
        check((60, 4), &[-60, -59], &[-4, -3]);
        check((60, 4), &[-1, 0, 1], &[-1, 0, 1]);
    }
}
