//! A trend as text: a table of the newest runs, and for each series a line per metric with its
//! changes.

use std::fmt::Write;

use serde::Deserialize;
use serde_json::Value;
use weir_result::Load;
use weir_text::setting::LAST;
use weir_text::{printable, units};
use weir_verdict::Better;

use super::{Change, MetricTrend, RUNS_MIN, RecentChange, Series, Trend};
use crate::list::{Layout, TableColumn, lines, title};
use crate::series_key::SeriesKey;

/// Greatest number of runs in a sparkline, the newest ones.
const SPARKS_MAX: usize = 30;

/// Greatest length of a value in the differences between two series.
const VALUE_MAX: usize = 24;

/// Greatest number of differences between two series that are printed.
const DIFFERENCES_MAX: usize = 5;

/// Remark on a series with fewer than [`RUNS_MIN`] runs.
pub(super) const TOO_FEW: &str = "too few runs to find changes: 16 are needed";

impl Trend {
    /// Returns the trend as text. `rows` is the greatest number of runs in the table.
    pub fn to_text(&self, layout: Layout, rows: usize) -> String {
        let mut out = format!("{}: {}\n", self.name, self.extent());
        for (index, series) in self.series.iter().enumerate() {
            let before = index.checked_sub(1).map(|before| &self.series[before]);
            put(&mut out, "");
            put(&mut out, &format!("{}: {}", self.title(index), series.extent()));
            if series.runs.len() < RUNS_MIN {
                put(&mut out, &format!("  {TOO_FEW}"));
            }
            let facts = match before {
                None => vec![
                    format!("load     {}", load_of(&series.key.plan)),
                    format!("machine  {}", machine_of(&series.key.machine)),
                ],
                Some(before) => differences(&before.key, &series.key),
            };
            facts.iter().for_each(|line| put(&mut out, &format!("  {line}")));
            if self.is_current(series) {
                put(&mut out, "");
                table(&mut out, series, layout, rows);
            }
            put(&mut out, "");
            for (at, metric) in series.metrics.iter().enumerate() {
                metric_lines(&mut out, series, at, metric, layout);
            }
        }
        for sentences in self.remarks() {
            put(&mut out, "");
            sentences.iter().for_each(|sentence| put(&mut out, sentence));
        }
        out
    }

    /// Returns the newest change of each metric that begins in one of the newest `rows` runs of the
    /// load and machine of the newest run, as a sentence.
    pub fn recent_changes(&self, rows: usize) -> Vec<RecentChange> {
        let current = self.series.iter().filter(|series| self.is_current(series));
        let of = |series: &Series, of: &MetricTrend| {
            let hidden = series.runs.len().saturating_sub(rows);
            let change = of.changes.iter().flatten().next_back();
            let change = change.filter(|change| change.run >= hidden)?;
            let title = title(&of.metric.to_string());
            let text = format!("{title} {}", change_lines(series, of, change).join("; "));
            Some(RecentChange { text, is_worse: is_worse(of, change) })
        };
        current
            .flat_map(|series| series.metrics.iter().filter_map(|metric| of(series, metric)))
            .collect()
    }

    /// Returns the number of runs, and of those that are left out.
    pub(super) fn extent(&self) -> String {
        let runs: usize = self.series.iter().map(|series| series.runs.len()).sum();
        let mut line = counted(runs, "run");
        let left_out = [(self.failed, "failed"), (self.void, "void")].into_iter();
        let left_out = left_out.filter(|(count, _)| *count > 0);
        let left_out: Vec<String> =
            left_out.map(|(count, grade)| format!("{count} {grade}")).collect();
        if !left_out.is_empty() {
            line += &format!("; left out: {}", left_out.join(", "));
        }
        if self.has_more {
            line += "; older runs are left out";
        }
        line
    }

    /// Returns the title of a series: `Series 2 of 3`.
    pub(super) fn title(&self, index: usize) -> String {
        match self.series.len() {
            1 => "Series".to_owned(),
            count => format!("Series {} of {count}", index + 1),
        }
    }

    /// True if the series has the newest run: its runs are listed.
    pub(super) fn is_current(&self, series: &Series) -> bool {
        let newest = |series: &Series| series.runs.last().map(|run| run.entry.time.clone());
        self.series.iter().all(|other| newest(other) <= newest(series))
    }

    /// Returns remarks on the whole, each of some sentences.
    pub(super) fn remarks(&self) -> Vec<Vec<&'static str>> {
        let mut remarks = Vec::new();
        if self.series.len() > 1 {
            remarks.push(vec!["Series differ in load or machine, so they are not compared."]);
        }
        let mut metrics = self.series.iter().flat_map(|series| &series.metrics);
        if metrics.any(|of| of.changes.as_ref().is_some_and(|changes| !changes.is_empty())) {
            remarks.push(vec![
                "A change is a candidate: more than the server may have changed.",
                "To confirm it, run the old and the new version in turns: weir ab --help",
            ]);
        }
        remarks
    }
}

impl Series {
    /// Returns the number of runs, and the times of the first and the last.
    pub(super) fn extent(&self) -> String {
        let times = match &self.runs[..] {
            [only] => only.entry.minute(),
            [first, .., last] => match (first.entry.minute(), last.entry.minute()) {
                (first, last) if first == last => first,
                (first, last) => format!("{first} to {last}"),
            },
            [] => String::new(),
        };
        format!("{}, {times}", counted(self.runs.len(), "run"))
    }
}

/// Appends a line.
fn put(out: &mut String, line: &str) {
    writeln!(out, "{line}").expect("a string takes all that is written");
}

pub(super) fn counted(count: usize, noun: &str) -> String {
    format!("{} {noun}{}", units::count(count as u64), if count == 1 { "" } else { "s" })
}

/// Returns the differences between two series, one in each line.
pub(super) fn differences(before: &SeriesKey, key: &SeriesKey) -> Vec<String> {
    let differences = before.differences(key);
    let line = |(field, old, new): &(String, Value, Value)| {
        let span = |value: &Value| value.as_u64().map(units::plain_duration);
        let (field, old, new) = match (field.strip_suffix("_ns"), span(old), span(new)) {
            (Some(field), Some(old), Some(new)) => (field, old, new),
            _ => (field.as_str(), cut(shown(old)), cut(shown(new))),
        };
        format!("{field}: {old} → {new}")
    };
    let mut lines: Vec<String> = differences.iter().take(DIFFERENCES_MAX).map(line).collect();
    if differences.len() > DIFFERENCES_MAX {
        lines.push(format!("and {} more differences", differences.len() - DIFFERENCES_MAX));
    }
    lines
}

/// Shortens a text that would fill a line.
fn cut(text: String) -> String {
    match text.char_indices().nth(VALUE_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

pub(super) fn load_of(plan: &Value) -> String {
    let text = |name: &str| plan.get(name).map(shown).unwrap_or_default();
    let Some(load) = plan.get("load").and_then(|load| Load::deserialize(load).ok()) else {
        return text("url");
    };
    let connections = counted(load.connections.count() as usize, "connection");
    let due = load.due.map_or_else(|| "closed loop".to_owned(), |due| due.to_string());
    format!("{}, {connections}, {due}", text("url"))
}

pub(super) fn machine_of(machine: &Value) -> String {
    let fact = |(name, label): (&str, &str)| {
        let value = machine.get(name).filter(|value| !value.is_null())?;
        Some(format!("{label}{}", shown(value)))
    };
    let facts = [("host", ""), ("kernel", "kernel "), ("cpu", ""), ("weir", "weir ")];
    facts.into_iter().filter_map(fact).collect::<Vec<_>>().join(", ")
}

/// A value of a key, as it may be printed.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => printable(text).into_owned(),
        value => printable(&value.to_string()).into_owned(),
    }
}

/// Appends the newest runs of a series.
fn table(out: &mut String, series: &Series, layout: Layout, rows: usize) {
    let hidden = series.runs.len().saturating_sub(rows);
    let runs = &series.runs[hidden..];
    let column = |cell: &dyn Fn(&super::TrendRun) -> String| runs.iter().map(cell).collect();
    let mut columns = vec![
        TableColumn::number("ID", column(&|run| run.entry.id.to_string())),
        TableColumn::text("Time (UTC)", column(&|run| run.entry.minute())),
        TableColumn::text("Grade", column(&|run| run.entry.grade.in_words().to_owned())),
    ];
    for (at, of) in series.metrics.iter().enumerate() {
        let cell = |run: &super::TrendRun| match &run.values[at] {
            Some(measured) => of.metric.print_measured(measured),
            None => "-".to_owned(),
        };
        // Of many metrics, the last ones are left out first.
        let rank = if at < 3 { 0 } else { u8::MAX - u8::try_from(at).unwrap_or(u8::MAX - 1) };
        columns.push(
            TableColumn::number(&title(&of.metric.to_string()), column(&cell)).optional(rank),
        );
    }
    let changes = (hidden..series.runs.len()).map(|run| changes_at(series, run)).collect();
    columns.push(TableColumn::text("Change", changes).optional(2));
    columns.push(TableColumn::text("Tags", column(&|run| run.entry.tags.join(" "))).optional(1));
    for line in lines(columns, layout, 2) {
        put(out, &line);
    }
    if hidden > 0 {
        put(out, &format!("  ({} before these; {LAST} shows more)", counted(hidden, "run")));
    }
}

/// The changes that begin with a run: `p99 +12%`.
pub(super) fn changes_at(series: &Series, run: usize) -> String {
    let change = |of: &MetricTrend| {
        let found = of.changes.iter().flatten().find(|change| change.run == run)?;
        let percent = 100.0 * found.point.change();
        let title = title(&of.metric.to_string());
        Some(format!("{title} {percent:+.0}%"))
    };
    series.metrics.iter().filter_map(change).collect::<Vec<_>>().join(", ")
}

/// Appends a metric's sparkline and range, and a line for each change.
fn metric_lines(out: &mut String, series: &Series, at: usize, of: &MetricTrend, layout: Layout) {
    let titles = series.metrics.iter().map(|of| title(&of.metric.to_string()).chars().count());
    let width = titles.max().unwrap_or(0);
    let values: Vec<Option<f64>> =
        series.runs.iter().map(|run| run.values[at].map(|measured| measured.value)).collect();
    let newest = &values[values.len().saturating_sub(SPARKS_MAX)..];
    let has_values = newest.iter().flatten().count() > 1;
    let sparks = match layout.has_blocks && has_values {
        true => format!("{}  ", sparkline(newest)),
        false => String::new(),
    };
    let label = title(&of.metric.to_string());
    let range = range(of, &values);
    put(out, format!("  {label:<width$}  {sparks}{range}").trim_end());
    for change in of.changes.iter().flatten() {
        for line in change_lines(series, of, change) {
            put(out, &format!("  {:width$}  {line}", ""));
        }
    }
}

/// Returns the range of a metric, and why there is no change.
pub(super) fn range(of: &MetricTrend, values: &[Option<f64>]) -> String {
    let known = || values.iter().flatten().copied();
    let least = known().fold(f64::MAX, f64::min);
    let greatest = known().fold(f64::MIN, f64::max);
    let range = match known().count() {
        0 => "no run has this metric".to_owned(),
        _ if least == greatest => of.metric.print(least),
        _ => format!("{} to {}", of.metric.print(least), of.metric.print(greatest)),
    };
    let result = match &of.changes {
        None => "; changes are found in values above 0 only",
        Some(changes) if !changes.is_empty() => "",
        Some(_) if known().count() < RUNS_MIN => "",
        Some(_) => "; no change",
    };
    format!("{range}{result}")
}

/// True if the new level is the worse one.
fn is_worse(of: &MetricTrend, change: &Change) -> bool {
    match of.metric.better() {
        Better::Neither => false,
        Better::Higher => change.point.change() < 0.0,
        Better::Lower => change.point.change() > 0.0,
    }
}

/// Returns a change in words: the change itself, and whether it is only possible.
pub(super) fn change_lines(series: &Series, of: &MetricTrend, change: &Change) -> Vec<String> {
    let entry = &series.runs[change.run].entry;
    let relative = change.point.change();
    let direction = match of.metric.better() {
        Better::Neither => "",
        _ if is_worse(of, change) => ", worse",
        _ => ", better",
    };
    let before = of.metric.print(change.point.before);
    let after = of.metric.print(change.point.after);
    let percent = 100.0 * relative;
    let day = entry.day();
    let mut lines = vec![format!(
        "{percent:+.1}% from #{} ({day}) on{direction}: {before} → {after}",
        entry.id
    )];
    if change.point.is_possible {
        let since = counted(change.runs_since, "run");
        lines.push(format!("only possible: {since} since, 5 are needed"));
    }
    lines
}

/// Blocks by eighths of a line's height.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Least span of a sparkline as a share of its greatest value, so that noise looks flat.
const SPAN_MIN: f64 = 0.2;

/// Draws positive values, the least of them lowest. A run without a value is a blank.
fn sparkline(values: &[Option<f64>]) -> String {
    let known = || values.iter().flatten().copied().filter(|value| value.is_finite());
    let least = known().fold(f64::MAX, f64::min);
    let greatest = known().fold(0.0, f64::max);
    let span = (greatest - least).max(greatest * SPAN_MIN).max(f64::MIN_POSITIVE);
    let block = |value: &Option<f64>| match value {
        Some(value) if value.is_finite() => {
            let level = (value - least) / span * (BLOCKS.len() - 1) as f64;
            BLOCKS[(level.round() as usize).min(BLOCKS.len() - 1)]
        }
        _ => ' ',
    };
    values.iter().map(block).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(values: &[f64], expected: &str) {
        let values: Vec<_> = values.iter().map(|value| Some(*value)).collect();
        assert_eq!(sparkline(&values), expected);
    }

    #[test]
    fn a_step_is_seen_and_noise_is_flat() {
        check(&[100.0, 101.0, 100.5, 150.0, 149.0], "▁▁▁██");
        check(&[100.0, 101.0, 99.5], "▁▂▁");
        check(&[0.0, 0.0], "▁▁");
        check(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], "▁▂▃▄▅▆▇█");
        check(&[], "");
        assert_eq!(sparkline(&[Some(1.0), None, Some(2.0)]), "▁ █");
    }
}
