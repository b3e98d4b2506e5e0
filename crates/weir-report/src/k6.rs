//! The result as k6's summary at the end of a test: the object that k6 gives to `handleSummary()`,
//! and the flat form of its `--summary-export`. Times are in milliseconds.
//!
//! Both have one number for each figure. The member `weir`, which readers of k6's summary ignore,
//! says which of them are no exact values.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::{Map, Value, json};
use weir_result::document::Metric;
use weir_result::{AssertionOutcome, AssertionResult, Document};

use crate::by_scope::{self, ScopeResults};
use crate::distribution::{Certainty, Distribution, uncertain};
use crate::foreign::origin;
use crate::json;
use crate::streams;

/// Percentiles of a trend.
const PERCENTILES: [(&str, f64); 4] =
    [("p(90)", 90.0), ("p(95)", 95.0), ("p(99)", 99.0), ("p(99.9)", 99.9)];

/// Nanoseconds in a millisecond.
const MS: f64 = 1e6;

/// Writes the object of `handleSummary()`.
///
/// # Errors
/// Errors of `out`.
pub fn write(document: &Document, out: &mut dyn Write) -> io::Result<()> {
    let summary = K6Summary::of(document);
    let metrics = summary.metrics.into_iter().map(|metric| {
        let K6Metric { name, kind, contains, values, thresholds } = metric;
        let mut entry = json!({ "type": kind, "contains": contains, "values": values });
        if let Some(thresholds) = thresholds {
            let ok = thresholds.into_iter().map(|(claim, ok)| (claim, json!({ "ok": ok })));
            entry["thresholds"] = ok.collect();
        }
        (name.into_owned(), entry)
    });
    let trend_stats = ["avg", "min", "med", "max"].into_iter();
    let trend_stats: Vec<&str> = trend_stats.chain(PERCENTILES.map(|(name, _)| name)).collect();
    let object = json!({
        "root_group": group(summary.checks.into()),
        "options": {
            "summaryTrendStats": trend_stats,
            "summaryTimeUnit": "ms",
            "noColor": true,
        },
        "state": {
            "isStdOutTTY": false,
            "isStdErrTTY": false,
            "testRunDurationMs": document.throughput.window_s * 1e3,
        },
        "metrics": metrics.collect::<Map<_, _>>(),
        "weir": summary.weir,
    });
    json::write_value(&object, out)
}

/// Writes the form of `--summary-export`.
///
/// # Errors
/// Errors of [`write()`].
pub fn write_flat(document: &Document, out: &mut dyn Write) -> io::Result<()> {
    let summary = K6Summary::of(document);
    let metrics = summary.metrics.into_iter().map(|metric| {
        let mut entry = metric.values;
        if metric.kind == "rate"
            && let Some(share) = entry.as_object_mut().and_then(|values| values.remove("rate"))
        {
            entry["value"] = share;
        }
        if let Some(thresholds) = metric.thresholds {
            // In this form, true means that the threshold was crossed.
            let crossed = thresholds.into_iter().map(|(claim, ok)| (claim, Value::from(!ok)));
            entry["thresholds"] = crossed.collect();
        }
        (metric.name.into_owned(), entry)
    });
    let checks = summary.checks.into_iter();
    let by_name = checks.map(|check| (check["name"].as_str().unwrap_or("").to_owned(), check));
    let mut root = group(by_name.collect::<Map<_, _>>().into());
    root["groups"] = json!({});
    let metrics = metrics.collect::<Map<_, _>>();
    let object = json!({ "root_group": root, "metrics": metrics, "weir": summary.weir });
    json::write_value(&object, out)
}

/// The group that holds all checks.
fn group(checks: Value) -> Value {
    // The MD5 of its path, which is empty.
    let id = "d41d8cd98f00b204e9800998ecf8427e";
    json!({ "name": "", "path": "", "id": id, "groups": [], "checks": checks })
}

/// The content that both forms share.
struct K6Summary {
    metrics: Vec<K6Metric>,
    checks: Vec<Value>,
    weir: Value,
}

/// A metric of k6.
struct K6Metric {
    name: Cow<'static, str>,
    kind: &'static str,
    contains: &'static str,
    values: Value,
    /// Claims, and true for those that hold.
    thresholds: Option<Vec<(String, bool)>>,
}

impl K6Metric {
    fn counter(
        name: impl Into<Cow<'static, str>>,
        contains: &'static str,
        count: u64,
        rate: f64,
    ) -> K6Metric {
        let values = json!({ "count": count, "rate": rate });
        K6Metric { name: name.into(), kind: "counter", contains, values, thresholds: None }
    }

    fn share(name: impl Into<Cow<'static, str>>, hits: u64, of: u64) -> K6Metric {
        let rate = if of == 0 { 0.0 } else { hits as f64 / of as f64 };
        let values = json!({ "rate": rate, "passes": hits, "fails": of - hits });
        K6Metric { name: name.into(), kind: "rate", contains: "default", values, thresholds: None }
    }

    fn gauge(name: &'static str, value: u64) -> K6Metric {
        let values = json!({ "value": value, "min": value, "max": value });
        K6Metric { name: name.into(), kind: "gauge", contains: "default", values, thresholds: None }
    }
}

impl K6Summary {
    fn of(document: &Document) -> K6Summary {
        let mut metrics = Vec::new();
        let mut certainty = Map::new();
        let results = &document.results;
        let latency = &document.latency;
        let trends: [(&str, &Metric); 5] = [
            ("http_req_duration", &results.response_time),
            ("iteration_duration", &results.response_time),
            ("http_req_waiting", &latency.first_byte),
            ("service_time", &results.service_time),
            ("send_lag", &latency.send_lag),
        ];
        let whole = trends.into_iter().chain(streams::times(document));
        let whole = whole.map(|(name, times)| (Cow::from(name), times));
        let scopes = by_scope::names(document).into_iter().chain(by_scope::stages(document));
        let scopes: Vec<ScopeResults<'_>> = scopes.collect();
        let by_scope = scopes.iter().map(|scope| {
            (Cow::from(submetric("http_req_duration", scope)), &scope.results.response_time)
        });
        for (name, times) in whole.chain(by_scope) {
            let Some(times) = Distribution::of(times) else { continue };
            let (values, uncertain) = trend(&times);
            let kind = "trend";
            let contains = "time";
            if !uncertain.is_empty() {
                certainty.insert(name.to_string(), json!(uncertain));
            }
            metrics.push(K6Metric { name, kind, contains, values, thresholds: None });
        }
        metrics.extend(counts(document));
        metrics.extend(counts_of_messages(document));
        metrics.extend(scopes.iter().flat_map(counts_of_scope));
        if !document.assertions.is_empty() {
            metrics.push(checked(&document.assertions));
        }
        let weir = origin(document, &certainty.into());
        K6Summary { metrics, checks: document.assertions.iter().map(check).collect(), weir }
    }
}

/// Returns the values of a trend, and the certainty of those that are not exact.
fn trend(times: &Distribution<'_>) -> (Value, BTreeMap<String, Certainty>) {
    let total = times.total();
    let median = times.percentile(50.0);
    let mut figures = vec![("min", times.min()), ("med", median), ("max", times.max())];
    figures.extend(PERCENTILES.map(|(name, p)| (name, times.percentile(p))));
    let certainty = uncertain(figures.iter().copied().chain([("avg", total)]));
    let values = figures.iter().map(|(name, figure)| (*name, figure.ns as f64 / MS));
    let values = values.chain([("avg", times.mean_ns() / MS)]);
    (values.map(|(name, ms)| (name.to_owned(), json!(ms))).collect(), certainty)
}

fn counts(document: &Document) -> [K6Metric; 7] {
    let results = &document.results;
    let throughput = &document.throughput;
    let connections = document.plan.load.connections.count().into();
    let per_second = |count: u64| match throughput.window_s {
        window_s if window_s > 0.0 => count as f64 / window_s,
        _ => 0.0,
    };
    let dropped = results.outcomes.never_sent;
    let bytes = throughput.bytes_received;
    [
        K6Metric::counter("http_reqs", "default", results.completed, results.completed_rps),
        K6Metric::share("http_req_failed", results.failed(), results.planned),
        K6Metric::counter("data_received", "data", bytes, throughput.bytes_per_second),
        K6Metric::counter("iterations", "default", throughput.sent, throughput.sent_rps),
        K6Metric::counter("dropped_iterations", "default", dropped, per_second(dropped)),
        K6Metric::gauge("vus", connections),
        K6Metric::gauge("vus_max", connections),
    ]
}

/// Returns the counts of messages within responses, if they are measured.
fn counts_of_messages(document: &Document) -> Vec<K6Metric> {
    let (Some(messages), Some(all)) = (&document.messages, &document.results.messages) else {
        return Vec::new();
    };
    let mut metrics = vec![K6Metric::counter("messages", "default", all.received, all.per_second)];
    metrics.extend(
        messages.tokens.as_ref().map(|tokens| {
            K6Metric::counter("tokens", "default", tokens.received, tokens.per_second)
        }),
    );
    metrics.extend(
        messages
            .goodput
            .as_ref()
            .map(|goodput| K6Metric::share("goodput", goodput.good, document.results.planned)),
    );
    metrics
}

/// Returns the name of the part of a metric that is of a scope, as k6 writes it.
fn submetric(metric: &str, scope: &ScopeResults<'_>) -> String {
    format!("{metric}{{{}:{}}}", scope.tag, scope.value)
}

fn counts_of_scope(scope: &ScopeResults<'_>) -> [K6Metric; 2] {
    let [requests, failed] =
        ["http_reqs", "http_req_failed"].map(|metric| submetric(metric, scope));
    let of = scope.results;
    [
        K6Metric::counter(requests, "default", of.completed, of.completed_rps),
        K6Metric::share(failed, of.failed(), of.planned),
    ]
}

/// The assertions as one metric with a threshold for each.
fn checked(assertions: &[AssertionResult]) -> K6Metric {
    let held = |result: &AssertionResult| result.outcome == AssertionOutcome::Pass;
    let passes = assertions.iter().filter(|result| held(result)).count() as u64;
    let claims = assertions.iter().map(|result| (result.assertion.clone(), held(result)));
    K6Metric {
        thresholds: Some(claims.collect()),
        ..K6Metric::share("checks", passes, assertions.len() as u64)
    }
}

/// An assertion as a check.
fn check(result: &AssertionResult) -> Value {
    let name = &result.assertion;
    let passes = u64::from(result.outcome == AssertionOutcome::Pass);
    let path = format!("::{name}");
    json!({ "name": name, "path": path, "id": name, "passes": passes, "fails": 1 - passes })
}
