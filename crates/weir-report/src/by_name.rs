//! Results by name as fields, for formats whose records are flat. It writes no format.

use serde_json::{Value, json};
use weir_result::document::{NameSection, Summary};

/// Percentiles with a field, and another for the kind of bound.
const PERCENTILES: [(&str, f64); 4] =
    [("p50", 50.0), ("p90", 90.0), ("p99", 99.0), ("p99_9", 99.9)];

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

/// Returns the fields of a time, each with the time's name before its own; a bound is `exact`,
/// `lower`, `upper` or `unknown`.
pub(crate) fn summary_fields(time: &str, summary: &Summary) -> Vec<(String, Value)> {
    let bound_at = |p: f64| summary.percentile(p).map(|value| value.bound.in_words());
    let both = |field: &str, ns: Value, bound: Option<&str>| {
        [(format!("{time}_{field}_ns"), ns), (format!("{time}_{field}_bound"), json!(bound))]
    };
    let percentiles = PERCENTILES.iter().flat_map(|(field, p)| {
        both(field, json!(summary.percentile(*p).map(|value| value.ns)), bound_at(*p))
    });
    let mean_bound = summary.mean_ns.map(|_| summary.mean_bound.in_words());
    let max = both("max", json!(summary.max_ns), bound_at(100.0));
    percentiles.chain(max).chain(both("mean", json!(summary.mean_ns), mean_bound)).collect()
}
