//! The table of latencies: a few percentiles, the greatest and the mean, in the columns that the
//! load gives a meaning.

use weir_run::document::{PercentileValue, Summary, UnsupportedPercentile};
use weir_run::quantile::{Bound, Quantile, count_needed};
use weir_run::units::{self, DurationColumn};
use weir_run::{Document, Load};

use super::page::{Page, Span, Style};
use super::table::{Cell, Column, Row, Table};

/// The percentiles worth a line; the document has more of them.
const LINES: [f64; 5] = [50.0, 90.0, 99.0, 99.9, 99.99];

/// Runs longer than a day are no advice.
const SECONDS_MAX: f64 = 86_400.0;

pub(super) fn write(document: &Document, verbose: bool, page: &mut Page) {
    let columns = columns(document, verbose);
    let Some((_, headline)) = columns.first() else {
        return;
    };
    page.gap();
    let has_intervals =
        LINES.iter().filter_map(|p| headline.percentile(*p)).any(|value| value.low_ns.is_some());
    let row = |label: String, cell: &dyn Fn(&Summary) -> Option<Cell>, remark: String| {
        let mut values: Vec<Option<Cell>> =
            columns.iter().map(|(_, summary)| cell(summary)).collect();
        if has_intervals {
            values.insert(1, None);
        }
        Row { label, values, remark }
    };
    let mut rows = Vec::new();
    for value in LINES.iter().filter_map(|p| headline.percentile(*p)) {
        let time = |summary: &Summary| summary.percentile(value.p).map(time);
        let mut row = row(format!("p{}", value.p), &time, String::new());
        if has_intervals {
            row.values[1] =
                value.low_ns.map(|low_ns| Cell::Interval { low_ns, high_ns: value.high_ns });
        }
        rows.push(row);
    }
    rows.push(row("max".to_owned(), &|summary| greatest(summary), failures(document)));
    if document.answered() > 0 {
        let is_partial = document.failed() > 0;
        let remark = if is_partial { "(answered requests)" } else { "" };
        rows.push(row("mean".to_owned(), &|summary| mean(summary), remark.to_owned()));
    }
    let mut heads: Vec<Column> =
        columns.iter().map(|(title, summary)| Column { title, unit: unit_of(summary) }).collect();
    if has_intervals {
        heads.insert(1, Column { title: "95% within run", unit: unit_of(headline) });
    }
    Table { label: "", columns: heads, rows }.write(page);
    if let Some(text) = what_is_missing(document, headline) {
        page.paragraph(Span::plain(""), 2, &Span::new(text, Style::Dim));
    }
}

/// What the first line that is missing would take.
fn what_is_missing(document: &Document, headline: &Summary) -> Option<String> {
    let count = headline.count;
    let missing = headline.unsupported.iter().find(|missing| LINES.contains(&missing.p));
    let Some(UnsupportedPercentile { p, needed_samples, needed_s }) = missing.copied() else {
        let needed = units::count(count_needed(50.0));
        let has_none = headline.percentile(50.0).is_none();
        return has_none.then(|| format!("percentiles need {needed} requests; these are {count}"));
    };
    let more = units::count(needed_samples.saturating_sub(count));
    let text = format!("p{p} needs {more} more requests");
    Some(match (document.plan.requests, needed_s) {
        (Some(_), _) => format!("{text}: -n {needed_samples}"),
        (None, Some(seconds)) if seconds < SECONDS_MAX => {
            format!("{text}: -d {}s at this rate", seconds.ceil())
        }
        (None, _) => text,
    })
}

/// Open loop: what a user waited, what the server took, what was late already. Closed loop: what
/// the server took, there being no user who waits while nothing is sent. Columns without a value
/// are left out.
fn columns(document: &Document, verbose: bool) -> Vec<(&'static str, &Summary)> {
    let latency = &document.latency;
    let mut columns = match document.plan.load {
        Load::OpenLoop { .. } => vec![
            ("response", latency.response_time.headline()),
            ("service", latency.service_time.headline()),
            ("send lag", latency.send_lag.headline()),
        ],
        Load::ClosedLoop => vec![
            ("service", latency.service_time.headline()),
            ("first byte", latency.first_byte.headline()),
        ],
    };
    // Where failures hide the usual percentiles, those of the answers that came are worth a column.
    let ok = match document.plan.load {
        Load::OpenLoop { .. } => &latency.response_time.ok,
        Load::ClosedLoop => &latency.service_time.ok,
    };
    if is_hidden(columns[0].1) {
        columns.insert(1, ("ok only", ok));
    }
    if verbose {
        columns.push(("connect", latency.connect.headline()));
    }
    columns.retain(|(_, summary)| summary.count > 0);
    columns
}

/// Whether a percentile that is printed is only a bound.
fn is_hidden(summary: &Summary) -> bool {
    let mut values = LINES.iter().filter_map(|p| summary.percentile(*p));
    values.any(|value| value.bound == Bound::Lower)
}

fn time(value: &PercentileValue) -> Cell {
    match (value.weak, value.bound) {
        (true, Bound::Exact) => Cell::Weak(value.ns),
        (_, bound) => Cell::Time(Quantile { ns: value.ns, bound }),
    }
}

fn greatest(summary: &Summary) -> Option<Cell> {
    let bound = summary.percentile(100.0).map_or(Bound::Exact, |value| value.bound);
    summary.max_ns.map(|ns| Cell::Time(Quantile { ns, bound }))
}

/// The mean to the nearest nanosecond.
fn mean(summary: &Summary) -> Option<Cell> {
    mean_ns(summary).map(|ns| Cell::Time(Quantile { ns, bound: Bound::Exact }))
}

fn mean_ns(summary: &Summary) -> Option<u64> {
    summary.mean_ns.map(|ns| ns.round() as u64)
}

/// The unit that suits a column: its median's, or where there is none, that of its mean or of its
/// greatest.
pub(super) fn unit_of(summary: &Summary) -> DurationColumn {
    let median = summary.percentile(50.0).map(|value| value.ns);
    let typical = median.or(mean_ns(summary)).or(summary.max_ns);
    DurationColumn::of(typical.unwrap_or(0))
}

/// What makes the greatest value a bound.
fn failures(document: &Document) -> String {
    let accounting = &document.accounting;
    let classes = [
        ("bad", accounting.bad_response),
        ("errors", accounting.transport_error),
        ("timed out", accounting.timed_out),
        ("in flight", accounting.in_flight_at_end),
        ("never sent", accounting.never_sent),
    ];
    let failed: Vec<String> = classes
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!("{} {name}", units::count(count)))
        .collect();
    if failed.is_empty() { String::new() } else { format!("({})", failed.join(", ")) }
}
