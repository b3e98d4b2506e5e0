//! The document as its users see it: assembled with numbers checked by hand, refused if they do not
//! add up, validated when read.

use crate::fixture::{End, Request, S, json, measurements, parts, plan};
use proptest::prelude::*;
use serde_json::{Value, json as value};
use weir_result::document::Metric;
use weir_result::quantile::Bound;
use weir_result::{
    DestinationCounts, Document, Histogram, LoadError, Measurements, Outcomes, SideRecords,
    TlsCounts,
};

fn request(end: End, lag_ns: u64, service_ns: u64) -> Request {
    Request { slice: 0, lag_ns, service_ns, end }
}

/// 98 responses of 1 to 98 ns, sent when due, one bad one of 50 ns, one timeout at 2 s.
fn hundred() -> Measurements {
    let mut requests: Vec<Request> = (1..=98).map(|ns| request(End::Ok, 0, ns)).collect();
    requests.push(request(End::Bad, 0, 50));
    requests.push(request(End::TimedOut, 0, 2 * S + 300));
    measurements(0, &requests)
}

#[test]
fn numbers_are_derived() {
    let document = weir_verdict::assemble(parts(1, 1, hundred())).expect("it adds up");
    let results = &document.results;
    let accounting = &document.accounting;
    assert_eq!((results.planned, results.outcomes.ok, results.outcomes.timed_out), (100, 98, 1));
    assert_eq!((document.results.responses(), document.results.failed()), (99, 2));
    assert_eq!(accounting.overdue, 1);
    // One of the preflight, 41 of the probe, 100 of warm-up, 100 measured, and the probe thread's.
    let sent = &accounting.sent;
    assert_eq!(sent.total, 1 + 41 + 100 + 100 + sent.witness);
    let throughput = &document.throughput;
    assert_eq!((throughput.window_s, throughput.offered_rps), (3.0, Some(1_000.0)));
    assert_eq!(results.completed_rps, 33.0);

    let response = &document.results.response_time;
    assert_eq!((response.ok.min_ns, response.ok.max_ns), (Some(1), Some(98)));
    assert_eq!(response.ok.mean_ns, Some(49.5));
    let all = response.all.as_ref().expect("there are failures");
    assert_eq!((all.count, all.max_ns), (100, Some(2 * S + 300)));
    // (1 + … + 98 + 50) / 99 = 4,901 / 99.
    assert_eq!(all.mean_ns, Some(4_901.0 / 99.0));
    let listed: Vec<f64> = all.percentiles.iter().map(|value| value.p).collect();
    assert_eq!(listed, [50.0, 75.0, 90.0, 95.0, 99.0, 100.0]);
    // Failures are slower than any response: rank 50 is 50, and rank 90 is 90.
    let known = |p| all.percentile(p).map(|value| (value.ns, value.bound));
    assert_eq!(known(50.0), Some((50, Bound::Exact)));
    assert_eq!(known(90.0), Some((90, Bound::Exact)));
    assert_eq!(known(100.0), Some((2 * S + 300, Bound::Lower)));
    assert_eq!(document.latency.first_byte.all, None);
    let failures: Vec<_> = document
        .connections
        .failures
        .iter()
        .map(|failure| (failure.cause.as_str(), failure.errno.as_deref(), failure.count))
        .collect();
    assert_eq!(failures, [("errno", Some("ENETDOWN"), 3), ("timeout", None, 2)]);
}

#[test]
fn the_fixed_names_are_there() {
    let document = weir_verdict::assemble(parts(1, 1, hundred())).expect("it adds up");
    let document: Value = serde_json::from_slice(&json(&document)).expect("JSON");
    for (section, names) in [
        (
            "",
            "schema_version tool run plan phases environment connections results accounting \
             latency throughput script slices series notes",
        ),
        ("/run", "id epoch part parts interrupted"),
        ("/phases/0", "worker t0_ns t1_ns tail_end_ns drained_ns"),
        ("/connections", "requested open_at_t0 connects closed_by_peer failures"),
        ("/connections/failures/0", "phase errno count"),
        (
            "/results",
            "planned outcomes status completed completed_rps good good_rps response_time \
             service_time",
        ),
        (
            "/results/outcomes",
            "ok bad_response transport_error timed_out in_flight_at_end never_sent",
        ),
        ("/accounting/sent", "preflight warmup measured tail total"),
        ("/latency", "send_lag sched_lag connection_wait first_byte connect"),
        ("/results/response_time", "ok all histograms"),
        ("/results/response_time/ok", "count min_ns max_ns mean_ns stdev_ns percentiles"),
        ("/results/response_time/all/percentiles/0", "p ns bound"),
        ("/results/response_time/histograms", "ok bad censored"),
        ("/throughput", "window_s offered_rps sent_rps bytes_per_second"),
    ] {
        let part = document.pointer(section).expect(section);
        for name in names.split_whitespace() {
            assert!(part.get(name).is_some(), "{section}/{name}");
        }
    }
    assert_eq!(document["results"]["response_time"]["all"]["percentiles"][2]["bound"], "exact");
    assert_eq!(document["results"]["status"], value!({"200": 98, "500": 1}));
    assert_eq!(document["plan"]["load"]["due"]["curve"]["arrivals"]["seed"], u64::MAX);
}

#[test]
fn a_script_says_what_it_took() {
    let document = weir_verdict::assemble(parts(1, 1, hundred())).expect("it adds up");
    let text: Value = serde_json::from_slice(&json(&document)).expect("JSON");
    let expected = value!({
        "file": "counter.lua",
        "states": 1,
        "memory_max_bytes": 50_000,
        "callbacks": {
            "request": {"calls": 100, "time_ns": 70_000, "longest_ns": 1_000, "long_ns": 100},
        },
        "ran_dry": 0,
        "bodies_cut": 0,
        "stopped": 0,
    });
    assert_eq!(text["script"], expected);
    let two = [(1, 0), (2, 1)].map(|(part, worker)| {
        let parts = parts(part, 2, measurements(worker, &[]));
        weir_verdict::assemble(parts).expect("it adds up")
    });
    let merged = weir_verdict::merge(&two).expect("parts of one run");
    let expected = value!({
        "file": "counter.lua",
        "states": 2,
        "memory_max_bytes": 50_000,
        "callbacks": {
            "request": {"calls": 201, "time_ns": 140_700, "longest_ns": 1_001, "long_ns": 201},
            "response": {"calls": 40, "time_ns": 28_000, "longest_ns": 940, "long_ns": 40},
        },
        "ran_dry": 1,
        "bodies_cut": 2,
        "stopped": 0,
    });
    assert_eq!(value!(merged.script), expected);
    let handshakes = merged.latency.tls_handshake.expect("both parts have one");
    assert_eq!((handshakes.ok.count, handshakes.ok.max_ns), (2, Some(3_000_001)));
}

#[test]
fn tls_is_counted_by_what_was_negotiated() {
    let three = [(1, 0), (2, 1), (3, 1)].map(|(part, worker)| {
        let parts = parts(part, 3, measurements(worker, &[]));
        weir_verdict::assemble(parts).expect("it adds up")
    });
    let merged = weir_verdict::merge(&three).expect("parts of one run").tls.expect("there was TLS");
    let counts = [merged.full, merged.resumed, merged.hello_retry_requests, merged.not_resumed];
    assert_eq!(counts, [3, 0, 3, 2]);
    let found: Vec<_> =
        merged.negotiated.iter().map(|one| (one.group.as_deref(), one.handshakes)).collect();
    assert_eq!(found, [(Some("X25519"), 2), (None, 1)]);
    assert_eq!((merged.in_window, merged.handshakes_per_second), (3, 1.0));
    assert_eq!(merged.certificates, three[0].tls.as_ref().expect("there was TLS").certificates);
}

#[test]
fn handshakes_that_do_not_add_up_are_refused() {
    let check = |change: fn(&mut TlsCounts), part: &str| {
        let mut parts = parts(1, 1, measurements(0, &[]));
        change(parts.measurements.tls.as_mut().expect("there is TLS"));
        let error = weir_verdict::assemble(parts).expect_err(part).to_string();
        assert!(error.contains(part), "{error}");
    };
    check(|tls| tls.resumed += 1, "TLS handshakes and their times");
    check(|tls| tls.negotiated[0].handshakes += 1, "TLS handshakes by parameters");
    check(|tls| tls.hello_retry_requests += 1, "repeated hellos");
    check(|tls| tls.not_resumed += 2, "sessions not resumed");
    check(|tls| tls.in_window += 1, "TLS handshakes in the window");
}

#[test]
fn what_there_was_none_of_is_absent() {
    let mut parts = parts(1, 1, Measurements::default());
    let SideRecords { preflight_sent, script_file, .. } = parts.beside;
    parts.beside = SideRecords { preflight_sent, script_file, ..SideRecords::default() };
    let document = weir_verdict::assemble(parts).expect("it adds up");
    let text: Value = serde_json::from_slice(&json(&document)).expect("JSON");
    for (section, name) in [
        ("", "script"),
        ("", "stamps"),
        ("", "departures"),
        ("", "occupancy"),
        ("", "health"),
        ("", "witness"),
        ("", "probe"),
        ("", "network"),
        ("", "tls"),
        ("/accounting/sent", "probe"),
        ("/accounting/sent", "failed"),
        ("/connections", "connects_probe"),
        ("/latency", "tls_handshake"),
        ("/latency", "unlagged"),
        ("/throughput", "completed_interval"),
        ("/accounting", "overdue"),
    ] {
        assert_eq!(text.pointer(section).expect(section).get(name), None);
    }
    assert_eq!(Document::from_json(&json(&document)).expect("a document"), document);
}

#[test]
fn a_closed_loop_has_one_time() {
    for recorded_as_response in [true, false] {
        let mut parts = parts(1, 1, hundred());
        parts.given.plan.load.due = None;
        if recorded_as_response {
            parts.measurements.results.service_time = Default::default();
        } else {
            parts.measurements.results.response_time = Default::default();
        }
        let document = weir_verdict::assemble(parts).expect("it adds up");
        assert_eq!(document.results.response_time, document.results.service_time);
        assert_eq!(document.results.service_time.ok.count, 98);
        assert_eq!(document.throughput.offered_rps, None);
    }
}

#[test]
fn windows_are_planned_or_observed() {
    let window_s = |change: fn(&mut weir_result::DocumentParts)| {
        let mut parts = parts(1, 1, hundred());
        change(&mut parts);
        weir_verdict::assemble(parts).expect("it adds up").throughput.window_s
    };
    assert_eq!(window_s(|_| ()), 3.0);
    assert_eq!(window_s(|parts| parts.measurements.workers[0].t1_ns = 9 * S), 3.0);
    // The fixture's worker observed t0 at 1 s and t1 at 4 s.
    assert_eq!(window_s(|parts| parts.given.plan.load.duration_ns = None), 3.0);
    assert_eq!(
        window_s(|parts| {
            parts.measurements.interrupted = true;
            parts.measurements.workers[0].t1_ns = 2 * S;
        }),
        1.0
    );
    let requests_end_it = |parts: &mut weir_result::DocumentParts| {
        parts.given.plan.load.requests = Some(100);
        parts.measurements.workers[0].t1_ns = 3 * S;
    };
    assert_eq!(window_s(requests_end_it), 2.0);
    // Interrupted before t0.
    let nothing = |parts: &mut weir_result::DocumentParts| {
        parts.measurements = Measurements { interrupted: true, ..Measurements::default() };
    };
    assert_eq!(window_s(nothing), 0.0);
}

#[test]
fn what_does_not_add_up_is_no_document() {
    type Change = fn(&mut Measurements);
    let changes: [(Change, &str); 15] = [
        (|m| m.results.planned += 1, "six classes and the planned count: 100 is not 101"),
        (|m| m.results.outcomes.ok -= 1, "six classes"),
        (|m| *m.results.status.entry(200).or_default() += 1, "status codes and answers"),
        (|m| m.results.status.clear(), "status codes"),
        (
            |m| {
                m.results.outcomes.timed_out -= 1;
                m.results.outcomes.transport_error += 1;
            },
            "errors by kind",
        ),
        (
            |m| {
                m.results.outcomes.ok -= 1;
                m.results.outcomes.bad_response += 1;
            },
            "response times and ok requests",
        ),
        (|m| m.results.response_time.ok.record(5), "response times and ok"),
        (|m| m.results.service_time.bad.record(5), "service times and bad"),
        (|m| m.first_byte.record(5), "first bytes"),
        (|m| m.send_lag.ok.record(5), "send lags"),
        (|m| m.sched_lag.record(5), "scheduling lags"),
        (|m| m.slices[0].ok.record(5), "over slices"),
        (|m| m.sent.measured = 101, "sent requests"),
        (|m| m.results.good = 1_000, "good answers"),
        (|m| m.overdue = 101, "overdue requests and planned ones"),
    ];
    for (change, why) in changes {
        let mut measurements = hundred();
        change(&mut measurements);
        let error = weir_verdict::assemble(parts(1, 1, measurements)).expect_err(why).to_string();
        assert!(error.starts_with("broken invariant: ") && error.contains(why), "{error}");
    }
    // A sum that does not fit its bucket: one value of 2 s with a sum of 3 s.
    let mut measurements = hundred();
    measurements.connect.record_range(2 * S, 2 * S, 1, 3 * u128::from(S));
    let error = weir_verdict::assemble(parts(1, 1, measurements)).expect_err("a wrong sum");
    assert!(error.to_string().contains("connect: the sum over its buckets"), "{error}");
}

/// A run of two destinations that opened connections before its schedule, in the window and later.
fn renewing(part: u32, count: u32) -> Document {
    let mut measurements = hundred();
    measurements.connect = Histogram::new();
    for ns in [1_000, 2_000, 3_000, 4_000, 5_000] {
        measurements.connect.record(ns);
    }
    (measurements.connect_setup, measurements.connect_window) = Default::default();
    measurements.connect_setup.record(1_000);
    (2..=4).for_each(|us| measurements.connect_window.record(us * 1_000));
    measurements.connections.renewed = 4;
    let outcomes = Outcomes { ok: 60, ..Outcomes::default() };
    let share = DestinationCounts { connects: 2, outcomes, ..DestinationCounts::default() };
    let outcomes = Outcomes { ok: 38, bad_response: 1, timed_out: 1, ..Outcomes::default() };
    let other = DestinationCounts { outcomes, ..share };
    measurements.destinations = vec![share, other];
    let mut parts = parts(part, count, measurements);
    parts.given.plan.connection.destinations = vec!["a:1".to_owned(), "b:2".to_owned()];
    weir_verdict::assemble(parts).expect("it adds up")
}

#[test]
fn connections_of_the_window_are_distinguished_and_added_up() {
    let document = renewing(1, 1);
    let connections = &document.connections;
    assert_eq!((connections.connects_in_window, connections.connects_per_second), (3, 1.0));
    assert_eq!(connections.renewed, 4);
    let count = |metric: &Option<Metric>| metric.as_ref().map(|metric| metric.ok.count);
    let latency = &document.latency;
    assert_eq!((count(&latency.connect_setup), count(&latency.connect_window)), (Some(1), Some(3)));

    let parts = [1, 2].map(|part| renewing(part, 2));
    let merged = weir_verdict::merge(&parts).expect("parts of one run");
    let connections = &merged.connections;
    assert_eq!((connections.connects_in_window, connections.connects_per_second), (6, 2.0));
    assert_eq!(count(&merged.latency.connect_setup), Some(2));
    assert_eq!(merged.latency.connect.ok.count, 10);
    let shares: Vec<(&str, u64, u64)> = connections
        .destinations
        .iter()
        .map(|share| (share.address.as_str(), share.connects, share.outcomes.ok))
        .collect();
    assert_eq!(shares, [("a:1", 4, 120), ("b:2", 4, 76)]);
}

#[test]
fn shares_of_destinations_that_do_not_add_up_are_refused() {
    let mut measurements = hundred();
    let outcomes = Outcomes { ok: 98, ..Outcomes::default() };
    measurements.destinations = vec![DestinationCounts { outcomes, ..Default::default() }; 1];
    let error = weir_verdict::assemble(parts(1, 1, measurements)).expect_err("98 of 100");
    assert!(error.to_string().contains("requests over destinations"), "{error}");
}

#[test]
fn what_is_no_document_is_distinguished() {
    let good = json(&weir_verdict::assemble(parts(1, 1, hundred())).expect("it adds up"));
    assert!(Document::from_json(&good).is_ok());
    let changed = |pointer: &str, to: Value| {
        let mut document: Value = serde_json::from_slice(&good).expect("JSON");
        *document.pointer_mut(pointer).expect(pointer) = to;
        let text = serde_json::to_vec(&document).expect("JSON");
        Document::from_json(&text).expect_err(pointer).to_string()
    };
    let load = |text: &str| Document::from_json(text.as_bytes()).expect_err(text).to_string();
    assert!(load("weir 0.1.0").starts_with("it is not JSON: "));
    assert!(load("").starts_with("it is not JSON: "));
    assert!(load("[]").contains("not a document of weir"));
    assert!(load(r#"{"summary": {}}"#).contains("not a document of weir"));
    let other = "its schema version is 3, this program reads 4: use the weir that wrote it";
    assert_eq!(load(r#"{"schema_version": 3}"#), other);
    assert!(load(r#"{"schema_version": 5}"#).contains("schema version is 5"));
    assert!(load(r#"{"schema_version": 4}"#).contains("missing field `tool`"));
    assert!(load(&"[".repeat(1_000_000)).contains("not JSON"));
    let response = "/results/response_time";
    let text = format!("{response}/histograms/ok");
    let broken = changed(&text, value!("AAAA"));
    let place = "it is damaged: results.response_time: the histogram 'ok': it is not a compressed";
    assert!(broken.starts_with(place), "{broken}");
    let broken = changed("/slices/0/ok/histogram", value!("?"));
    assert!(broken.starts_with("it is damaged: slices[0].ok: it is not base64"), "{broken}");
    let broken = changed("/series/0/latency/exact/count", value!(7));
    assert!(broken.starts_with("it is damaged: series[0].latency: its buckets do"), "{broken}");
    assert!(changed(&text, Value::Null).contains("lacks its text"));
    let count = format!("{response}/exact/ok/count");
    assert!(changed(&count, value!(97)).contains("do not add up to its count"));
    let sum = format!("{response}/exact/ok/sum_ns");
    assert!(changed(&sum, value!("9".repeat(39))).contains("sum_ns is out of range"));
    assert!(changed(&sum, value!("ten")).contains("sum_ns is out of range"));
    assert!(changed(&sum, value!("5000")).contains("the sum over its buckets"));
    assert!(changed("/results/planned", value!(1_u64 << 60)).contains("results.planned"));
    assert!(changed("/results/outcomes/ok", value!(97)).contains("six classes"));
    let calls = changed("/script/callbacks/request/calls", value!(1_u64 << 60));
    assert!(calls.contains("script.callbacks.request.calls is out of range"), "{calls}");
    assert!(changed("/accounting", value!({"ok": 1})).contains("missing field"));
    assert!(changed("/series/1/start_s", value!(-1e12)).contains("no time within a run"));
    assert!(changed("/series/1/start_s", value!(-0.5)).contains("in order of time"));
    assert!(changed("/slices/1/start_s", value!(-1)).contains("is negative"));
    let unreadable = Document::load("/nonexistent/run.json").expect_err("no such file");
    assert!(matches!(unreadable, LoadError::Unreadable { .. }), "{unreadable}");
}

/// A later weir may add fields without a new `schema_version` (decision 0023).
#[test]
fn fields_of_later_programs_are_ignored() {
    let document = weir_verdict::assemble(parts(1, 1, hundred())).expect("it adds up");
    let mut changed: Value = serde_json::from_slice(&json(&document)).expect("JSON");
    for place in [
        "",
        "/run",
        "/tool",
        "/verdict",
        "/plan",
        "/plan/load",
        "/plan/load/due/curve",
        "/plan/load/due/curve/parts/0",
        "/plan/target",
        "/environment",
        "/accounting",
        "/accounting/sent",
        "/results/response_time",
        "/throughput",
        "/slices/0",
        "/series/0",
    ] {
        let object = changed.pointer_mut(place).and_then(Value::as_object_mut).expect(place);
        object.insert("of_a_later_program".to_owned(), value!([1]));
    }
    let text = serde_json::to_vec(&changed).expect("JSON");
    assert!(Document::from_json(&text).expect("unknown fields are ignored") == document);
}

/// Any measured requests of a short run.
pub(crate) fn requests() -> impl Strategy<Value = Vec<Request>> {
    let ns = || prop_oneof![0..3_000_u64, 0..5_000_000_000_u64, 0..4_000_000_000_000_u64];
    let end = prop_oneof![
        10 => Just(End::Ok),
        1 => Just(End::Bad),
        1 => Just(End::Error),
        1 => Just(End::TimedOut),
        1 => Just(End::InFlight),
        1 => Just(End::NeverSent),
    ];
    let request = (0..3_usize, ns(), ns(), end)
        .prop_map(|(slice, lag_ns, service_ns, end)| Request { slice, lag_ns, service_ns, end });
    prop::collection::vec(request, 0..200)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_text_panics(
        requests in requests(),
        cut in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let document = weir_verdict::assemble(parts(1, 2, measurements(0, &requests)));
        let mut text = json(&document.expect("it adds up"));
        let at = cut.index(text.len());
        text[at] = byte;
        if let Ok(document) = Document::from_json(&text) {
            let _ = weir_verdict::merge(&[document]);
        }
        text.truncate(at);
        prop_assert!(Document::from_json(&text).is_err());
    }
}

/// A JSON reader with an error in the last bit turned this mean into …462.
#[test]
fn a_mean_survives_text_to_the_last_bit() {
    let mut m = Measurements::default();
    let sum_ns = 137_949_465_993_360_u128;
    m.connect.record_range(440, 440, 313_554_425_398, sum_ns);
    let document = weir_verdict::assemble(parts(1, 1, m)).expect("it adds up");
    assert_eq!(document.latency.connect.ok.mean_ns, Some(439.953_816_050_461_97));
    assert_eq!(Document::from_json(&json(&document)).expect("a document"), document);
}

#[test]
fn a_plan_survives_text() {
    let text = serde_json::to_string(&plan()).expect("JSON");
    assert_eq!(serde_json::from_str::<weir_result::Plan>(&text).expect("a plan"), plan());
}
