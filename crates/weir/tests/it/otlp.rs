//! `--otlp` against collectors of a few lines. The types below are the JSON encoding of OTLP: a
//! field of another name or type is an error.

use std::process::Command;
use std::sync::{Arc, Mutex};

use serde::Deserialize;

use crate::support::directory::Directory;
use crate::support::raw::{OK, Peer, Raw};
use crate::support::serve::Serve;
use crate::support::weir::{WEIR, load, start_by, weir};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Request {
    resource_metrics: [ResourceMetrics; 1],
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ResourceMetrics {
    resource: Resource,
    scope_metrics: [ScopeMetrics; 1],
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Resource {
    attributes: Vec<Attribute>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ScopeMetrics {
    scope: Scope,
    metrics: Vec<Metric>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Scope {
    name: String,
    version: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Attribute {
    key: String,
    value: StringValue,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct StringValue {
    string_value: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Metric {
    name: String,
    unit: String,
    description: String,
    sum: Option<Sum>,
    gauge: Option<Gauge>,
    histogram: Option<Histogram>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Sum {
    data_points: Vec<Number>,
    aggregation_temporality: u32,
    is_monotonic: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Gauge {
    data_points: Vec<Number>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Number {
    #[serde(default)]
    attributes: Vec<Attribute>,
    /// 64-bit integers are strings.
    start_time_unix_nano: Option<String>,
    time_unix_nano: String,
    as_int: Option<String>,
    as_double: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Histogram {
    data_points: Vec<Times>,
    aggregation_temporality: u32,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Times {
    #[serde(default)]
    attributes: Vec<Attribute>,
    start_time_unix_nano: String,
    time_unix_nano: String,
    count: String,
    sum: f64,
    min: Option<f64>,
    max: Option<f64>,
    bucket_counts: Vec<String>,
    explicit_bounds: Vec<f64>,
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

impl Request {
    fn metric(&self, name: &str) -> &Metric {
        let metrics = &self.resource_metrics[0].scope_metrics[0].metrics;
        metrics.iter().find(|metric| metric.name == name).unwrap_or_else(|| panic!("no {name}"))
    }

    /// The value of a sum whose points have these values of their attribute.
    fn count(&self, name: &str, attribute: Option<&str>) -> u64 {
        let sum = self.metric(name).sum.as_ref().expect("a sum");
        let is_of = |point: &&Number| {
            point.attributes.first().map(|of| of.value.string_value.as_str()) == attribute
        };
        let point = sum.data_points.iter().find(is_of).expect("a point");
        number(point.as_int.as_deref().expect("an integer"))
    }

    /// Checks what holds for every request.
    fn check(&self) {
        let of = &self.resource_metrics[0];
        let attribute = |key: &str| {
            let found = of.resource.attributes.iter().find(|attribute| attribute.key == key);
            found.unwrap_or_else(|| panic!("no {key}")).value.string_value.clone()
        };
        assert_eq!(attribute("service.name"), "weir");
        assert_eq!(attribute("service.version"), env!("CARGO_PKG_VERSION"));
        let scope = &of.scope_metrics[0].scope;
        assert_eq!((&*scope.name, &*scope.version), ("weir", env!("CARGO_PKG_VERSION")));
        for metric in &of.scope_metrics[0].metrics {
            let Metric { sum, gauge, histogram, .. } = metric;
            let kinds = [sum.is_some(), gauge.is_some(), histogram.is_some()];
            assert_eq!(kinds.iter().filter(|is_it| **is_it).count(), 1, "{metric:?}");
            assert!(!metric.unit.is_empty() && !metric.description.is_empty(), "{metric:?}");
            for point in sum.iter().flat_map(|sum| &sum.data_points) {
                let start = number(point.start_time_unix_nano.as_deref().expect("a start"));
                assert!(start > 0 && start <= number(&point.time_unix_nano), "{metric:?}");
                assert!(point.as_int.is_some() && point.as_double.is_none(), "{metric:?}");
            }
            if let Some(sum) = sum {
                assert_eq!(sum.aggregation_temporality, 2, "cumulative");
            }
            for point in gauge.iter().flat_map(|gauge| &gauge.data_points) {
                assert!(point.as_int.is_some() != point.as_double.is_some(), "{metric:?}");
            }
        }
        let histogram = self.metric("weir.response.duration").histogram.as_ref();
        let Histogram { data_points, aggregation_temporality } = histogram.expect("a histogram");
        let [times] = data_points.as_slice() else { panic!("{data_points:?}") };
        assert_eq!(*aggregation_temporality, 2, "cumulative");
        let counts: Vec<u64> = times.bucket_counts.iter().map(|text| number(text)).collect();
        assert_eq!(counts.len(), times.explicit_bounds.len() + 1);
        assert_eq!(counts.iter().sum::<u64>(), number(&times.count));
        assert!(times.explicit_bounds.is_sorted(), "{times:?}");
        assert!(number(&times.start_time_unix_nano) <= number(&times.time_unix_nano));
        let min = times.min.unwrap_or(0.0);
        let max = times.max.unwrap_or(0.0);
        assert!(min <= max && max <= times.sum, "{times:?}");
    }
}

/// A collector that keeps what it receives.
struct Collector {
    raw: Raw,
    received: Arc<Mutex<Vec<(String, Request)>>>,
}

impl Collector {
    fn start() -> Collector {
        let received = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&received);
        let raw = Raw::start(move |peer: &mut Peer| {
            while let Some(head) = peer.read_request()? {
                let mut lines = head.lines().filter_map(|line| line.split_once(": "));
                let length = lines.find(|(name, _)| *name == "Content-Length").expect("a length");
                let body = peer.read_body(length.1.parse().expect("a number"))?;
                let request = serde_json::from_slice(&body);
                let request = request.unwrap_or_else(|error| {
                    panic!("{error}: {}", String::from_utf8_lossy(&body));
                });
                kept.lock().expect("no panic").push((head, request));
                peer.write(OK)?;
            }
            Ok(())
        });
        Collector { raw, received }
    }

    fn url(&self) -> String {
        format!("http://{}", self.raw.authority())
    }
}

#[test]
fn a_run_pushes_its_totals() {
    let server = Serve::start(&[]);
    let collector = Collector::start();
    // Longer than the time between two requests.
    let words = "-R 200 -c2 -t1 -d 6s --warmup 0";
    let ran = load("auto", words, &["--otlp", &collector.url(), &server.url()]);
    ran.assert_all_ok();
    assert!(!ran.stderr.contains("otlp"), "{ran}");
    let received = collector.received.lock().expect("no panic");
    assert!(received.len() >= 2, "{} requests", received.len());
    assert_eq!(collector.raw.accepted(), 1, "the connection is kept");
    for (head, request) in received.iter() {
        assert!(head.starts_with("POST /v1/metrics HTTP/1.1\r\n"), "{head}");
        assert!(head.contains("Content-Type: application/json\r\n"), "{head}");
        request.check();
    }
    let sums = |name: &str| received.iter().map(|(_, of)| of.count(name, None)).collect::<Vec<_>>();
    for name in ["weir.requests.sent", "weir.responses", "weir.received"] {
        assert!(sums(name).is_sorted(), "{name}: {:?}", sums(name));
        let is_monotonic =
            |of: &Request| of.metric(name).sum.as_ref().is_some_and(|of| of.is_monotonic);
        assert!(received.iter().all(|(_, of)| is_monotonic(of)), "{name}");
    }
    let starts = received.iter().map(|(_, of)| {
        let sum = of.metric("weir.responses").sum.as_ref().expect("a sum");
        sum.data_points[0].start_time_unix_nano.clone()
    });
    let starts: Vec<_> = starts.collect();
    assert!(starts.iter().all(|start| *start == starts[0]), "{starts:?}");
    // The last request has all intervals, with the last part of a second.
    let (_, last) = received.last().expect("some");
    let sent = &ran.document.accounting.sent;
    let all = sent.warmup + sent.measured + sent.tail;
    for name in ["weir.requests.sent", "weir.responses"] {
        assert_eq!(last.count(name, None), all, "{name}");
    }
    let bytes = ran.document.series.iter().map(|entry| entry.bytes_received).sum::<u64>();
    assert_eq!(last.count("weir.received", None), bytes);
    for kind in ["bad_response", "transport_error", "timed_out"] {
        assert_eq!(last.count("weir.requests.failed", Some(kind)), 0, "{kind}");
    }
    assert_eq!(last.count("weir.run.phase", Some("ended")), 1);
    assert_eq!(last.count("weir.run.phase", Some("measured")), 0);
}

/// The last request has the totals of each name that has intervals, and of all others together: the
/// document's counts.
#[test]
fn a_list_pushes_its_totals_by_name() {
    const BAD: &str = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";
    let server = Raw::start(|peer: &mut Peer| {
        while let Some(head) = peer.read_request()? {
            peer.write(if head.starts_with("GET /3 ") { BAD } else { OK })?;
        }
        Ok(())
    });
    let collector = Collector::start();
    let directory = Directory::new();
    let list = directory.file("list.txt");
    let rows: String = (0..19).map(|row| format!("/{row}\n")).collect();
    std::fs::write(&list, rows).expect("the directory is the test's own");
    let more = ["--from", &list, "--otlp", &collector.url(), &server.url()];
    let ran = load("auto", "-n 1900 -c2 -t2 --warmup 100ms --witness off", &more);
    let received = collector.received.lock().expect("no panic");
    let (_, last) = received.last().expect("some");
    last.check();
    let names = &ran.document.names;
    let responses = |from: usize, to: usize| -> u64 {
        names[from..to]
            .iter()
            .map(|name| name.results.outcomes.ok + name.results.outcomes.bad_response)
            .sum()
    };
    let times = last.metric("weir.name.response.duration").histogram.as_ref().expect("it has one");
    let pushed = |label: &str| {
        let of = |times: &&Times| times.attributes[0].value.string_value == label;
        let count = times.data_points.iter().find(of).map(|times| number(&times.count));
        (last.count("weir.name.responses", Some(label)), count)
    };
    for (index, name) in names[..16].iter().enumerate() {
        let expected = responses(index, index + 1);
        assert!(expected > 0, "{ran}");
        assert_eq!(pushed(&name.name), (expected, Some(expected)), "{}: {ran}", name.name);
    }
    let others = responses(16, 19);
    assert_eq!(pushed("(others)"), (others, Some(others)), "{ran}");
    let failed = last.count("weir.name.requests.failed", Some("GET /3"));
    assert_eq!((failed, failed > 0), (names[3].results.outcomes.bad_response, true), "{ran}");
}

/// Runs a short load with a collector that fails, and returns the only warning.
#[track_caller]
fn warning_of(collector: &str) -> String {
    let server = Serve::start(&[]);
    let more = ["--otlp", collector, &server.url()];
    let ran = load("auto", "-n 20 -c1 -t1 --warmup 0", &more);
    ran.assert_all_ok();
    assert!(ran.text.contains("Throughput"), "{ran}");
    let lines: Vec<&str> = ran.stderr.lines().filter(|line| line.contains("--otlp")).collect();
    let [line] = lines[..] else { panic!("{} warnings: {ran}", lines.len()) };
    line.to_owned()
}

#[test]
fn a_collector_that_is_away_costs_a_warning() {
    let gone = Raw::answering(OK);
    let authority = gone.authority().to_owned();
    drop(gone);
    let warning = warning_of(&format!("http://me:secret@{authority}"));
    let reason = format!("http://{authority}/v1/metrics does not take metrics: cannot connect");
    assert!(warning.starts_with(&format!("warning: --otlp: {reason}")), "{warning}");
}

#[test]
fn a_collector_that_refuses_costs_a_warning() {
    let refusing = Raw::answering("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    let warning = warning_of(&format!("http://{}", refusing.authority()));
    assert!(warning.ends_with("/v1/metrics does not take metrics: status 404"), "{warning}");
}

#[test]
fn a_collector_that_never_answers_costs_a_warning() {
    let silent = Raw::start(Peer::await_close);
    let warning = warning_of(&format!("http://{}", silent.authority()));
    assert!(warning.starts_with("warning: --otlp: "), "{warning}");
}

#[test]
fn a_collector_with_endless_interim_responses_costs_a_warning() {
    let endless = Raw::start(|peer| {
        peer.read_request()?;
        loop {
            peer.write("HTTP/1.1 100 Continue\r\n\r\n".repeat(10_000))?;
        }
    });
    let warning = warning_of(&format!("http://{}", endless.authority()));
    assert!(warning.ends_with("more than 16 interim responses (1xx) before the final one"));
}

#[test]
fn a_wrong_address_is_found_before_the_load() {
    for (url, reason) in [
        ("grpc://127.0.0.1:4317", "use http or https"),
        ("http://127.0.0.1:4318/?a=b", "the URL has a query"),
    ] {
        let output = weir("-d1s", &["--otlp", url, "http://127.0.0.1:1/"]);
        assert_eq!(output.code(), 2, "{output:?}");
        assert!(output.stderr.starts_with("error: --otlp"), "{output:?}");
        assert!(output.stderr.contains(reason), "{output:?}");
    }
    let study = weir("repeat -n 2 -d1s", &["--otlp", "grpc://h", "http://127.0.0.1:1/"]);
    assert!(study.code() == 2 && study.stderr.starts_with("error: --otlp"), "{study:?}");
}

#[test]
fn no_password_of_a_collector_reaches_the_document() {
    let server = Serve::start(&[]);
    let collector = Collector::start();
    let url = format!("http://me:pw@{}", collector.raw.authority());
    let ran = load("auto", "-n 5 -c1 -t1 --warmup 0", &["--otlp", &url, &server.url()]);
    let command = ran.document.run.command.as_ref().expect("it is recorded").join(" ");
    assert!(command.contains("--otlp http://[redacted]@"), "{command}");
    let received = collector.received.lock().expect("no panic");
    let (head, _) = received.first().expect("a request");
    assert!(head.contains("Authorization: Basic bWU6cHc=\r\n"), "{head}");
}

#[test]
fn headers_come_from_the_environment_and_reach_no_document() {
    let server = Serve::start(&[]);
    let collector = Collector::start();
    let run = |list: &str| {
        let mut command = Command::new(WEIR);
        command.env("OTEL_EXPORTER_OTLP_HEADERS", list);
        let more = ["--otlp", &collector.url(), &server.url()];
        start_by(command, "auto", "-n 5 -c1 -t1 --warmup 0", &more)
    };
    let ran = run("api-key=hunter%202,x-scope-orgid=7").finish();
    assert!(!format!("{ran} {:?}", ran.document).contains("hunter"), "{ran}");
    let received = collector.received.lock().expect("no panic");
    let (head, _) = received.first().expect("a request");
    assert!(head.contains("api-key: hunter 2\r\nx-scope-orgid: 7\r\n"), "{head}");
    let refused = run("hunter2").process.wait();
    assert_eq!(refused.code(), 2, "{refused:?}");
    let error = "error: --otlp: OTEL_EXPORTER_OTLP_HEADERS: not a list of NAME=VALUE\n";
    assert_eq!(refused.stderr, error);
}
