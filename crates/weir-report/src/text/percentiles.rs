//! The table `Latency`: p50, p90, p99, p99.9, the greatest and the mean, in the columns that apply
//! to the load. A legend explains the marks that occur in it.

use std::borrow::Cow;

use weir_result::document::{Metric, PercentileValue, Summary, UnsupportedPercentile};
use weir_result::quantile::{Bound, Quantile, count_needed, has_beyond, is_supported, least_count};
use weir_result::units::{self, DurationColumn};
use weir_result::{Document, Histogram, Load};

use super::page::{INDENT, Page, Span, Style, label};
use super::table::{Cell, Column, Row, Table};

/// Percentiles with a line of their own.
const LINES: [f64; 4] = [50.0, 90.0, 99.0, 99.9];

/// Percentile that a verbose report adds, if it has a value.
const VERBOSE_LINE: f64 = 99.99;

/// Longest run to recommend, in seconds: one day.
const SECONDS_MAX: f64 = 86_400.0;

/// Writes the table. The error is the fault of a histogram in the document.
pub(super) fn write(document: &Document, verbose: bool, page: &mut Page) -> Result<(), String> {
    if document.answered() == 0 {
        // Ages of unanswered requests have percentiles too, but they do not describe the target.
        if document.accounting.planned > 0 {
            page.paragraph(label("Latency"), INDENT, &Span::plain("unknown: no response"));
        }
        return Ok(());
    }
    let is_bad_only = document.accounting.ok == 0;
    let columns = match is_bad_only {
        true => bad_columns(document)?,
        false => columns(document, verbose),
    };
    let Some((_, headline)) = columns.first() else {
        return Ok(());
    };
    let mut lines = LINES.to_vec();
    lines.extend([VERBOSE_LINE].into_iter().filter(|p| verbose && has_beyond(*p, headline.count)));
    let mut table = Table::of(document, &columns, &lines);
    if is_bad_only {
        page.line([
            Span::new("  Latency of bad responses", Style::Bold),
            Span::new("   (no response was ok)", Style::Dim),
        ]);
        table.label = Span::plain("");
        table.rows.iter_mut().filter(|row| !row.values.is_empty()).for_each(|row| {
            row.remark.clear();
        });
    }
    table.write(page);
    for text in legend(document, &columns, &lines) {
        page.paragraph(Span::plain(""), 2, &Span::new(text, Style::Dim));
    }
    Ok(())
}

/// A column's title and values.
type Times<'d> = (&'static str, Cow<'d, Summary>);

/// Columns of the table. Open loop: from the planned time, then from the send. Closed loop, which
/// has no planned times: from the send. Columns without a value are left out.
fn columns(document: &Document, verbose: bool) -> Vec<Times<'_>> {
    let latency = &document.latency;
    let (mut columns, ok) = match document.plan.load {
        Load::OpenLoop { .. } => (
            vec![
                headline("response time", &latency.response_time),
                headline("service time", &latency.service_time),
                headline("send lag", &latency.send_lag),
            ],
            &latency.response_time.ok,
        ),
        Load::ClosedLoop => (
            vec![
                headline("service time", &latency.service_time),
                headline("first byte", &latency.first_byte),
            ],
            &latency.service_time.ok,
        ),
    };
    // If failures hide the usual percentiles, those of `ok` requests get a column.
    if is_hidden(&columns[0].1) {
        columns.insert(1, ("ok only", Cow::Borrowed(ok)));
    }
    if verbose {
        columns.push(headline("connect", &latency.connect));
    }
    columns.retain(|(_, summary)| summary.count > 0);
    columns
}

fn headline<'d>(title: &'static str, metric: &'d Metric) -> Times<'d> {
    (title, Cow::Borrowed(metric.headline()))
}

/// Columns of a run without an `ok` request.
fn bad_columns(document: &Document) -> Result<Vec<Times<'static>>, String> {
    let latency = &document.latency;
    let window_s = document.throughput.window_s;
    let time = |title, metric: &Metric| {
        let bad = metric.by_outcome()?.bad;
        Ok::<Times<'static>, String>((title, Cow::Owned(summary_of(&bad, window_s))))
    };
    Ok(match document.plan.load {
        Load::OpenLoop { .. } => vec![
            time("response time", &latency.response_time)?,
            time("service time", &latency.service_time)?,
        ],
        Load::ClosedLoop => vec![time("service time", &latency.service_time)?],
    })
}

/// Summarizes requests that the document has no summary of.
fn summary_of(histogram: &Histogram, window_s: f64) -> Summary {
    let count = histogram.count();
    let listed = LINES.into_iter().chain([VERBOSE_LINE]);
    let values = listed.clone().filter(|p| has_beyond(*p, count)).filter_map(|p| {
        let value = PercentileValue::new(p, histogram.percentile(p)?, Bound::Exact);
        Some(PercentileValue { imprecise: !is_supported(p, count), ..value })
    });
    let unsupported = listed.filter(|p| !is_supported(*p, count)).map(|p| {
        let needed_samples = count_needed(p);
        let needed_s = needed_samples as f64 * window_s / count.max(1) as f64;
        UnsupportedPercentile { p, needed_samples, needed_s: (needed_s > 0.0).then_some(needed_s) }
    });
    Summary {
        count,
        min_ns: (count > 0).then_some(histogram.exact().min_ns),
        max_ns: (count > 0).then_some(histogram.exact().max_ns),
        mean_ns: histogram.mean_ns(),
        stdev_ns: histogram.stdev_ns(),
        mean_bound: Bound::Exact,
        percentiles: values.collect(),
        unsupported: unsupported.collect(),
    }
}

/// True if a printed percentile is a lower bound or unknown.
fn is_hidden(summary: &Summary) -> bool {
    let mut values = LINES.iter().filter_map(|p| summary.percentile(*p));
    values.any(|value| matches!(value.bound, Bound::Lower | Bound::Unknown))
}

impl Table {
    fn of(document: &Document, columns: &[Times<'_>], lines: &[f64]) -> Table {
        let headline = &columns[0].1;
        let values = || lines.iter().filter_map(|p| headline.percentile(*p));
        let has_intervals = values().any(|value| interval(value).is_some());
        // Overhead of the response time: in a closed loop that is the service time.
        let has_overhead = document.accounting.ok > 0
            && values().any(|value| overhead(document, value.p).is_some());
        let row = |label: String, cell: &dyn Fn(&Summary) -> Option<Cell>, remark: String| {
            let mut values: Vec<Option<Cell>> =
                columns.iter().map(|(_, summary)| cell(summary)).collect();
            if has_overhead {
                values.insert(overhead_index(columns), None);
            }
            if has_intervals {
                values.insert(1, None);
            }
            Row { label, values, remark }
        };
        let mut rows = Vec::new();
        for p in lines {
            let label = format!("p{p}");
            let Some(value) = headline.percentile(*p) else {
                let needed = units::count(least_count(*p));
                let remark = format!("needs {needed} requests");
                rows.push(Row { label, values: Vec::new(), remark });
                continue;
            };
            let mut row = row(label, &|of| of.percentile(*p).map(time), String::new());
            if has_overhead {
                let index = overhead_index(columns) + usize::from(has_intervals);
                row.values[index] = overhead(document, *p);
            }
            if has_intervals {
                row.values[1] = interval(value);
            }
            rows.push(row);
        }
        rows.push(row("max".to_owned(), &greatest, failures(document)));
        let remark = if document.failed() > 0 { "(of responses)" } else { "" };
        rows.push(row("mean".to_owned(), &mean, remark.to_owned()));
        let mut heads: Vec<Column> = columns
            .iter()
            .map(|(title, summary)| Column { title, unit: unit_of(summary) })
            .collect();
        if has_overhead {
            let overheads = &document.verdict.client_overhead;
            let typical_ns = overheads.iter().map(|of| of.client_ns).min().unwrap_or(0);
            let unit = DurationColumn::of(typical_ns);
            heads.insert(overhead_index(columns), Column { title: "client overhead", unit });
        }
        if has_intervals {
            heads.insert(1, Column { title: "95% interval", unit: unit_of(headline) });
        }
        Table { label: Span::new("  Latency", Style::Bold), columns: heads, rows }
    }
}

/// Index of the client overhead's column: after the times that it is a share of.
fn overhead_index(columns: &[Times<'_>]) -> usize {
    let times = ["response time", "service time", "ok only"];
    columns.iter().take_while(|(title, _)| times.contains(title)).count()
}

/// Client overhead of percentile `p`, as far as it is known.
fn overhead(document: &Document, p: f64) -> Option<Cell> {
    let of = document.verdict.client_overhead.iter().find(|of| of.p == p)?;
    Some(match of.is_partial {
        true => Cell::OrMore(of.client_ns),
        false => Cell::time(Quantile { ns: of.client_ns, bound: Bound::Exact }),
    })
}

fn time(value: &PercentileValue) -> Cell {
    let PercentileValue { ns, bound, imprecise, .. } = *value;
    Cell::Time { value: Quantile { ns, bound }, imprecise }
}

/// The sampling interval of a value; for an upper bound, the range that holds the target's own
/// value.
fn interval(value: &PercentileValue) -> Option<Cell> {
    match (value.bound, value.range) {
        (Bound::Upper, range) => {
            range.map(|range| Cell::Interval { low_ns: range.low_ns, high_ns: Some(range.high_ns) })
        }
        (Bound::Unknown, _) => None,
        _ => value.low_ns.map(|low_ns| Cell::Interval { low_ns, high_ns: value.high_ns }),
    }
}

fn greatest(summary: &Summary) -> Option<Cell> {
    let bound = summary.percentile(100.0).map_or(Bound::Exact, |value| value.bound);
    summary.max_ns.map(|ns| Cell::time(Quantile { ns, bound }))
}

/// The mean to the nearest nanosecond.
fn mean(summary: &Summary) -> Option<Cell> {
    let bound = summary.mean_bound;
    mean_ns(summary).map(|ns| Cell::time(Quantile { ns, bound }))
}

fn mean_ns(summary: &Summary) -> Option<u64> {
    summary.mean_ns.map(|ns| ns.round() as u64)
}

/// The unit that suits a column: its median's, else its mean's, else that of its greatest value.
pub(super) fn unit_of(summary: &Summary) -> DurationColumn {
    let median = summary.percentile(50.0).map(|value| value.ns);
    let typical = median.or(mean_ns(summary)).or(summary.max_ns);
    DurationColumn::of(typical.unwrap_or(0))
}

/// Formats the failures that make the greatest value a bound.
fn failures(document: &Document) -> String {
    let failed: Vec<String> = super::details::failures(&document.accounting)
        .into_iter()
        .map(|(name, count)| format!("{} {name}", units::count(count)))
        .collect();
    if failed.is_empty() { String::new() } else { format!("({})", failed.join(", ")) }
}

/// One line for each mark that occurs, and for `~` if it occurs in the first column.
fn legend(document: &Document, columns: &[Times<'_>], lines: &[f64]) -> Vec<String> {
    let has = |bound| {
        let is_marked = |of: &Summary| {
            let mut values = lines.iter().filter_map(|p| of.percentile(*p));
            values.any(|value| value.bound == bound) || of.mean_bound == bound
        };
        columns.iter().any(|(_, summary)| is_marked(summary))
    };
    let mut greatest = columns.iter().filter_map(|(_, summary)| summary.percentile(100.0));
    let has_unknown = greatest.any(|value| value.bound == Bound::Unknown);
    let mut legend = Vec::new();
    if has(Bound::Upper) {
        let rate = units::round_rate(document.throughput.completed_rps);
        let in_flight = in_flight(document).map(|n| format!(", {n:.1} requests in flight"));
        let in_flight = in_flight.unwrap_or_default();
        legend.push(format!("≤: upper bound, client overhead included; at {rate}{in_flight}"));
    }
    if has(Bound::Lower) {
        legend.push(">: lower bound; failed requests count as slower than any response".to_owned());
    }
    if has_unknown || has(Bound::Unknown) {
        let text = "unknown: falls on a failed request, and client overhead inflates it";
        legend.push(text.to_owned());
    }
    legend.extend(uncertain(document, &columns[0].1, lines));
    legend
}

/// Mean number of requests in flight.
fn in_flight(document: &Document) -> Option<f64> {
    let window_ns = document.throughput.window_s * 1e9;
    let integral_ns = document.occupancy?.integral_ns as f64;
    (window_ns > 0.0).then(|| integral_ns / window_ns)
}

/// Length of a run that would settle the percentiles marked with `~`.
fn uncertain(document: &Document, headline: &Summary, lines: &[f64]) -> Option<String> {
    let values = lines.iter().filter_map(|p| headline.percentile(*p));
    let marked: Vec<f64> = values
        .filter(|value| value.imprecise && value.bound != Bound::Unknown)
        .map(|value| value.p)
        .collect();
    let last = marked.last()?;
    let names: Vec<String> = marked.iter().map(|p| format!("p{p}")).collect();
    let (names, are) = match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => {
            (format!("{} and {last}", rest.join(", ")), "are")
        }
        _ => (names.concat(), "is"),
    };
    let text = format!("~: {names} {are} uncertain: too few independent samples");
    let needed = headline.unsupported.iter().find(|of| of.p == *last);
    let remedy = needed.and_then(|of| match (document.plan.requests, of.needed_s) {
        (Some(_), _) => Some(format!("use -n {}", of.needed_samples)),
        (None, Some(seconds)) if seconds < SECONDS_MAX => {
            Some(format!("run ≥ {} s", seconds.ceil()))
        }
        (None, _) => None,
    });
    Some(remedy.map_or(text.clone(), |remedy| format!("{text}; {remedy}")))
}
