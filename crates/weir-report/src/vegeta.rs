//! The result as vegeta's JSON report, for programs that read one. Times are in nanoseconds.
//!
//! The report has one number for each figure. Its member `weir`, which readers of vegeta's report
//! ignore, says which of them are no exact values.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::{Map, Value, json};
use weir_result::Document;
use weir_result::document::Results;

use crate::distribution::{Certainty, Distribution, TimeFigure, uncertain};
use crate::foreign::{origin, statuses, timestamp};
use crate::json;

/// Status code of requests without a response.
const NO_RESPONSE: &str = "0";

/// Writes the report.
///
/// # Errors
/// Errors of `out`.
pub fn write(document: &Document, out: &mut dyn Write) -> io::Result<()> {
    let results = &document.results;
    let accounting = &document.accounting;
    let throughput = &document.throughput;
    let (latencies, certainty) = latencies(document);
    let sent = accounting.sent.measured;
    // Requests of a script differ in length.
    let bytes_out = (document.script.is_none() && document.plan.list.is_none())
        .then_some(sent * document.plan.request.body_bytes);
    let weir = origin(document, &json!({ "latencies": certainty }));
    let [earliest, latest, end] = instants(document);
    let report = json!({
        "latencies": latencies,
        "bytes_in": bytes(Some(throughput.bytes_received), results.completed),
        "bytes_out": bytes(bytes_out, sent),
        "earliest": timestamp(document, earliest),
        "latest": timestamp(document, latest),
        "end": timestamp(document, end),
        "duration": latest - earliest,
        "wait": end - latest,
        "requests": results.planned,
        "rate": throughput.sent_rps,
        "throughput": results.good_rps,
        "success": share(results.outcomes.ok, results.planned),
        "status_codes": statuses(results, NO_RESPONSE),
        "errors": errors(results),
        "weir": weir,
    });
    json::write_value(&report, out)
}

/// Returns the latencies, and those that are no exact values.
fn latencies(document: &Document) -> (Value, BTreeMap<String, Certainty>) {
    const PERCENTILES: [(&str, f64); 4] =
        [("50th", 50.0), ("90th", 90.0), ("95th", 95.0), ("99th", 99.0)];
    let Some(times) = Distribution::of(&document.results.response_time) else {
        return (Value::Object(Map::new()), BTreeMap::new());
    };
    let total = times.total();
    let mean = TimeFigure { ns: times.mean_ns().round() as u64, ..total };
    let mut figures = vec![("total", total), ("mean", mean)];
    figures.extend(PERCENTILES.map(|(name, p)| (name, times.percentile(p))));
    figures.extend([("max", times.max()), ("min", times.min())]);
    let values = figures.iter().map(|(name, figure)| ((*name).to_owned(), figure.ns.into()));
    (Value::Object(values.collect()), uncertain(figures))
}

/// Start and end of the window, and the end of the drain, in nanoseconds since the epoch.
fn instants(document: &Document) -> [u64; 3] {
    let phases = &document.phases;
    let start = phases.first().map_or(0, |of| of.t0_ns);
    let end = start + (document.throughput.window_s * 1e9).round() as u64;
    // Parts have epochs of their own, so that only spans can be compared.
    let drain = phases.iter().map(|of| of.drained_ns.saturating_sub(of.t1_ns)).max();
    [start, end, end + drain.unwrap_or(0)]
}

/// Bytes in all and per message; null if unknown.
fn bytes(total: Option<u64>, messages: u64) -> Value {
    let mean = total.map(|total| share(total, messages));
    json!({ "total": total, "mean": mean })
}

fn share(part: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { part as f64 / of as f64 }
}

/// Kinds of failure that occurred, as vegeta lists the texts of its errors.
fn errors(results: &Results) -> Vec<String> {
    let codes = results.status.keys().filter(|code| **code >= 400);
    // Of other failures the status or the error says what they are.
    let classes = results.outcomes.classes().into_iter().skip(3);
    let classes = classes.filter(|(_, count)| *count > 0);
    codes
        .map(|code| format!("status {code}"))
        .chain(results.errors.keys().cloned())
        .chain(classes.map(|(name, _)| name.replace('_', " ")))
        .collect()
}
