//! The result as metrics in Prometheus' text format 0.0.4, as node_exporter's textfile collector
//! and a Pushgateway read them. Base units are seconds and bytes; names end in their unit, counters
//! in `_total` (<https://prometheus.io/docs/practices/naming/>).

mod page;

use std::io::{self, Write};

use weir_result::Document;
use weir_result::document::Metric;

use crate::distribution::{Certainty, Distribution};

use page::NS_PER_S;
pub use page::{BOUNDS_NS, MetricsPage, buckets};

/// Percentiles with a metric.
const PERCENTILES: [f64; 4] = [50.0, 90.0, 99.0, 99.9];

/// Writes the metrics of a run.
///
/// # Errors
/// Errors of `out`.
pub fn write(document: &Document, out: &mut dyn Write) -> io::Result<()> {
    let mut page = MetricsPage::default();
    about(document, &mut page);
    counts(document, &mut page);
    rates(document, &mut page);
    let latency = &document.latency;
    let times: [(&str, &str, &Metric); 3] = [
        ("response_time", "Time from the planned send to the response", &latency.response_time),
        ("service_time", "Time from the send to the response", &latency.service_time),
        ("send_lag", "Time from the planned send to the send", &latency.send_lag),
    ];
    for (name, help, metric) in times {
        time(name, help, metric, &mut page);
    }
    out.write_all(page.text().as_bytes())
}

fn about(document: &Document, page: &mut MetricsPage) {
    let grade = serde_json::to_value(document.verdict.grade).unwrap_or_default();
    let labels = [
        ("version", document.tool.version.as_str()),
        ("url", document.plan.url.as_str()),
        ("method", document.plan.request.method.as_str()),
        ("grade", grade.as_str().unwrap_or_default()),
    ];
    page.family("weir_run_info", "gauge", "The run; always 1");
    page.sample("weir_run_info", &labels, 1.0);
    let began_s = document.run.epoch_unix_ns as f64 / NS_PER_S;
    page.single("weir_run_start_time_seconds", "gauge", "Begin of the run, since 1970", began_s);
    let window_s = document.throughput.window_s;
    page.single("weir_window_seconds", "gauge", "Length of the measured window", window_s);
    let connections = document.plan.connections.into();
    page.single("weir_connections", "gauge", "Connections of the plan", connections);
}

/// Counts of measured requests: each ends in exactly one outcome.
fn counts(document: &Document, page: &mut MetricsPage) {
    let of = &document.accounting;
    let help = "Measured requests by outcome; their sum is the number planned";
    page.family("weir_requests_total", "counter", help);
    for (outcome, count) in [
        ("ok", of.ok),
        ("bad_response", of.bad_response),
        ("transport_error", of.transport_error),
        ("timed_out", of.timed_out),
        ("in_flight_at_end", of.in_flight_at_end),
        ("never_sent", of.never_sent),
    ] {
        page.sample("weir_requests_total", &[("outcome", outcome)], count as f64);
    }
    page.family("weir_responses_total", "counter", "Measured responses by status code");
    for (code, count) in &of.status {
        page.sample("weir_responses_total", &[("code", &code.to_string())], *count as f64);
    }
    page.family("weir_errors_total", "counter", "Requests without a complete response by error");
    for (kind, count) in &of.errors {
        page.sample("weir_errors_total", &[("error", kind)], *count as f64);
    }
    let bytes = document.throughput.bytes_received as f64;
    let help = "Bytes received in the window, heads included";
    page.single("weir_received_bytes_total", "counter", help, bytes);
}

fn rates(document: &Document, page: &mut MetricsPage) {
    let of = &document.throughput;
    if let Some(rps) = of.offered_rps {
        let help = "Planned requests per second; absent in a closed loop";
        page.single("weir_planned_requests_per_second", "gauge", help, rps);
    }
    let help = "Requests sent per second in the window";
    page.single("weir_sent_requests_per_second", "gauge", help, of.sent_rps);
    let help = "Complete responses per second in the window";
    page.single("weir_completed_requests_per_second", "gauge", help, of.completed_rps);
}

/// A time as a histogram of the responses, and as percentiles of all requests.
fn time(name: &str, help: &str, metric: &Metric, page: &mut MetricsPage) {
    let mut responses = metric.times.ok.clone();
    responses.add(&metric.times.bad);
    page.histogram(&format!("weir_{name}_seconds"), &format!("{help}, of responses"), &responses);
    let Some(all) = Distribution::of(metric) else { return };
    let family = format!("weir_{name}_percentile_seconds");
    let help = format!("{help}, of all requests; certainty says how it relates to the true value");
    page.family(&family, "gauge", &help);
    for percentile in PERCENTILES {
        let figure = all.percentile(percentile);
        if figure.certainty == Certainty::Unknown {
            continue;
        }
        let certainty = serde_json::to_value(figure.certainty).unwrap_or_default();
        let labels = [
            ("percentile", &*percentile.to_string()),
            ("certainty", certainty.as_str().unwrap_or_default()),
        ];
        page.sample(&family, &labels, figure.ns as f64 / NS_PER_S);
    }
}
