//! The series and the percentiles as CSV (RFC 4180), for spreadsheets and notebooks. Every cell is
//! a number or a word of weir's own, so that none is a formula to a spreadsheet.

use std::io::{self, Write};

use serde_json::Value;
use weir_result::Document;
use weir_result::document::{Metric, SeriesEntry};
use weir_result::quantile::Bound;

/// Fields that name an interval.
const PLACE: [&str; 3] = ["start_s", "length_s", "phase"];

/// Writes the time series: a row for each interval. Times are in seconds from t0 and, with `_ns`,
/// in nanoseconds; an empty cell is an unknown value.
///
/// # Errors
/// Errors of `out`.
pub fn write_series(document: &Document, out: &mut impl Write) -> io::Result<()> {
    let Some(first) = document.series.first() else { return Ok(()) };
    let names: Vec<String> = fields(first).into_iter().map(|(name, _)| name).collect();
    row(&names, out)?;
    for entry in &document.series {
        let cells: Vec<String> = fields(entry).iter().map(|(_, value)| cell(value)).collect();
        row(&cells, out)?;
    }
    Ok(())
}

/// Fields of an interval by their names in the document, without its histogram; its place in time
/// comes first.
pub(crate) fn fields(entry: &SeriesEntry) -> Vec<(String, Value)> {
    let entry = SeriesEntry { latency: None, ..entry.clone() };
    let Ok(Value::Object(fields)) = serde_json::to_value(entry) else { return Vec::new() };
    let place = |name: &str| PLACE.iter().position(|first| *first == name).unwrap_or(PLACE.len());
    let mut fields: Vec<_> = fields.into_iter().filter(|(name, _)| name != "latency").collect();
    fields.sort_by_key(|(name, _)| place(name));
    fields
}

/// Writes the percentiles of the response time (closed loop: the service time) and of the service
/// time over all requests, with the 95% interval and the kind of bound.
///
/// # Errors
/// Errors of `out`.
pub fn write_percentiles(document: &Document, out: &mut impl Write) -> io::Result<()> {
    row(&["time", "percentile", "ns", "low_ns", "high_ns", "bound"], out)?;
    let latency = &document.latency;
    let times: [(&str, &Metric); 4] = [
        ("response_time", &latency.response_time),
        ("service_time", &latency.service_time),
        ("send_lag", &latency.send_lag),
        ("first_byte", &latency.first_byte),
    ];
    for (time, metric) in times {
        for value in &metric.headline().percentiles {
            let end = |ns: Option<u64>| ns.map_or_else(String::new, |ns| ns.to_string());
            let bound = match value.bound {
                Bound::Exact => "exact",
                Bound::Lower => "lower",
                Bound::Upper => "upper",
                Bound::Unknown => "unknown",
            };
            let cells = [
                time.to_owned(),
                value.p.to_string(),
                value.ns.to_string(),
                end(value.low_ns),
                end(value.high_ns),
                bound.to_owned(),
            ];
            row(&cells, out)?;
        }
    }
    Ok(())
}

fn row(cells: &[impl AsRef<str>], out: &mut impl Write) -> io::Result<()> {
    let cells: Vec<&str> = cells.iter().map(AsRef::as_ref).collect();
    write!(out, "{}\r\n", cells.join(","))
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(word) => word.clone(),
        value => value.to_string(),
    }
}
