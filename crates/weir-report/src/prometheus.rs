//! The result as metrics in Prometheus' text format 0.0.4, as node_exporter's textfile collector
//! and a Pushgateway read them. Base units are seconds and bytes; names end in their unit, counters
//! in `_total` (<https://prometheus.io/docs/practices/naming/>).

use std::io::{self, Write};
use std::iter;

use weir_result::document::{Metric, NameSection};
use weir_result::quantile::Bound;
use weir_result::{Document, Histogram, histogram};
use weir_text::printable;

use crate::by_stage;
use crate::distribution::{Certainty, Distribution};
use crate::streams;

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
        time(name, help, &[(None, metric)], &mut page);
    }
    messages(document, &mut page);
    names(document, &mut page);
    stages(document, &mut page);
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
    let connections = document.plan.load.connections.count().into();
    page.single("weir_connections", "gauge", "Connections of the plan", connections);
    if let Some(most) = document.plan.load.connections.grows_to() {
        let help = "Greatest number of connections of the plan";
        page.single("weir_connections_max", "gauge", help, most.into());
        let grown = document.connections.grown as f64;
        page.single("weir_grown_connections_total", "counter", "Opened during the load", grown);
    }
}

/// Values of the label `outcome`.
const OUTCOMES: [&str; 6] =
    ["ok", "bad_response", "transport_error", "timed_out", "in_flight_at_end", "never_sent"];

/// Counts of measured requests: each ends in exactly one outcome.
fn counts(document: &Document, page: &mut MetricsPage) {
    let of = &document.accounting;
    let help = "Measured requests by outcome; their sum is the number planned";
    page.family("weir_requests_total", "counter", help);
    let counts = [
        of.ok,
        of.bad_response,
        of.transport_error,
        of.timed_out,
        of.in_flight_at_end,
        of.never_sent,
    ];
    for (outcome, count) in OUTCOMES.into_iter().zip(counts) {
        page.sample("weir_requests_total", &[("outcome", outcome)], count as f64);
    }
    if document.plan.load.in_flight_max.is_some() {
        let help = "Of the requests never sent: due beyond the limit of requests in flight";
        page.single("weir_shed_requests_total", "counter", help, of.shed as f64);
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

/// Counts, rates and times of messages within responses, if they are measured.
fn messages(document: &Document, page: &mut MetricsPage) {
    let Some(of) = &document.messages else { return };
    let received = of.received as f64;
    page.single("weir_messages_total", "counter", "Messages received in the window", received);
    let help = "Bytes of these messages, without framing";
    page.single("weir_message_bytes_total", "counter", help, of.bytes as f64);
    let help = "Messages received per second of the window";
    page.single("weir_messages_per_second", "gauge", help, of.per_second);
    if let Some(goodput) = &of.goodput {
        let help = "Responses that met the goodput, completed in the window";
        page.single("weir_good_responses_total", "counter", help, goodput.completed as f64);
        let help = "Measured requests whose response met the goodput, 0 to 1";
        page.single("weir_goodput_ratio", "gauge", help, goodput.share);
    }
    if let Some(tokens) = &of.tokens {
        let help = "Tokens by the server's count, received in the window";
        page.single("weir_tokens_total", "counter", help, tokens.received as f64);
        let help = "Tokens received per second of the window";
        page.single("weir_tokens_per_second", "gauge", help, tokens.per_second);
    }
    for (name, metric) in streams::times(&document.latency) {
        let help = match name {
            "first_message" => "Time from the planned send to the first message",
            "message_gap" => "Time from one message of a response to the next",
            "first_reasoning" => "Time from the planned send to the first message of the reasoning",
            "first_answer" => "Time from the planned send to the first message of the answer",
            _ => "Time per token after the first, by the server's count of tokens",
        };
        time(name, help, &[(None, metric)], page);
    }
}

/// Counts, rates and times of each name of a list. They are no samples of the metrics of the whole
/// run, so that a sum over a metric counts each request once.
fn names(document: &Document, page: &mut MetricsPage) {
    if document.names.is_empty() {
        return;
    }
    let labels = label_values(document.names.iter().map(|name| name.name.as_str()));
    let names: Vec<(&str, &NameSection)> =
        labels.iter().map(String::as_str).zip(&document.names).collect();
    let help = "Measured requests by name and outcome";
    page.family("weir_name_requests_total", "counter", help);
    for (label, name) in &names {
        let counts = [
            name.ok,
            name.bad_response,
            name.transport_error,
            name.timed_out,
            name.in_flight_at_end,
            name.never_sent,
        ];
        for (outcome, count) in OUTCOMES.into_iter().zip(counts) {
            let labels = [("name", *label), ("outcome", outcome)];
            page.sample("weir_name_requests_total", &labels, count as f64);
        }
    }
    let help = "Measured responses by name and status code";
    page.family("weir_name_responses_total", "counter", help);
    for (label, name) in &names {
        for (code, count) in &name.status {
            let labels = [("name", *label), ("code", &code.to_string())];
            page.sample("weir_name_responses_total", &labels, *count as f64);
        }
    }
    let help = "Complete responses per second in the window by name";
    page.family("weir_name_completed_requests_per_second", "gauge", help);
    for (label, name) in &names {
        let labels = [("name", *label)];
        page.sample("weir_name_completed_requests_per_second", &labels, name.completed_rps);
    }
    let response = names.iter().map(|(label, name)| (Some(*label), &name.response_time));
    let help = "Time from the planned send to the response by name";
    time("name_response_time", help, &Vec::from_iter(response), page);
    let service = names.iter().map(|(label, name)| (Some(*label), &name.service_time));
    let help = "Time from the send to the response by name";
    time("name_service_time", help, &Vec::from_iter(service), page);
}

/// Counts, rates and response times of each stage; as with names, in metrics of their own.
fn stages(document: &Document, page: &mut MetricsPage) {
    if document.stages.is_empty() {
        return;
    }
    let stages = by_stage::response_times(document);
    let help = "Requests due in each stage of the load by outcome";
    page.family("weir_stage_requests_total", "counter", help);
    for (number, of, _) in &stages {
        let counts = [
            of.ok,
            of.bad_response,
            of.transport_error,
            of.timed_out,
            of.in_flight_at_end,
            of.never_sent,
        ];
        for (outcome, count) in OUTCOMES.into_iter().zip(counts) {
            let labels = [("stage", number.as_str()), ("outcome", outcome)];
            page.sample("weir_stage_requests_total", &labels, count as f64);
        }
    }
    let family = "weir_stage_planned_requests_per_second";
    page.family(family, "gauge", "Requests due per second of each stage of the load");
    for (number, of, _) in &stages {
        page.sample(family, &[("stage", number)], of.planned_rps);
    }
    let family = "weir_stage_completed_requests_per_second";
    page.family(family, "gauge", "Complete responses per second of each stage of the load");
    for (number, of, _) in &stages {
        page.sample(family, &[("stage", number)], of.completed_rps);
    }
    let family = "weir_stage_response_time_seconds";
    let help = "Time from the planned send to the response by stage, of successful responses";
    page.family(family, "histogram", help);
    for (number, _, times) in &stages {
        page.histogram_samples(family, Some(("stage", number)), &times.times.ok);
    }
    let family = "weir_stage_response_time_percentile_seconds";
    let help = "Time from the planned send to the response by stage, of all requests; certainty \
                says how it relates to the true value";
    if stages.iter().any(|(_, _, times)| Distribution::of(times).is_some()) {
        page.family(family, "gauge", help);
    }
    for (number, _, times) in &stages {
        percentiles(family, Some(("stage", number)), times, page);
    }
}

/// Returns the values of the label `name` of names. Of names that differ in characters alone that
/// are not written, each after the first has a number.
pub fn label_values<'n>(names: impl IntoIterator<Item = &'n str>) -> Vec<String> {
    let mut values: Vec<String> = Vec::new();
    for name in names {
        let shown = printable(name);
        let numbered = (2..).map(|number| format!("{shown} #{number}"));
        let mut free = iter::once(shown.to_string()).chain(numbered);
        values.extend(free.find(|value| !values.contains(value)));
    }
    values
}

/// A time as a histogram of the responses, and as percentiles of all requests: of the whole run, or
/// of each name.
fn time(name: &str, help: &str, metrics: &[(Option<&str>, &Metric)], page: &mut MetricsPage) {
    let histogram = format!("weir_{name}_seconds");
    page.family(&histogram, "histogram", &format!("{help}, of responses"));
    for (name, metric) in metrics {
        let mut responses = metric.times.ok.clone();
        responses.add(&metric.times.bad);
        page.histogram_samples(&histogram, name.map(|name| ("name", name)), &responses);
    }
    let family = format!("weir_{name}_percentile_seconds");
    let help = format!("{help}, of all requests; certainty says how it relates to the true value");
    if metrics.iter().all(|(_, metric)| Distribution::of(metric).is_none()) {
        return;
    }
    page.family(&family, "gauge", &help);
    for (name, metric) in metrics {
        percentiles(&family, name.map(|name| ("name", name)), metric, page);
    }
}

fn percentiles(family: &str, part: Option<(&str, &str)>, metric: &Metric, page: &mut MetricsPage) {
    let Some(all) = Distribution::of(metric) else { return };
    for percentile in PERCENTILES {
        let figure = all.percentile(percentile);
        if figure.certainty == Certainty::Of(Bound::Unknown) {
            continue;
        }
        let certainty = serde_json::to_value(figure.certainty).unwrap_or_default();
        let percentile = percentile.to_string();
        let labels = [
            ("percentile", percentile.as_str()),
            ("certainty", certainty.as_str().unwrap_or_default()),
        ];
        let labels: Vec<_> = part.into_iter().chain(labels).collect();
        page.sample(family, &labels, figure.ns as f64 / NS_PER_S);
    }
}

/// Nanoseconds of the unit of times.
const NS_PER_S: f64 = 1e9;

/// Upper bounds of the buckets of times, in nanoseconds.
pub const BOUNDS_NS: [u64; 18] = [
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
    2_500_000_000,
    5_000_000_000,
    10_000_000_000,
    25_000_000_000,
];

/// A page of metrics, as far as it is written.
#[derive(Debug, Default)]
pub struct MetricsPage {
    text: String,
}

impl MetricsPage {
    /// Returns the text so far.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Begins the samples of a metric. `kind` is `counter`, `gauge` or `histogram`; `help` has no
    /// full stop.
    pub fn family(&mut self, name: &str, kind: &str, help: &str) {
        self.text += &format!("# HELP {name} {help}.\n# TYPE {name} {kind}\n");
    }

    /// Writes a sample of the metric that was begun, or of a histogram's parts.
    pub fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        let labels: Vec<String> =
            labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        let labels = match labels.is_empty() {
            true => String::new(),
            false => format!("{{{}}}", labels.join(",")),
        };
        self.text += &format!("{name}{labels} {value}\n");
    }

    /// Writes a metric with one sample.
    pub fn single(&mut self, name: &str, kind: &str, help: &str, value: f64) {
        self.family(name, kind, help);
        self.sample(name, &[], value);
    }

    /// Writes a histogram.
    pub fn histogram(&mut self, name: &str, help: &str, of: &Histogram) {
        self.family(name, "histogram", help);
        self.histogram_samples(name, None, of);
    }

    /// Writes the samples of a histogram that was begun; `label` is the name and the value of its
    /// label, if it has one.
    pub fn histogram_samples(&mut self, name: &str, label: Option<(&str, &str)>, of: &Histogram) {
        let label: Vec<_> = label.into_iter().collect();
        let bucket = format!("{name}_bucket");
        let mut count = 0;
        for (bound_ns, within) in BOUNDS_NS.iter().zip(buckets(of)) {
            count += within;
            let bound = (*bound_ns as f64 / NS_PER_S).to_string();
            self.sample(&bucket, &[&*label, &[("le", &bound)]].concat(), count as f64);
        }
        self.sample(&bucket, &[&*label, &[("le", "+Inf")]].concat(), of.count() as f64);
        self.sample(&format!("{name}_sum"), &label, of.exact().sum_ns as f64 / NS_PER_S);
        self.sample(&format!("{name}_count"), &label, of.count() as f64);
    }
}

/// Counts the times up to each of [`BOUNDS_NS`] and above the one before, and last those above all.
/// A time counts in a bucket if all of the times that the histogram does not tell from it are
/// within its bound.
pub fn buckets(of: &Histogram) -> [u64; BOUNDS_NS.len() + 1] {
    let mut counts = [0; BOUNDS_NS.len() + 1];
    for (at, count) in of.buckets() {
        counts[BOUNDS_NS.partition_point(|bound| *bound < histogram::highest_in(at))] += count;
    }
    counts
}

/// Escapes the value of a label; what a terminal would interpret is made visible first.
fn escaped(value: &str) -> String {
    printable(value).replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
