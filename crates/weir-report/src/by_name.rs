//! Results by name as fields, for formats whose records are flat. It writes no format.

use serde_json::{Value, json};
use weir_result::document::{NameSection, Summary};

/// Percentiles with a field.
const PERCENTILES: [(&str, f64); 4] =
    [("p50_ns", 50.0), ("p90_ns", 90.0), ("p99_ns", 99.0), ("p99_9_ns", 99.9)];

/// Returns the fields of a name, by their names in the document. Null is an unknown value.
pub(crate) fn fields(name: &NameSection) -> Vec<(String, Value)> {
    let interval = name.completed_interval;
    let counts = [
        ("name", Value::from(name.name.as_str())),
        ("planned", name.planned.into()),
        ("ok", name.ok.into()),
        ("bad_response", name.bad_response.into()),
        ("transport_error", name.transport_error.into()),
        ("timed_out", name.timed_out.into()),
        ("in_flight_at_end", name.in_flight_at_end.into()),
        ("never_sent", name.never_sent.into()),
        ("shed", name.shed.into()),
        ("completed", name.completed.into()),
        ("good", name.good.into()),
        ("completed_rps", name.completed_rps.into()),
        ("completed_low_rps", json!(interval.map(|interval| interval.low_rps))),
        ("completed_high_rps", json!(interval.map(|interval| interval.high_rps))),
    ];
    let counts = counts.into_iter().map(|(field, value)| (field.to_owned(), value));
    let times = [("response", &name.response_time), ("service", &name.service_time)];
    let summaries = times.map(|(time, metric)| (time, metric.headline()));
    counts.chain(summaries.into_iter().flat_map(|(time, of)| summary_fields(time, of))).collect()
}

/// Returns the fields of a time, each with the time's name before its own.
pub(crate) fn summary_fields(time: &str, summary: &Summary) -> Vec<(String, Value)> {
    let at = |p: f64| json!(summary.percentile(p).map(|value| value.ns));
    let percentiles = PERCENTILES.map(|(field, p)| (field, at(p)));
    let others = [("max_ns", json!(summary.max_ns)), ("mean_ns", json!(summary.mean_ns))];
    let fields = percentiles.into_iter().chain(others);
    fields.map(|(field, value)| (format!("{time}_{field}"), value)).collect()
}
