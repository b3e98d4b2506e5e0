//! Formats of other tools: k6, vegeta, Fortio, Bencher, github-action-benchmark, Prometheus.

use serde_json::Value;
use weir_report::{Exporter, Findings, Source, TextOptions};
use weir_result::document::StepSection;
use weir_result::{Document, ErrorKind};
use weir_verdict::Assertion;

use crate::exports::export;
use crate::fixture::{Fixture, MS, S, fine, inflated, listed, shedding};
use crate::studies;
use crate::text::golden_bytes;

fn json(name: &str, document: &Document) -> Value {
    serde_json::from_str(&export(name, document)).expect("it is JSON")
}

fn claimed(mut document: Document) -> Document {
    let claims = ["p99 < 10ms", "p50 < 100us"].map(|claim| claim.parse::<Assertion>());
    document.assertions = claims.map(|claim| claim.expect("a claim").judge(&document)).into();
    document
}

const NAMES: [&str; 7] =
    ["k6", "k6-flat", "vegeta", "fortio", "bencher", "benchmark-smaller", "benchmark-bigger"];

#[test]
fn each_has_its_golden_file() {
    let document = claimed(fine(Fixture::open_loop(20_000)).evidence().document());
    for name in NAMES {
        golden_bytes(&format!("{name}.json"), export(name, &document).as_bytes());
    }
    golden_bytes("prometheus.prom", export("prometheus", &document).as_bytes());
}

/// Of 1,000 requests one in a hundred fails: p99 is exact, p99.9 and the maximum are lower bounds,
/// and the mean holds each failure at its age.
fn failing() -> Document {
    let fixture = Fixture::open_loop(100).responses(900, 200, 4 * MS, 4 * MS);
    let fixture = fixture.responses(90, 404, 5 * MS, 5 * MS).timeouts(9, 2 * S);
    fixture.errors(1, ErrorKind::Errno(104), MS).document()
}

/// Value of a sample of Prometheus by its name and labels.
fn sample(page: &str, name: &str) -> Option<f64> {
    let mut lines = page.lines().filter(|line| !line.starts_with('#'));
    let line = lines.find(|line| line.rsplit_once(' ').is_some_and(|(found, _)| found == name))?;
    line.rsplit_once(' ')?.1.parse().ok()
}

#[test]
fn prometheus_has_each_outcome_once_and_marks_bounds() {
    let document = failing();
    let page = export("prometheus", &document);
    let value = |name: &str| sample(&page, name).unwrap_or_else(|| panic!("{name}\n{page}"));
    let outcomes = page.lines().filter(|line| line.starts_with("weir_requests_total{"));
    let sum: f64 = outcomes.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum();
    assert_eq!(sum, document.results.planned as f64);
    assert_eq!(value("weir_responses_total{code=\"404\"}"), 90.0);
    assert_eq!(value("weir_errors_total{error=\"ECONNRESET\"}"), 1.0);
    let bucket = |le: &str| value(&format!("weir_response_time_seconds_bucket{{le=\"{le}\"}}"));
    assert_eq!(["0.0025", "0.01", "+Inf"].map(bucket), [0.0, 990.0, 990.0], "responses alone");
    assert_eq!(value("weir_response_time_seconds_count"), 990.0);
    let total_s = (900 * 4 * MS + 90 * 5 * MS) as f64 / S as f64;
    assert_eq!(value("weir_response_time_seconds_sum"), total_s);
    let of = |percentile: &str, certainty: &str| {
        value(&format!(
            "weir_response_time_percentile_seconds{{percentile=\"{percentile}\",\
             certainty=\"{certainty}\"}}"
        ))
    };
    assert!(of("99.9", "lower") >= 1.9 && of("50", "exact") < 0.005, "{page}");
}

/// Metrics by name are metrics of their own, which add up to those of the whole run.
#[test]
fn exports_have_what_was_shed() {
    let document = shedding().document();
    let page = export("prometheus", &document);
    for line in ["weir_shed_requests_total 990", "weir_connections_max 50"] {
        assert!(page.contains(line), "{line} in {page}");
    }
    for format in ["vegeta", "fortio"] {
        let page = export(format, &document);
        assert!(page.contains("\"shed\": 990") || page.contains("\"shed\":990"), "{page}");
    }
}

#[test]
fn prometheus_has_metrics_by_name() {
    let mut document = listed().document();
    let page = export("prometheus", &document);
    let labelled = |name: &str, labels: &str| {
        sample(&page, &format!("{name}{{{labels}}}")).unwrap_or_else(|| panic!("{labels}\n{page}"))
    };
    for name in &document.names {
        let label = format!("name=\"{}\"", name.name);
        let ok = labelled("weir_name_requests_total", &format!("{label},outcome=\"ok\""));
        assert_eq!(ok, name.results.outcomes.ok as f64);
        let rate = labelled("weir_name_completed_requests_per_second", &label);
        assert_eq!(rate, name.results.completed_rps);
        let count = labelled("weir_name_response_time_seconds_count", &label);
        assert_eq!(count, (name.results.outcomes.ok + name.results.outcomes.bad_response) as f64);
        let bucket =
            labelled("weir_name_response_time_seconds_bucket", &format!("{label},le=\"+Inf\""));
        assert_eq!(bucket, count);
    }
    let orders = "name=\"POST /orders/confirm\"";
    assert_eq!(labelled("weir_name_responses_total", &format!("{orders},code=\"503\"")), 90.0);
    let family = "weir_name_response_time_percentile_seconds";
    let p50 = labelled(family, &format!("{orders},percentile=\"50\",certainty=\"exact\""));
    assert!((0.039..0.041).contains(&p50), "{p50}");

    // Names that become equal are still two series.
    (document.names[0].name, document.names[1].name) = ("a\u{1b}".to_owned(), "a\r".to_owned());
    let page = export("prometheus", &document);
    for label in ["a?", "a? #2"] {
        let name = format!("weir_name_completed_requests_per_second{{name=\"{label}\"}}");
        assert!(sample(&page, &name).is_some(), "{page}");
    }

    // The results of a scenario are those of its users.
    let shopper = document.names.last_mut().expect("a name");
    shopper.name = "shopper".to_owned();
    shopper.steps = vec![StepSection::default()];
    let ok = shopper.results.outcomes.ok as f64;
    let page = export("prometheus", &document);
    let users = "weir_scenario_users_total{scenario=\"shopper\",outcome=\"ok\"}";
    assert_eq!(sample(&page, users), Some(ok), "{page}");
    assert!(!page.contains("name=\"shopper\""), "{page}");
}

/// k6 has the metric of a tag beside the whole one.
#[test]
fn k6_has_metrics_by_name() {
    let document = listed().document();
    let metrics = &json("k6", &document)["metrics"];
    let flat = &json("k6-flat", &document)["metrics"];
    for name in &document.names {
        let of = |metric: &str| format!("{metric}{{name:{}}}", name.name);
        let requests = &metrics[of("http_reqs")];
        assert_eq!(
            (&requests["type"], &requests["values"]["count"]),
            (&"counter".into(), &name.results.completed.into())
        );
        let failed = &metrics[of("http_req_failed")]["values"];
        assert_eq!(
            (&failed["passes"], &failed["fails"]),
            (
                &(name.results.planned - name.results.outcomes.ok).into(),
                &name.results.outcomes.ok.into()
            )
        );
        let duration = &metrics[of("http_req_duration")];
        let p50 = name.results.response_time.headline().percentile(50.0).expect("it has one");
        assert_eq!(duration["values"]["med"], p50.ns as f64 / 1e6);
        assert_eq!(flat[of("http_req_duration")], duration["values"]);
    }
    let orders = "http_req_duration{name:POST /orders/confirm}";
    let certainty = &json("k6", &document)["weir"]["certainty"][orders];
    assert_eq!(certainty["max"], "lower", "{certainty}");
}

#[test]
fn times_are_exact_and_failures_have_their_age() {
    let document = failing();
    let total = 900 * 4 * MS + 90 * 5 * MS + 9 * 2 * S + MS;
    let report = json("vegeta", &document);
    let latencies = &report["latencies"];
    assert_eq!(latencies["total"], total);
    assert_eq!(latencies["mean"], total.div_ceil(1_000));
    assert_eq!((&latencies["max"], &latencies["min"]), (&(2 * S).into(), &(4 * MS).into()));
    let certainty = &report["weir"]["certainty"]["latencies"];
    assert_eq!((&certainty["max"], &certainty["mean"]), (&"lower".into(), &"lower".into()));
    assert_eq!(certainty["50th"], Value::Null);
    assert_eq!(report["status_codes"], serde_json::json!({ "0": 10, "200": 900, "404": 90 }));
    assert_eq!((&report["requests"], &report["success"]), (&1_000.into(), &0.9.into()));
    let errors: Vec<&str> =
        report["errors"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    assert_eq!(errors, ["status 404", "ECONNRESET", "timed out"]);
    assert_eq!((&report["duration"], &report["wait"]), (&(10 * S).into(), &(5 * MS).into()));

    let metrics = &json("k6", &document)["metrics"];
    let duration = &metrics["http_req_duration"];
    assert_eq!((&duration["type"], &duration["contains"]), (&"trend".into(), &"time".into()));
    assert_eq!(duration["values"]["avg"], total as f64 / 1e9);
    assert_eq!(duration["values"]["max"], 2_000.0);
    let failed = &metrics["http_req_failed"]["values"];
    assert_eq!((&failed["passes"], &failed["fails"]), (&100.into(), &900.into()));
    assert_eq!(metrics["http_reqs"]["values"]["count"], 990);
    // All requests have p50 of a response that came at once, in both forms.
    let flat = &json("k6-flat", &document)["metrics"];
    assert_eq!(flat["http_req_duration"], duration["values"]);
    assert_eq!(flat["http_req_failed"]["value"], 0.1);
}

/// Istio's benchmark runner reads these members, and names a column after the text of each
/// percentile: `p50`, and `p999` of 99.9.
#[test]
fn the_runner_of_istio_reads_the_file() {
    let result = json("fortio", &failing());
    let times = &result["DurationHistogram"];
    let percentiles = times["Percentiles"].as_array().expect("a list").iter();
    let columns: Vec<String> =
        percentiles.map(|of| of["Percentile"].to_string().replace('.', "")).collect();
    assert_eq!(columns, ["50", "75", "90", "95", "99", "999"]);
    // The request that failed after a millisecond counts, as in Fortio.
    assert_eq!((&times["Min"], &times["Max"]), (&0.001.into(), &2.0.into()));
    assert_eq!(times["Count"], 1_000);
    let data = times["Data"].as_array().expect("a list");
    let of = |entry: &Value, name: &str| entry[name].as_f64().expect("a number");
    let counts: f64 = data.iter().map(|entry| of(entry, "Count")).sum();
    assert_eq!((counts, of(&data[0], "Start")), (1_000.0, 0.001));
    let last = data.last().expect("a bucket");
    assert_eq!((of(last, "End"), of(last, "Percent")), (2.0, 100.0));
    assert!(data.iter().all(|entry| of(entry, "Start") <= of(entry, "End")), "{data:?}");
    let codes = serde_json::json!({ "-1": 10, "200": 900, "404": 90 });
    assert_eq!(result["RetCodes"], codes);
    assert_eq!((&result["Sizes"]["Count"], &result["NumThreads"]), (&1_000.into(), &100.into()));
    assert_eq!(result["ErrorsDurationHistogram"]["Count"], 100);
    assert_eq!(
        (&result["RequestedQPS"], &result["RequestedDuration"]),
        (&"100".into(), &"10s".into())
    );
    assert_eq!((&result["RunType"], &result["ActualDuration"]), (&"HTTP".into(), &(10 * S).into()));
    assert_eq!(result["weir"]["certainty"]["DurationHistogram"]["Max"], "lower");

    let mut named = Fixture::closed_loop().document();
    assert_eq!(json("fortio", &named)["Labels"], named.plan.url);
    named.run.annotations.insert("labels".to_owned(), "qps_100".to_owned());
    let empty = json("fortio", &named);
    assert_eq!((&empty["Labels"], &empty["RequestedQPS"]), (&"qps_100".into(), &"max".into()));
    assert_eq!(empty["DurationHistogram"]["Data"], serde_json::json!([]));
}

/// A run without a response has lower bounds alone, and a run without a request no times.
#[test]
fn a_run_without_a_response_is_written() {
    let silent = Fixture::open_loop(100).timeouts(1_000, 2 * S).document();
    let report = json("vegeta", &silent);
    assert_eq!(report["latencies"]["50th"], 2 * S);
    let certainty = report["weir"]["certainty"]["latencies"].as_object().expect("an object");
    assert!(
        certainty.len() == 8 && certainty.values().all(|word| word == "lower"),
        "{certainty:?}"
    );
    let empty = Fixture::closed_loop().document();
    assert_eq!(json("vegeta", &empty)["latencies"], serde_json::json!({}));
    assert_eq!(json("k6", &empty)["metrics"]["http_req_duration"], Value::Null);
}

#[test]
fn assertions_are_checks_and_thresholds() {
    let document = claimed(fine(Fixture::open_loop(20_000)).document());
    let data = json("k6", &document);
    let checks = data["root_group"]["checks"].as_array().expect("a list");
    assert_eq!((&checks[0]["name"], &checks[0]["passes"]), (&"p99 < 10ms".into(), &1.into()));
    assert_eq!((&checks[1]["name"], &checks[1]["fails"]), (&"p50 < 100us".into(), &1.into()));
    let thresholds = &data["metrics"]["checks"]["thresholds"];
    assert_eq!(thresholds["p99 < 10ms"]["ok"], true);
    assert_eq!(thresholds["p50 < 100us"]["ok"], false);
    let flat = json("k6-flat", &document);
    // In the flat form, true is a threshold that was crossed.
    assert_eq!(flat["metrics"]["checks"]["thresholds"]["p50 < 100us"], true);
    assert_eq!(flat["root_group"]["checks"]["p99 < 10ms"]["passes"], 1);
}

/// A bound is never compared with exact values, and an unknown value with none.
#[test]
fn a_bound_has_a_name_of_its_own() {
    let names = |document: &Document| -> Vec<String> {
        let file = json("bencher", document);
        let (_, measures) = file.as_object().expect("an object").iter().next().expect("one");
        measures.as_object().expect("measures").keys().cloned().collect()
    };
    let exact = names(&fine(Fixture::open_loop(20_000)).evidence().document());
    assert_eq!(exact, ["errors", "good", "mean", "p50", "p90", "p99", "p99.9", "throughput"]);
    let bounded = names(&inflated().document());
    assert!(bounded.iter().any(|name| name == "p99 at most"), "{bounded:?}");
    assert!(!bounded.iter().any(|name| name == "p99"), "{bounded:?}");
    let failing =
        names(&Fixture::open_loop(100).responses(900, 200, MS, MS).timeouts(100, S).document());
    assert!(failing.iter().any(|name| name == "p99 at least"), "{failing:?}");
}

#[test]
fn intervals_are_those_of_the_run() {
    let document = fine(Fixture::open_loop(20_000)).evidence().document();
    let file = json("bencher", &document);
    let p99 = &file["GET http://127.0.0.1:8080/index.html, 20,000/s, 100 connections"]["p99"];
    let found = document.results.response_time.ok.percentile(99.0).expect("it is listed");
    assert_eq!(p99["value"], found.ns as f64);
    assert_eq!(p99["lower_value"].as_f64(), found.low_ns.map(|ns| ns as f64));
    assert_eq!(p99["upper_value"].as_f64(), found.high_ns.map(|ns| ns as f64));
    let entries = json("benchmark-smaller", &document);
    let entry = entries
        .as_array()
        .expect("an array")
        .iter()
        .find(|entry| entry["name"].as_str().is_some_and(|name| name.starts_with("p99: GET ")));
    let entry = entry.expect("p99");
    assert_eq!((&entry["unit"], &entry["value"]), (&"ms".into(), &(found.ns as f64 / 1e6).into()));
    assert!(entry["range"].as_str().is_some_and(|range| range.starts_with("95%: ")), "{entry}");
}

/// Trackers get the means of repeated runs, whose intervals hold what differs between runs.
#[test]
fn repeated_runs_are_tracked_by_their_means() {
    let study = studies::repeat();
    let findings = Findings::of(Source::Study(&study));
    let write = |name: &str, findings: &Findings<'_>| {
        let mut out = Vec::new();
        let exporter = Exporter::named(name).expect("a format");
        let written = exporter.write_findings(findings, &TextOptions::default(), &mut out);
        written.map(|()| serde_json::from_slice::<Value>(&out).expect("it is JSON"))
    };
    let file = write("bencher", &findings).expect("a repetition");
    let (_, measures) = file.as_object().expect("an object").iter().next().expect("one");
    let expected =
        serde_json::json!({ "value": 2e6, "lower_value": 1.94e6, "upper_value": 2.06e6 });
    assert_eq!(measures["p99"], expected, "{file}");
    let entries = write("benchmark-bigger", &findings).expect("a repetition");
    assert_eq!(entries[0]["value"], 20_000.0);
    let extra = entries[0]["extra"].as_str().expect("a text");
    assert!(extra.starts_with("mean of 3 runs, worst grade: "), "{extra}");
    let sweep = studies::sweep();
    let error =
        write("bencher", &Findings::of(Source::Study(&sweep))).expect_err("it is no repetition");
    assert_eq!(error.to_string(), "bencher is for single runs and for weir repeat");
}
