//! The result as Fortio's JSON, for programs that read one: Istio's benchmark runner, Fortio's own
//! pages. Times are in seconds, lengths of time in nanoseconds.
//!
//! The file has one number for each figure. Its member `weir`, which readers of Fortio's files
//! ignore, says which of them are no exact values.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::{Value, json};
use weir_result::histogram::lowest_in;
use weir_result::quantile::rank_of;
use weir_result::{Document, Histogram, summed};

use crate::distribution::{Certainty, Distribution, uncertain};
use crate::foreign::{origin, statuses, timestamp};
use crate::json;

/// Return code of requests without a response.
const NO_RESPONSE: &str = "-1";

/// Annotation of a run that becomes its labels.
const LABELS: &str = "labels";

/// Percentiles of a histogram.
const PERCENTILES: [f64; 6] = [50.0, 75.0, 90.0, 95.0, 99.0, 99.9];

/// A bucket of the file holds `2^MERGED` of the document's, so it is 3% wide.
const MERGED: u32 = 5;

/// Writes the result.
///
/// # Errors
/// Errors of `out`.
pub fn write(document: &Document, out: &mut dyn Write) -> io::Result<()> {
    let plan = &document.plan;
    let results = &document.results;
    let throughput = &document.throughput;
    let (durations, errors, certainty) = durations(document);
    let labels = document.run.annotations.get(LABELS).unwrap_or(&plan.url);
    let weir = origin(document, &json!({ "DurationHistogram": certainty }));
    let t0_ns = document.phases.first().map_or(0, |of| of.t0_ns);
    let requested_qps = match plan.load.rate() {
        Some(rate) => whole_or_fraction(rate.rps()).to_string(),
        None => "max".to_owned(),
    };
    let requested_duration = match (plan.load.requests, plan.load.length_ns()) {
        (Some(requests), _) => format!("exactly {requests} calls"),
        (None, Some(ns)) => format!("{}s", whole_or_fraction(seconds(ns))),
        (None, None) => "until stop".to_owned(),
    };
    let result = json!({
        "RunType": "HTTP",
        "Labels": labels,
        "StartTime": timestamp(document, t0_ns),
        "RequestedQPS": requested_qps,
        "RequestedDuration": requested_duration,
        "ActualQPS": results.completed_rps,
        "ActualDuration": (throughput.window_s * 1e9).round() as u64,
        // Each of Fortio's threads has one connection.
        "NumThreads": plan.load.connections.count(),
        "Version": format!("weir {}", document.tool.version),
        "Exactly": plan.load.requests.unwrap_or(0),
        "ID": document.run.id,
        "URL": plan.url,
        "DurationHistogram": durations,
        "ErrorsDurationHistogram": errors,
        "RetCodes": statuses(results, NO_RESPONSE),
        "Sizes": {
            // Readers take this for the number of requests.
            "Count": results.planned,
            "Sum": throughput.bytes_received,
            "Avg": throughput.bytes_received as f64 / results.completed.max(1) as f64,
        },
        "weir": weir,
    });
    json::write_value(&result, out)
}

/// Returns the histograms of all requests and of those that failed, and the figures of the first
/// that are no exact values.
fn durations(document: &Document) -> (Value, Value, BTreeMap<String, Certainty>) {
    let metric = &document.results.response_time;
    let classes = &metric.times;
    let mut failed = classes.bad.clone();
    failed.add(&classes.failed_at);
    failed.add(&classes.censored);
    let of_failed = |p| failed.value_at_rank(rank_of(p, failed.count())).unwrap_or(0);
    let errors = histogram(&failed, PERCENTILES.map(|p| (p, of_failed(p))).into());
    let Some(times) = Distribution::of(metric) else {
        return (histogram(&Histogram::new(), Vec::new()), errors, BTreeMap::new());
    };
    let percentiles = PERCENTILES.map(|p| (p, times.percentile(p)));
    let named = percentiles.map(|(p, figure)| (format!("p{p}"), figure));
    let others = [("Max", times.max()), ("Sum", times.total())];
    let others = others.map(|(name, figure)| (name.to_owned(), figure));
    let certainty = uncertain(others.into_iter().chain(named));
    let percentiles = percentiles.map(|(p, figure)| (p, figure.ns));
    (histogram(times.all(), percentiles.into()), errors, certainty)
}

/// A histogram with these percentiles in nanoseconds.
fn histogram(times: &Histogram, percentiles: Vec<(f64, u64)>) -> Value {
    let exact = times.exact();
    let is_empty = times.is_empty();
    let percentiles = percentiles.into_iter().filter(|_| !is_empty);
    let percentiles: Vec<Value> = percentiles
        .map(|(p, ns)| json!({ "Percentile": whole_or_fraction(p), "Value": seconds(ns) }))
        .collect();
    json!({
        "Count": exact.count,
        "Min": seconds(if is_empty { 0 } else { exact.min_ns }),
        "Max": seconds(exact.max_ns),
        "Sum": exact.sum_ns as f64 / 1e9,
        "Avg": times.mean_ns().unwrap_or(0.0) / 1e9,
        "StdDev": times.stdev_ns().unwrap_or(0.0) / 1e9,
        "Data": buckets(times),
        "Percentiles": percentiles,
    })
}

/// The buckets, each with the percentage of values up to its end. The first begins at the least
/// value, the last ends at the greatest.
fn buckets(times: &Histogram) -> Vec<Value> {
    let merged = summed(times.buckets().map(|(bucket, count)| (bucket >> MERGED, count)));
    let exact = times.exact();
    let mut reached = 0;
    let entries = merged.into_iter().map(|(bucket, count)| {
        reached += count;
        let start = lowest_in(bucket << MERGED).max(exact.min_ns);
        // Values beyond the histogram's range are in its last bucket.
        let is_last = reached == exact.count;
        let end = if is_last { exact.max_ns } else { lowest_in((bucket + 1) << MERGED) };
        json!({
            "Start": seconds(start),
            "End": seconds(end),
            "Percent": 100.0 * reached as f64 / exact.count as f64,
            "Count": count,
        })
    });
    entries.collect()
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// Returns a number without a fraction as an integer, as Go writes it: readers take `50.0` for
/// another percentile than `50`.
fn whole_or_fraction(number: f64) -> Value {
    if number.fract() == 0.0 { Value::from(number as u64) } else { Value::from(number) }
}
