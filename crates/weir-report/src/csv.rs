//! The series, the percentiles and the figures of several runs as CSV (RFC 4180), for spreadsheets
//! and notebooks. No text is a formula to a spreadsheet.

use std::io::{self, Write};

use serde_json::Value;
use weir_result::document::{Metric, SeriesEntry};
use weir_result::quantile::Bound;
use weir_result::{Document, SparseHistogram};
use weir_text::printable;

use crate::by_scope::{self, ScopeResults};
use crate::findings::Data;
use crate::streams;

/// Fields that name an interval.
const PLACE: [&str; 3] = ["start_s", "length_s", "phase"];

/// Writes the time series: a row for each interval. Times are in seconds from t0 and, with `_ns`,
/// in nanoseconds; an empty cell is an unknown value.
///
/// # Errors
/// Errors of `out`.
pub fn write_series(document: &Document, out: &mut dyn Write) -> io::Result<()> {
    let Some(first) = document.series.first() else { return Ok(()) };
    let of = |entry| fields(entry).into_iter().chain(bounds(document, entry));
    let names: Vec<String> = of(first).map(|(name, _)| name).collect();
    row(&names, out)?;
    for entry in &document.series {
        let cells: Vec<String> = of(entry).map(|(_, value)| cell(&value)).collect();
        row(&cells, out)?;
    }
    Ok(())
}

/// Percentiles of an interval, each with a field for its bound.
const BOUNDED: [(&str, f64); 4] = [("p50", 50.0), ("p90", 90.0), ("p99", 99.0), ("max", 100.0)];

/// Fields of the bounds of an interval's percentiles as those of all its requests: failures are
/// slower than any response, and the client may have been late in any interval if it was in the
/// run.
fn bounds(document: &Document, entry: &SeriesEntry) -> impl Iterator<Item = (String, Value)> {
    let (_, metric) = document.headline_time();
    let has_failures = entry.errors + entry.timed_out > 0;
    let bound = move |p: f64| {
        let mut listed = metric.headline().percentiles.iter().filter(|value| value.p <= p);
        let is_late = |bound| matches!(bound, Bound::Upper | Bound::Unknown);
        match (listed.next_back().is_some_and(|value| is_late(value.bound)), has_failures) {
            (false, false) => Bound::Exact,
            (false, true) => Bound::Lower,
            (true, false) => Bound::Upper,
            (true, true) => Bound::Unknown,
        }
    };
    let is_known = entry.completed > 0;
    BOUNDED.into_iter().map(move |(field, p)| {
        let bound = is_known.then(|| bound(p).in_words());
        (format!("{field}_bound"), bound.map_or(Value::Null, Value::from))
    })
}

/// Fields of an interval by their names in the document, without its histogram; its place in time
/// comes first.
pub(crate) fn fields(entry: &SeriesEntry) -> Vec<(String, Value)> {
    let entry = SeriesEntry { latency: SparseHistogram::default(), ..entry.clone() };
    let Ok(Value::Object(fields)) = serde_json::to_value(entry) else { return Vec::new() };
    let place = |name: &str| PLACE.iter().position(|first| *first == name).unwrap_or(PLACE.len());
    let mut fields: Vec<_> = fields.into_iter().filter(|(name, _)| name != "latency").collect();
    fields.sort_by_key(|(name, _)| place(name));
    fields
}

/// Writes the results by name of a run with a list: a row for each name. Without a list there are
/// only titles.
///
/// # Errors
/// Errors of `out`.
pub fn write_names(document: &Document, out: &mut dyn Write) -> io::Result<()> {
    let titles: Vec<String> =
        by_scope::fields_of_name(document.names.first().unwrap_or(&Default::default()))
            .into_iter()
            .map(|(title, _)| title)
            .collect();
    row(&titles, out)?;
    document.names.iter().try_for_each(|name| {
        let cells: Vec<String> =
            by_scope::fields_of_name(name).iter().map(|(_, of)| cell(of)).collect();
        row(&cells, out)
    })
}

/// Writes the results by stage: a row for each stage, with its number from 1. Without stages there
/// are only titles.
///
/// # Errors
/// Errors of `out`.
pub fn write_stages(document: &Document, out: &mut dyn Write) -> io::Result<()> {
    let titles = by_scope::fields_of_stage(document.stages.first().unwrap_or(&Default::default()));
    let titles = titles.into_iter().map(|(title, _)| title);
    row(&Vec::from_iter(std::iter::once("stage".to_owned()).chain(titles)), out)?;
    document.stages.iter().enumerate().try_for_each(|(index, stage)| {
        let cells = by_scope::fields_of_stage(stage).into_iter().map(|(_, of)| cell(&of));
        row(&Vec::from_iter(std::iter::once((index + 1).to_string()).chain(cells)), out)
    })
}

/// Writes the percentiles of the response time (closed loop: the service time) and of the service
/// time over all requests, with the 95% interval and the kind of bound. With a list, a column has
/// the name, and with stages one the number of the stage; they are empty in rows of the whole run.
///
/// # Errors
/// Errors of `out`.
pub fn write_percentiles(document: &Document, out: &mut dyn Write) -> io::Result<()> {
    let has_names = !document.names.is_empty();
    let has_stages = !document.stages.is_empty();
    let with = |cells: [&str; 6], name: &str, stage: &str| -> Vec<String> {
        let more = [(has_names, name), (has_stages, stage)];
        let more = more.into_iter().filter(|(has, _)| *has).map(|(_, cell)| cell);
        cells.into_iter().chain(more).map(str::to_owned).collect()
    };
    let titles = ["time", "percentile", "ns", "low_ns", "high_ns", "bound"];
    row(&with(titles, "name", "stage"), out)?;
    let results = &document.results;
    let latency = &document.latency;
    let times: [(&str, &Metric); 4] = [
        ("response_time", &results.response_time),
        ("service_time", &results.service_time),
        ("send_lag", &latency.send_lag),
        ("first_byte", &latency.first_byte),
    ];
    let whole = times.into_iter().chain(streams::times(document));
    let whole = whole.map(|(time, metric)| ("", "", time, metric.headline()));
    let scopes = by_scope::names(document).into_iter().chain(by_scope::stages(document));
    let scopes: Vec<ScopeResults<'_>> = scopes.collect();
    let by_scope = scopes.iter().flat_map(|scope| {
        let [name, stage] = ["name", "stage"].map(|tag| match scope.tag == tag {
            true => scope.value.as_ref(),
            false => "",
        });
        scope.results.times().map(move |(time, metric)| (name, stage, time, metric.headline()))
    });
    for (name, stage, time, summary) in whole.chain(by_scope) {
        for value in &summary.percentiles {
            let end = |ns: Option<u64>| ns.map_or_else(String::new, |ns| ns.to_string());
            let [p, ns] = [value.p.to_string(), value.ns.to_string()];
            let [low, high] = [end(value.low_ns), end(value.high_ns)];
            let cells = [time, &p, &ns, &low, &high, value.bound.in_words()];
            row(&with(cells, &text(name), stage), out)?;
        }
    }
    Ok(())
}

/// Writes the figures of several runs. An empty cell is an unknown value.
///
/// # Errors
/// Errors of `out`.
pub(crate) fn write_data(data: &Data, out: &mut dyn Write) -> io::Result<()> {
    row(&data.titles, out)?;
    data.rows.iter().try_for_each(|values| {
        let cells: Vec<String> = values.iter().map(cell).collect();
        row(&cells, out)
    })
}

fn row(cells: &[impl AsRef<str>], out: &mut dyn Write) -> io::Result<()> {
    let cells: Vec<&str> = cells.iter().map(AsRef::as_ref).collect();
    write!(out, "{}\r\n", cells.join(","))
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(word) => text(word),
        value => value.to_string(),
    }
}

/// Formats a cell of text. Spreadsheets take text that begins like a formula for one; an apostrophe
/// before it makes it text.
fn text(text: &str) -> String {
    let is_number = text.parse::<f64>().is_ok_and(f64::is_finite);
    let text = printable(text);
    let quote = match text.chars().next() {
        Some('=' | '+' | '-' | '@' | '\t' | '\r') if !is_number => "'",
        _ => "",
    };
    let text = format!("{quote}{text}");
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use weir_result::document::PercentileValue;

    use super::*;

    /// A failure is slower than any response, and a client that was late may have been in any
    /// interval.
    #[test]
    fn intervals_have_bounds() {
        let interval = |completed, errors| SeriesEntry { completed, errors, ..Default::default() };
        let with = |p99: Bound| {
            let series = vec![interval(5, 0), interval(5, 1), interval(0, 1)];
            let mut document = Document { series, ..Document::default() };
            let percentiles = &mut document.results.service_time.ok.percentiles;
            let value = |p, bound| PercentileValue { p, bound, ..PercentileValue::default() };
            *percentiles = vec![value(50.0, Bound::Exact), value(99.0, p99)];
            let mut out = Vec::new();
            write_series(&document, &mut out).expect("memory can be written");
            let text = String::from_utf8(out).expect("UTF-8");
            let ends = text.lines().map(|line| line.split(',').rev().take(4).collect::<Vec<_>>());
            ends.map(|mut end| {
                end.reverse();
                end.join(",")
            })
            .collect::<Vec<_>>()
        };
        let titles = "p50_bound,p90_bound,p99_bound,max_bound";
        let [exact, lower] = ["exact", "lower"].map(|bound| [bound; 4].join(","));
        assert_eq!(with(Bound::Exact), [titles, &exact, &lower, ",,,"]);
        let late = ["exact,exact,upper,upper", "lower,lower,unknown,unknown"];
        assert_eq!(with(Bound::Upper), [titles, late[0], late[1], ",,,"]);
    }

    #[test]
    fn no_text_is_a_formula() {
        for (given, expected) in [
            ("=1+1", "'=1+1"),
            ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("-2", "-2"),
            ("-2+3", "'-2+3"),
            ("+infinity", "'+infinity"),
            ("\t=1", "?=1"),
            ("\r=1", "?=1"),
            ("=1,\"2\"", "\"'=1,\"\"2\"\"\""),
            ("a\nb\u{0}\u{202e}", "a?b??"),
            ("c=10 path=/a", "c=10 path=/a"),
            ("漢字,", "\"漢字,\""),
        ] {
            assert_eq!(text(given), expected, "{given:?}");
        }
    }
}
