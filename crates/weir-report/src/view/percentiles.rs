//! The table `Latency`: p50, p90, p99, p99.9, the greatest and the mean, in the columns that apply
//! to the load. A legend explains the marks that occur in it.

use std::borrow::Cow;

use weir_result::Document;
use weir_result::document::{Metric, PercentileValue, Summary, UnsupportedPercentile};
use weir_result::quantile::{Bound, Quantile, has_beyond, least_count};
use weir_text::setting::REQUESTS;
use weir_text::units::{self, DurationColumn};

use super::{Block, CellValue, Fact, Row, Table, TableKind, Tone};

/// Percentiles with a line of their own.
const LINES: [f64; 4] = [50.0, 90.0, 99.0, 99.9];

/// Percentile that a verbose report adds, if it has a value.
const VERBOSE_LINE: f64 = 99.99;

/// Longest run to recommend, in seconds: one day.
const SECONDS_MAX: f64 = 86_400.0;

/// Builds the table.
pub(super) fn blocks(document: &Document, verbose: bool) -> Vec<Block> {
    if document.results.responses() == 0 {
        // Ages of unanswered requests have percentiles too, but they do not describe the target.
        let unknown = Block::sentence(
            "Latency",
            Fact::text("unknown: no request of the window got a response"),
        );
        let is_planned = document.results.planned > 0;
        return is_planned.then_some(unknown).into_iter().collect();
    }
    let is_bad_only = document.results.outcomes.ok == 0;
    let columns = if is_bad_only { bad_columns(document) } else { columns(document) };
    let Some((_, headline)) = columns.first() else {
        return Vec::new();
    };
    let mut lines = LINES.to_vec();
    lines.extend([VERBOSE_LINE].into_iter().filter(|p| verbose && has_beyond(*p, headline.count)));
    let mut table = table(document, &columns, &lines);
    if is_bad_only {
        table.title = "Latency of bad responses";
        "(no response was ok)".clone_into(&mut table.caption);
        let with_values = table.rows.iter_mut().filter(|row| !row.cells.is_empty());
        with_values.for_each(|row| row.remark = None);
    }
    vec![Block::Table(table)]
}

/// The times of the load with their names; the time from the planned sends is first. A closed loop,
/// which has no planned sends, has one.
pub(super) fn of_load(document: &Document) -> Vec<(&'static str, &Metric)> {
    [document.headline_time()].into_iter().chain(document.time_beside()).collect()
}

/// A column's title and values.
pub(super) type TitledTimes<'d> = (&'static str, Cow<'d, Summary>);

/// Columns of the table. Open loop: from the planned time, then from the send. Closed loop, which
/// has no planned times: from the send. Columns without a value are left out.
fn columns(document: &Document) -> Vec<TitledTimes<'_>> {
    let mut times = of_load(document);
    let ok = &times[0].1.ok;
    times.push(match document.time_beside() {
        Some(_) => ("send lag", &document.latency.send_lag),
        None => ("first byte", &document.latency.first_byte),
    });
    let columns = times.into_iter().map(|(title, of)| (title, Cow::Borrowed(of.headline())));
    let mut columns: Vec<TitledTimes<'_>> = columns.collect();
    // If failures hide the usual percentiles, the percentiles of `ok` requests get a column.
    let mut listed = LINES.iter().filter_map(|p| columns[0].1.percentile(*p));
    if listed.any(|value| matches!(value.bound, Bound::Lower | Bound::Unknown)) {
        // Where requests were shed by plan, they say nothing about the target.
        let place = usize::from(document.results.outcomes.unsent_by_plan() == 0);
        columns.insert(place, ("ok only", Cow::Borrowed(ok)));
    }
    columns.retain(|(_, summary)| summary.count > 0);
    columns
}

/// Columns of a run without an `ok` request.
fn bad_columns(document: &Document) -> Vec<TitledTimes<'static>> {
    let window_s = document.throughput.window_s;
    let time = |(title, metric): (&'static str, &Metric)| -> TitledTimes<'static> {
        (title, Cow::Owned(Summary::of_responses(&metric.times.bad, window_s)))
    };
    of_load(document).into_iter().map(time).collect()
}

/// A column of the table: a cell for each percentile, the greatest time and the mean.
pub(super) struct PercentileColumn {
    pub(super) title: &'static str,
    pub(super) cells: Vec<CellValue>,
}

fn table(document: &Document, times: &[TitledTimes<'_>], lines: &[f64]) -> Table {
    let headline = &times[0].1;
    let mut columns: Vec<PercentileColumn> =
        times.iter().map(|(title, summary)| PercentileColumn::of(title, summary, lines)).collect();
    // Overhead of the response time: in a closed loop that is the service time.
    let overheads = PercentileColumn::of_overheads(document, headline, lines);
    if let Some(overheads) = overheads.filter(|_| document.results.outcomes.ok > 0) {
        // After the times that it is a share of.
        let of_requests = ["response time", "service time", "ok only"];
        let index = times.iter().take_while(|(title, _)| of_requests.contains(title)).count();
        columns.insert(index, overheads);
    }
    if let Some(intervals) = PercentileColumn::of_intervals(headline, lines) {
        columns.insert(1, intervals);
    }
    let row = |index: usize, label: String, remark: &str| Row {
        remark: (!remark.is_empty()).then(|| Fact::text(remark)),
        ..Row::new(label, columns.iter().map(|column| column.cells[index].clone()))
    };
    let of_percentile = |(index, p): (usize, &f64)| match headline.percentile(*p) {
        Some(_) => row(index, format!("p{p}"), ""),
        None => {
            let needed = Fact::text(format!("needs {} requests", units::count(least_count(*p))));
            Row { remark: Some(needed), ..Row::new(format!("p{p}"), Vec::<CellValue>::new()) }
        }
    };
    let mut rows: Vec<Row> = lines.iter().enumerate().map(of_percentile).collect();
    rows.push(row(lines.len(), "max".to_owned(), &failures(document)));
    let remark = if document.results.failed() > 0 { "(of responses)" } else { "" };
    rows.push(row(lines.len() + 1, "mean".to_owned(), remark));
    let titles = columns.iter().map(|column| column.title);
    let legend = legend(document, times, lines);
    Table { legend, ..Table::new(TableKind::Latency, "Latency", titles, rows) }
}

impl PercentileColumn {
    /// Times of a summary, as far as it has values.
    pub(super) fn of(title: &'static str, summary: &Summary, lines: &[f64]) -> PercentileColumn {
        let unit = unit_of(summary);
        let time = |ns, bound, imprecise| CellValue::time(Quantile { ns, bound }, imprecise, unit);
        let at = |p: &f64| {
            let value = summary.percentile(*p)?;
            Some(time(value.ns, value.bound, value.imprecise))
        };
        let bound = summary.percentile(100.0).map_or(Bound::Exact, |value| value.bound);
        let greatest = summary.max_ns.map(|ns| time(ns, bound, false));
        let mean = mean_ns(summary).map(|ns| time(ns, summary.mean_bound, false));
        let cells = lines.iter().map(at).chain([greatest, mean]);
        PercentileColumn { title, cells: cells.map(Option::unwrap_or_default).collect() }
    }

    /// Intervals of the percentiles; none if there is no interval.
    pub(super) fn of_intervals(headline: &Summary, lines: &[f64]) -> Option<PercentileColumn> {
        let unit = unit_of(headline);
        let cell = |p: &f64| {
            let (low_ns, high_ns) = interval(headline.percentile(*p)?)?;
            Some(CellValue::toned(unit.interval(low_ns, high_ns), Tone::Aside))
        };
        PercentileColumn::of_any("95% interval", lines.iter().map(cell))
    }

    /// Client overhead of the percentiles; none if it is not known.
    fn of_overheads(
        document: &Document,
        headline: &Summary,
        lines: &[f64],
    ) -> Option<PercentileColumn> {
        let overheads = &document.verdict.client_overhead;
        let typical_ns = overheads.iter().map(|of| of.client_ns).min().unwrap_or(0);
        let unit = DurationColumn::of(typical_ns);
        let cell = |p: &f64| {
            headline.percentile(*p)?;
            let overhead = overheads.iter().find(|of| of.p == *p)?;
            let ns = overhead.client_ns;
            Some(match overhead.is_partial {
                true => unit.or_more(ns).into(),
                false => unit.value(ns).into(),
            })
        };
        PercentileColumn::of_any("client overhead", lines.iter().map(cell))
    }

    /// A column without the greatest time and the mean; none if there is no value.
    fn of_any(
        title: &'static str,
        cells: impl Iterator<Item = Option<CellValue>>,
    ) -> Option<PercentileColumn> {
        let cells: Vec<Option<CellValue>> = cells.chain([None, None]).collect();
        let has_any = cells.iter().any(Option::is_some);
        let cells = cells.into_iter().map(Option::unwrap_or_default).collect();
        has_any.then_some(PercentileColumn { title, cells })
    }
}

/// The sampling interval of a value; for an upper bound, the range that holds the target's own
/// value.
fn interval(value: &PercentileValue) -> Option<(u64, Option<u64>)> {
    match (value.bound, value.range) {
        (Bound::Upper | Bound::Unknown, range) => {
            range.map(|range| (range.low_ns, Some(range.high_ns)))
        }
        _ => value.low_ns.map(|low_ns| (low_ns, value.high_ns)),
    }
}

/// The mean to the nearest nanosecond.
fn mean_ns(summary: &Summary) -> Option<u64> {
    summary.mean_ns.map(|ns| ns.round() as u64)
}

/// The unit that suits a column: its median's, else its mean's, else its greatest value's.
pub(super) fn unit_of(summary: &Summary) -> DurationColumn {
    let median = summary.percentile(50.0).map(|value| value.ns);
    let typical = median.or(mean_ns(summary)).or(summary.max_ns);
    DurationColumn::of(typical.unwrap_or(0))
}

/// Formats the failures that make the greatest value a bound.
fn failures(document: &Document) -> String {
    let failed: Vec<String> = super::details::failures(&document.results)
        .into_iter()
        .map(|(name, count)| format!("{} {name}", units::count(count)))
        .collect();
    if failed.is_empty() { String::new() } else { format!("({})", failed.join(", ")) }
}

/// Explains each mark that occurs, and `~` if it occurs in the first column.
pub(super) fn legend(
    document: &Document,
    columns: &[TitledTimes<'_>],
    lines: &[f64],
) -> Vec<String> {
    let has = |bound| {
        let is_marked = |of: &Summary| {
            let mut values = lines.iter().filter_map(|p| of.percentile(*p));
            values.any(|value| value.bound == bound) || of.mean_bound == bound
        };
        columns.iter().any(|(_, summary)| is_marked(summary))
    };
    let has_greatest = |bound| {
        let mut greatest = columns.iter().filter_map(|(_, summary)| summary.percentile(100.0));
        greatest.any(|value| value.bound == bound)
    };
    let mut legend = Vec::new();
    if has(Bound::Upper) {
        let rate = units::round_rate(document.results.completed_rps);
        let in_flight = in_flight(document).map(|n| format!(", {n:.1} requests in flight"));
        let in_flight = in_flight.unwrap_or_default();
        legend.push(format!("≤: upper bound, client overhead included; at {rate}{in_flight}"));
    }
    if has(Bound::Lower) || has_greatest(Bound::Lower) {
        let is_failed = document.results.failed() > 0 || document.results.open_streams() == 0;
        legend.push(if is_failed { LOWER_BOUNDS } else { OPEN_STREAMS }.to_owned());
    }
    let values = columns.iter().flat_map(|(_, summary)| &summary.percentiles);
    let mut unknown = values.filter(|value| value.bound == Bound::Unknown);
    if unknown.clone().any(|value| value.range.is_some()) {
        legend.push(LATE_READS.to_owned());
    }
    if has_greatest(Bound::Unknown) || unknown.any(|value| value.range.is_none()) {
        legend.push(match document.has_unmatched_pushes() {
            true => "unknown: pushed messages may have counted as echoes".to_owned(),
            false => UNKNOWN.to_owned(),
        });
    }
    legend.extend(uncertain(document, &columns[0].1, lines));
    legend
}

/// Explanations of `>` and of `unknown`.
pub(super) const LOWER_BOUNDS: &str =
    ">: lower bound; failed requests count as slower than any response";
const UNKNOWN: &str =
    "unknown: falls on a request without an end, which the client may have delayed";
const OPEN_STREAMS: &str = ">: lower bound; it falls on a stream that was open at the end";
const LATE_READS: &str =
    "unknown: late reads of the client lengthen a gap and shorten the next; the interval holds it";

/// Mean number of requests in flight.
fn in_flight(document: &Document) -> Option<f64> {
    let window_ns = document.throughput.window_s * 1e9;
    let integral_ns = document.occupancy?.integral_ns as f64;
    (window_ns > 0.0).then(|| integral_ns / window_ns)
}

/// Returns the extent of a run that would settle a percentile; `None` if no choice of the user
/// makes the run so long.
fn longer_run(document: &Document, needed: &UnsupportedPercentile) -> Option<String> {
    let plan = &document.plan;
    let seconds = needed.needed_s.filter(|seconds| *seconds < SECONDS_MAX);
    if plan.load.requests.is_some() {
        return Some(format!("; use {REQUESTS} {}", needed.needed_samples));
    }
    if plan.load.is_one_load() {
        return Some(format!("; run ≥ {} s", seconds?.ceil()));
    }
    // A log has the length it has.
    let times = seconds? / document.throughput.window_s;
    (plan.load.stage_count() > 0)
        .then(|| format!("; stages {:.1} times as long settle it", (times * 10.0).ceil() / 10.0))
}

/// Names the percentiles marked with `~`, and the extent of a run that would settle the last of
/// them.
fn uncertain(document: &Document, headline: &Summary, lines: &[f64]) -> Option<String> {
    let values = lines.iter().filter_map(|p| headline.percentile(*p));
    let percentiles = values.filter(|value| value.imprecise && value.bound != Bound::Unknown);
    let percentiles: Vec<f64> = percentiles.map(|value| value.p).collect();
    let (last, others) = percentiles.split_last()?;
    let others: Vec<String> = others.iter().map(|p| format!("p{p}")).collect();
    let names = match others.is_empty() {
        true => format!("p{last} is"),
        false => format!("{} and p{last} are", others.join(", ")),
    };
    let needed = headline.unsupported.iter().find(|of| of.p == *last);
    let remedy = needed.and_then(|needed| longer_run(document, needed)).unwrap_or_default();
    Some(format!("~: {names} uncertain: too few independent samples{remedy}"))
}
