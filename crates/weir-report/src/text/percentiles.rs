//! The table of latencies: a few percentiles, the greatest and the mean, in the columns that the
//! load gives a meaning.

use weir_run::document::Summary;
use weir_run::quantile::{Bound, Quantile, count_needed};
use weir_run::units::{self, DurationColumn};
use weir_run::{Document, Load};

use super::page::{Page, Span, Style};
use super::table::{Column, Row, Table};

/// The percentiles worth a line; the document has more of them.
const LINES: [f64; 5] = [50.0, 90.0, 99.0, 99.9, 99.99];

pub(super) fn write(document: &Document, verbose: bool, page: &mut Page) {
    let columns = columns(document, verbose);
    let Some((_, headline)) = columns.first() else {
        return;
    };
    let count = headline.count;
    page.gap();
    let mut rows: Vec<Row> =
        LINES.into_iter().filter_map(|p| percentile_row(p, &columns)).collect();
    let has_percentiles = !rows.is_empty();
    rows.push(Row {
        label: "max".to_owned(),
        values: columns.iter().map(|(_, summary)| greatest(summary)).collect(),
        remark: failures(document),
    });
    if document.answered() > 0 {
        let is_partial = document.failed() > 0;
        rows.push(Row {
            label: "mean".to_owned(),
            values: columns.iter().map(|(_, summary)| mean(summary)).collect(),
            remark: if is_partial { "(answered requests)".to_owned() } else { String::new() },
        });
    }
    let columns =
        columns.iter().map(|(title, summary)| Column { title, unit: unit_of(summary) }).collect();
    Table { label: "", columns, rows }.write(page);
    if !has_percentiles {
        let needed = units::count(count_needed(50.0));
        let text = format!("percentiles need {needed} requests; these are {count}");
        page.line([Span::new(format!("  {text}"), Style::Dim)]);
    }
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

/// A percentile's line, where a column has it.
fn percentile_row(p: f64, columns: &[(&str, &Summary)]) -> Option<Row> {
    let values: Vec<Option<Quantile>> = columns
        .iter()
        .map(|(_, summary)| {
            summary.percentile(p).map(|value| Quantile { ns: value.ns, bound: value.bound })
        })
        .collect();
    let is_there = values.iter().any(Option::is_some);
    is_there.then(|| Row { label: format!("p{p}"), values, remark: String::new() })
}

fn greatest(summary: &Summary) -> Option<Quantile> {
    let bound = summary.percentile(100.0).map_or(Bound::Exact, |value| value.bound);
    summary.max_ns.map(|ns| Quantile { ns, bound })
}

/// The mean to the nearest nanosecond.
fn mean(summary: &Summary) -> Option<Quantile> {
    summary.mean_ns.map(|ns| Quantile { ns: ns.round() as u64, bound: Bound::Exact })
}

/// The unit that suits a column: its median's, or where there is none, that of its mean or of its
/// greatest.
pub(super) fn unit_of(summary: &Summary) -> DurationColumn {
    let median = summary.percentile(50.0).map(|value| value.ns);
    let typical = median.or(mean(summary).map(|mean| mean.ns)).or(summary.max_ns);
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
