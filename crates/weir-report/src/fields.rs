//! The fields of a time, for formats whose records are flat. It writes no format.

use serde_json::{Value, json};
use weir_result::document::Summary;

/// Percentiles with a field, and another for the kind of bound.
const PERCENTILES: [(&str, f64); 4] =
    [("p50", 50.0), ("p90", 90.0), ("p99", 99.0), ("p99_9", 99.9)];

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
