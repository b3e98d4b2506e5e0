//! The result as metrics in Prometheus' text format 0.0.4, as node_exporter's textfile collector
//! and a Pushgateway read them. Base units are seconds and bytes; names end in their unit, counters
//! in `_total` (<https://prometheus.io/docs/practices/naming/>).

use std::io::{self, Write};
use std::iter;

use weir_result::document::Metric;
use weir_result::quantile::Bound;
use weir_result::{Document, Histogram, OutcomePart, histogram};
use weir_text::printable;

use crate::by_scope::{self, ScopeResults};
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
    let results = &document.results;
    let latency = &document.latency;
    let times: [(&str, &str, &Metric); 3] = [
        ("response_time", "Time from the planned send to the response", &results.response_time),
        ("service_time", "Time from the send to the response", &results.service_time),
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

/// Counts of measured requests: each ends in exactly one outcome.
fn counts(document: &Document, page: &mut MetricsPage) {
    let of = &document.results;
    let help = "Measured requests by outcome; their sum is the number planned";
    page.family("weir_requests_total", "counter", help);
    for (outcome, count) in of.outcomes.classes() {
        page.sample("weir_requests_total", &[("outcome", outcome)], count as f64);
    }
    for part in OutcomePart::ALL {
        let name = format!("weir_{}_requests_total", part.name());
        let help = format!("Requests of outcome {}: {}", part.whole().name(), part.words());
        page.single(&name, "counter", &help, of.outcomes.part(*part) as f64);
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
    page.single(
        "weir_completed_requests_per_second",
        "gauge",
        help,
        document.results.completed_rps,
    );
}

/// Counts, rates and times of messages within responses, if they are measured.
fn messages(document: &Document, page: &mut MetricsPage) {
    let Some(of) = &document.messages else { return };
    let Some(all) = &document.results.messages else { return };
    let received = all.received as f64;
    page.single("weir_messages_total", "counter", "Messages received in the window", received);
    let help = "Bytes of these messages, without framing";
    page.single("weir_message_bytes_total", "counter", help, all.bytes as f64);
    let help = "Messages received per second of the window";
    page.single("weir_messages_per_second", "gauge", help, all.per_second);
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
    if let Some(totals) = &all.totals {
        let help = "Tokens of the prompts of ok requests, by the server's count";
        page.single("weir_prompt_tokens_total", "counter", help, totals.input as f64);
        let help = "Of the tokens of prompts: those that the server had in a cache";
        page.single("weir_cached_tokens_total", "counter", help, totals.cached as f64);
    }
    for (name, metric) in streams::times(document) {
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

/// Counts, rates and times of each name of a list, and of each scenario, whose results are those of
/// users.
fn names(document: &Document, page: &mut MetricsPage) {
    let mut scopes = by_scope::names(document);
    let labels = label_values(document.names.iter().map(|name| name.name.as_str()));
    scopes.iter_mut().zip(labels).for_each(|(scope, label)| scope.value = label.into());
    for of_one_kind in scopes.chunk_by(|a, b| a.tag == b.tag) {
        of_scopes(of_one_kind, page);
    }
}

/// Counts, rates and times of each stage of the load.
fn stages(document: &Document, page: &mut MetricsPage) {
    let scopes = by_scope::stages(document);
    of_scopes(&scopes, page);
    if scopes.is_empty() {
        return;
    }
    let family = "weir_stage_planned_requests_per_second";
    page.family(family, "gauge", "Requests due per second of each stage of the load");
    for (scope, stage) in scopes.iter().zip(&document.stages) {
        page.sample(family, &[(scope.tag, &scope.value)], stage.planned_rps);
    }
}

/// Counts, rates and times of scopes of one kind. They are no samples of the metrics of the whole
/// run, so that a sum over a metric counts each request once.
fn of_scopes(scopes: &[ScopeResults<'_>], page: &mut MetricsPage) {
    let Some((tag, noun)) = scopes.first().map(|scope| (scope.tag, scope.noun())) else { return };
    let family = format!("weir_{tag}_{noun}_total");
    page.family(&family, "counter", &format!("Measured {noun} by {tag} and outcome"));
    for ScopeResults { value, results, .. } in scopes {
        for (outcome, count) in results.outcomes.classes() {
            page.sample(&family, &[(tag, value), ("outcome", outcome)], count as f64);
        }
    }
    if scopes.iter().any(|scope| !scope.results.status.is_empty()) {
        let family = format!("weir_{tag}_responses_total");
        page.family(&family, "counter", &format!("Measured responses by {tag} and status code"));
        for ScopeResults { value, results, .. } in scopes {
            for (code, count) in &results.status {
                page.sample(&family, &[(tag, value), ("code", &code.to_string())], *count as f64);
            }
        }
    }
    let family = format!("weir_{tag}_completed_{noun}_per_second");
    let completed = if noun == "users" { "Users who ended" } else { "Complete responses" };
    page.family(&family, "gauge", &format!("{completed} per second by {tag}"));
    for ScopeResults { value, results, .. } in scopes {
        page.sample(&family, &[(tag, value)], results.completed_rps);
    }
    let [response_time, service_time] = match noun {
        "users" => ["Duration of a user", "Duration of a user without its pauses"],
        _ => ["Time from the planned send to the response", "Time from the send to the response"],
    };
    for (name, of) in [("response_time", response_time), ("service_time", service_time)] {
        let times = scopes.iter().filter_map(|ScopeResults { value, results, .. }| {
            let (_, metric) = results.times().find(|(time, _)| *time == name)?;
            Some((Some((tag, value.as_ref())), metric))
        });
        let times: Vec<_> = times.collect();
        if !times.is_empty() {
            time(&format!("{tag}_{name}"), &format!("{of} by {tag}"), &times, page);
        }
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

/// A scope as a label; none for the whole run.
type ScopeLabel<'a> = Option<(&'static str, &'a str)>;

/// A time as a histogram of the responses, and as percentiles of all requests: of the whole run, or
/// of each scope.
fn time(name: &str, help: &str, metrics: &[(ScopeLabel<'_>, &Metric)], page: &mut MetricsPage) {
    let histogram = format!("weir_{name}_seconds");
    // Slices tell only the times of successful responses apart.
    let is_of_stages = metrics.iter().any(|(label, _)| matches!(label, Some(("stage", _))));
    let responses = if is_of_stages { "successful responses" } else { "responses" };
    page.family(&histogram, "histogram", &format!("{help}, of {responses}"));
    for (label, metric) in metrics {
        let mut responses = metric.times.ok.clone();
        responses.add(&metric.times.bad);
        page.histogram_samples(&histogram, *label, &responses);
    }
    let family = format!("weir_{name}_percentile_seconds");
    let help = format!("{help}, of all requests; certainty says how it relates to the true value");
    if metrics.iter().all(|(_, metric)| Distribution::of(metric).is_none()) {
        return;
    }
    page.family(&family, "gauge", &help);
    for (label, metric) in metrics {
        percentiles(&family, *label, metric, page);
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
