//! Latency by cause: the client, waiting for a connection, the server.

use weir_result::Document;
use weir_result::document::Metric;

use crate::view::{Axis, AxisUnit, Mark, Plot, Role, Scale, short};

/// Plots the parts of the mean and of the percentiles; `None` without an `ok` request.
pub(super) fn latency(document: &Document) -> Option<Plot> {
    let results = &document.results;
    let latency = &document.latency;
    let mean = |metric: &Metric| metric.ok.mean_ns.unwrap_or(0.0);
    results.response_time.ok.mean_ns?;
    // Both are empty in a closed loop, which has no plan.
    let lag = mean(&latency.sched_lag);
    let wait = mean(&latency.connection_wait);
    let mut rows = vec![("mean".to_owned(), lag, wait, mean(&results.service_time))];
    for of in &document.verdict.client_overhead {
        let all = of.ns as f64;
        let client = of.client_ns as f64;
        rows.push((format!("p{}", of.p), client, 0.0, (all - client).max(0.0)));
    }
    let part = |name: &str, role, length: fn(&(String, f64, f64, f64)) -> f64| Mark::Bar {
        name: name.to_owned(),
        role,
        y: rows.iter().map(|row| row.0.clone()).collect(),
        x: rows.iter().map(|row| short(length(row))).collect(),
    };
    let mut marks = vec![part("client", Role::Reference, |row| row.1)];
    if wait > 0.0 {
        marks.push(part("waiting for a connection", Role::Second, |row| row.2));
    }
    marks.push(part("server and network", Role::Main, |row| row.3));
    let waits =
        if wait > 0.0 { " Of the percentiles, it includes waiting for a connection." } else { "" };
    let about = format!(
        "Of ok requests: time that weir added, and time of the server and the network.{waits}"
    );
    let names = Axis { scale: Scale::Names, ..Axis::linear("", AxisUnit::Name) };
    let axes = [Axis::linear("Time", AxisUnit::Nanoseconds), names];
    Some(Plot::new(["latency-breakdown", "Latency by cause"], about, axes, marks))
}
