//! Assertions and metrics of the requests with one name, against a run whose numbers a reader can
//! check by hand.

use weir_result::document::DocumentParts;
use weir_result::quantile::Bound;
use weir_result::{
    AssertionOutcome, AssertionResult, Document, ListOrder, ListPlan, Measurements, NamedSlice,
    ResultCounts,
};
use weir_verdict::{Assertion, NamedMetric, ShareClaim};

use crate::fixture::{self, End, Request};

use AssertionOutcome::{Fail, Pass};

const MS: u64 = 1_000_000;

/// Names of the list. The last one has no slices.
const NAMES: [&str; 3] = ["checkout", "GET /a: b, c", "(other)"];

/// A request of the name at an index.
type Named = (usize, Request);

/// Adds a request to the counts of its name as a recorder does; the window's completed responses
/// are those of the measured requests.
fn count(measured: &mut Measurements, (index, request): &Named) {
    let Request { slice, lag_ns, service_ns, end } = *request;
    let counts = &mut measured.names[*index];
    let share = measured.slices[slice].named.get_mut(*index);
    counts.planned += 1;
    let response = &mut counts.response_time;
    let service = &mut counts.service_time;
    let (response, service) = match end {
        End::Ok => {
            counts.outcomes.ok += 1;
            *counts.status.entry(200).or_default() += 1;
            (&mut response.ok, &mut service.ok)
        }
        End::Bad => {
            counts.outcomes.bad_response += 1;
            *counts.status.entry(500).or_default() += 1;
            (&mut response.bad, &mut service.bad)
        }
        _ => {
            counts.outcomes.timed_out += 1;
            (&mut response.censored, &mut service.censored)
        }
    };
    response.record(lag_ns + service_ns);
    service.record(service_ns);
    let is_ok = matches!(end, End::Ok);
    let completed = u64::from(!matches!(end, End::TimedOut));
    counts.completed += completed;
    counts.good += u64::from(is_ok);
    if let Some(share) = share {
        let times = if is_ok { &mut share.ok } else { &mut share.not_ok };
        times.record(lag_ns + service_ns);
        share.completed += completed;
        share.good += u64::from(is_ok);
    }
}

/// A run of a list with these requests.
fn run(requests: &[Named], change: impl FnOnce(&mut DocumentParts)) -> Document {
    let all: Vec<Request> = requests.iter().map(|(_, request)| *request).collect();
    let mut measured = fixture::measurements(0, &all);
    measured.names = vec![ResultCounts::default(); NAMES.len()];
    for slice in &mut measured.slices {
        slice.named = vec![NamedSlice::default(); 2];
    }
    requests.iter().for_each(|request| count(&mut measured, request));
    let mut parts = fixture::parts(1, 1, measured);
    parts.measurements.stamped = Default::default();
    (parts.beside.witness, parts.given.selfcheck, parts.given.prove_client) = (None, None, None);
    parts.given.plan.list = Some(ListPlan {
        sha256: "ab".to_owned(),
        names: NAMES.map(str::to_owned).to_vec(),
        with_intervals: vec![0, 1],
        order: ListOrder::Sequential,
        ..ListPlan::default()
    });
    change(&mut parts);
    weir_verdict::assemble(parts).expect("names add up")
}

/// Requests of a name, in each of three slices: `ok` of these times, and failures of 2 s.
fn of(index: usize, times_ms: &[u64], failures: (End, usize)) -> Vec<Named> {
    let (end, failed) = failures;
    let request = |slice, ms: u64, end| Request { slice, lag_ns: 0, service_ns: ms * MS, end };
    let in_slice = |slice| {
        let ok = times_ms.iter().map(move |ms| (index, request(slice, *ms, End::Ok)));
        ok.chain(std::iter::repeat_n((index, request(slice, 2_000, end)), failed))
    };
    (0..3).flat_map(in_slice).collect()
}

/// 3,000 quick checkouts; 300 slower requests, of which 60 have status 500; 30 of no slices.
fn mixed() -> Document {
    let even: Vec<u64> = (1..=80).collect();
    let requests = [
        of(0, &[3; 1_000], (End::Ok, 0)),
        of(1, &even, (End::Bad, 20)),
        of(2, &[7; 10], (End::Ok, 0)),
    ];
    run(&requests.concat(), |_| ())
}

fn judge(text: &str, document: &Document) -> AssertionResult {
    text.parse::<Assertion>().unwrap_or_else(|why| panic!("{text}: {why}")).judge(document)
}

#[test]
fn each_metric_of_a_name_is_of_its_requests_alone() {
    let document = mixed();
    for (text, outcome, measured) in [
        ("checkout: p99 < 5ms", Pass, "3.00 ms (> 99.99% confidence)"),
        ("checkout: p99 < 2ms", Fail, "3.00 ms (> 99.99% confidence)"),
        ("checkout: service.p50 < 5ms", Pass, "3.00 ms (> 99.99% confidence)"),
        ("checkout: max < 5ms", Pass, "3.00 ms"),
        ("checkout: mean < 5ms", Pass, "3.00 ms"),
        ("checkout: errors == 0", Pass, "0 of 3,000 requests (0%)"),
        ("GET /a: b, c: p50 < 60ms", Pass, "50.00 ms (99.89% confidence)"),
        ("GET /a: b, c: errors < 30%", Pass, "20.0% (> 99.99% confidence)"),
        ("GET /a: b, c: errors < 10%", Fail, "20.0% (> 99.99% confidence)"),
        ("GET /a: b, c: status.5xx.count == 60", Pass, "60 of 300 requests"),
        ("GET /a: b, c: status.200 > 50%", Pass, "80.0% (> 99.99% confidence)"),
        ("GET /a: b, c: timeouts.count == 0", Pass, "0 of 300 requests"),
        ("GET /a: b, c: min >= 1ms", Pass, "1.00 ms"),
    ] {
        let result = judge(text, &document);
        assert_eq!((result.outcome, result.measured.as_str()), (outcome, measured), "{result:?}");
        assert_eq!(result.assertion, text);
    }
    // The run as a whole has another p99 and other failures.
    assert_eq!(judge("p99 < 5ms", &document).outcome, Fail);
    assert_eq!(judge("errors == 0", &document).outcome, Fail);
}

#[test]
fn rates_of_names_have_intervals() {
    let document = mixed();
    let window_s = document.throughput.window_s;
    for (text, count) in [("checkout: rate", 3_000.0), ("GET /a: b, c: good", 240.0)] {
        let metric: NamedMetric = text.parse().expect(text);
        let measured = metric.measure(&document).expect(text);
        assert_eq!((measured.value, measured.bound), (count / window_s, document.throughput.bound));
    }
    let metric: NamedMetric = "checkout: rate".parse().expect("a metric");
    let interval = document.names[0].results.completed_interval.expect("slices have counts");
    assert_eq!(metric.interval(&document), Some((interval.low_rps, interval.high_rps)));
    let p99: NamedMetric = "GET /a: b, c: p50".parse().expect("a metric");
    let (low, high) = p99.interval(&document).expect("slices have times");
    let value = p99.measure(&document).expect("it is known").value;
    assert!(low <= value && value <= high && high < 80e6, "{low} {value} {high}");
    assert_eq!((metric.failed(&document), p99.failed(&document)), (0, 60));
}

/// The point estimate judges, without a confidence.
#[test]
fn a_name_without_slices_has_no_confidence() {
    let document = mixed();
    for text in ["(other): p50 < 10ms", "(other): errors < 1%", "(other): rate > 1"] {
        let result = judge(text, &document);
        assert_eq!((result.outcome, result.confidence), (Pass, None), "{result:?}");
        let strict = text.parse::<Assertion>().expect(text).with_confidence(Some(0.95));
        let result = strict.judge(&document);
        let reason = result.reason.clone().unwrap_or_default();
        assert!(
            reason.ends_with("only the names with the greatest weights have slices"),
            "{result:?}"
        );
        assert_eq!(result.outcome, Fail);
    }
    let metric: NamedMetric = "(other): p50".parse().expect("a metric");
    assert_eq!(metric.measure(&document).expect("it is known").value.round(), 7e6);
    assert_eq!(metric.interval(&document), None);
}

#[test]
fn a_percentile_of_too_few_requests_names_how_many_are_needed() {
    let result = judge("(other): p99 < 10ms", &mixed());
    assert_eq!((result.outcome, result.value), (Fail, None));
    assert_eq!(result.measured, "30 requests have no p99");
    let advice = "it needs 100 requests with this name; use `load.duration_ns` 10s";
    assert_eq!(result.reason.as_deref(), Some(advice));
    let counted = |parts: &mut DocumentParts| parts.given.plan.load.requests = Some(3_330);
    let requests = [of(0, &[3; 1_100], (End::Ok, 0)), of(2, &[7; 10], (End::Ok, 0))].concat();
    let reason = judge("(other): p99 < 10ms", &run(&requests, counted)).reason;
    let advice = "it needs 100 requests with this name; use `load.requests` 11100";
    assert_eq!(reason.as_deref(), Some(advice));
}

/// Each name has its own failures: a mean over few successes shows nothing.
#[test]
fn a_mean_of_a_name_that_mostly_fails_does_not_pass() {
    let requests = [of(0, &[3; 1_000], (End::Ok, 0)), of(1, &[1; 10], (End::Bad, 15))].concat();
    let document = run(&requests, |_| ());
    assert_eq!(judge("checkout: mean < 5ms", &document).outcome, Pass);
    let result = judge("GET /a: b, c: min < 5ms", &document);
    assert_eq!(result.outcome, Fail, "{result:?}");
    let reason = "over successful responses alone, and 60% of requests with the name failed";
    assert_eq!(result.reason.as_deref(), Some(reason));
}

#[test]
fn a_name_that_the_run_does_not_have_is_an_error_with_the_nearest() {
    let document = mixed();
    let check = |text: &str, part: &str| {
        let claim: Assertion = text.parse().expect(text);
        let error = claim.check(&document.plan).expect_err(text).to_string();
        assert!(error.contains(part), "{text}: {error}");
        let result = claim.judge(&document);
        assert!(result.outcome == Fail && result.measured.contains(part), "{result:?}");
    };
    check("chekout: p99 < 5ms", "no request has the name 'chekout': did you mean 'checkout'?");
    check("x: p99 < 5ms", "the list has 'checkout', 'GET /a: b, c', '(other)'");
    check("a\u{1b}[31m: p99 < 5ms", "'a?[31m'");
    let mut plain = document.clone();
    plain.plan.list = None;
    let claim: Assertion = "checkout: p99 < 5ms".parse().expect("a claim");
    let error = claim.check(&plain.plan).expect_err("no list").to_string();
    assert!(error.contains("the run has no list of requests"), "{error}");
    for text in ["checkout: p99 < 5ms", "(other): errors < 1%", "p99 < 5ms"] {
        text.parse::<Assertion>().expect(text).check(&document.plan).expect(text);
    }
}

/// A search counts the requests of the name in its slices.
#[test]
fn a_claim_of_a_search_has_the_slices_of_its_name() {
    let document = mixed();
    let tails = |text: &str| {
        let claim: ShareClaim = text.parse().expect(text);
        claim.check(&document.plan).expect(text);
        let tails = claim.tails(&document);
        tails.iter().map(|tail| (tail.count, tail.beyond)).collect::<Vec<_>>()
    };
    assert_eq!(tails("checkout: p99 < 2ms"), [(1_000, 1_000); 3]);
    assert_eq!(tails("checkout: errors < 1%"), [(1_000, 0); 3]);
    // 40 of 80 are slower, and 20 failed.
    assert_eq!(tails("GET /a: b, c: p50 < 40ms"), [(100, 60); 3]);
    assert_eq!(tails("p99 < 5ms"), [(1_110, 75 + 20 + 10); 3]);
    let share =
        |text: &str| text.parse::<ShareClaim>().expect(text).requests_share(&document) * 3_330.0;
    assert_eq!((share("checkout: p99 < 2ms").round(), share("p99 < 2ms").round()), (3e3, 3_330.0));
    let claim: ShareClaim = "(other): p99 < 5ms".parse().expect("a claim");
    let error = claim.check(&document.plan).expect_err("no slices").to_string();
    assert!(error.contains("a search needs slices"), "{error}");
}

/// The client sends the requests of all names alike: it adds to each percentile of a name what it
/// adds to that of the run.
#[test]
fn the_client_inflates_names_as_the_run() {
    let late = |(index, request): &Named| (*index, Request { lag_ns: 30 * MS, ..*request });
    let requests = [of(0, &[3; 1_000], (End::Ok, 0)), of(1, &[1_900; 100], (End::Ok, 0))].concat();
    let on_time = run(&requests, |_| ());
    let requests: Vec<Named> = requests.iter().map(late).collect();
    let document = run(&requests, |_| ());
    let bound = |document: &Document, text: &str| {
        let metric: NamedMetric = text.parse().expect(text);
        metric.measure(document).expect(text).bound
    };
    assert_eq!(bound(&on_time, "checkout: p50"), Bound::Exact);
    assert_eq!(bound(&document, "checkout: p50"), Bound::Upper);
    // 10 ms of scheduling lag are less than 5% of 1.9 s.
    assert_eq!(bound(&document, "GET /a: b, c: p50"), Bound::Exact);
    let result = judge("checkout: p50 < 30ms", &document);
    assert!(result.outcome == Fail && result.measured.starts_with("≤ "), "{result:?}");
}
