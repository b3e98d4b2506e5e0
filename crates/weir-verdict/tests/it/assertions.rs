//! Assertions against documents whose numbers a reader can check by hand.

use crate::fixture;
use crate::fixture::{End, Request};
use weir_result::document::{DocumentParts, NameSection, StepSection};
use weir_result::quantile::Bound;
use weir_result::{
    AssertionOutcome, AssertionResult, Document, FailureCause, FailureKind, FailurePhase, ListPlan,
};
use weir_verdict::{Assertion, ShareClaim};

use AssertionOutcome::{Fail, Pass};

const MS: u64 = 1_000_000;

/// A run of three slices, each with these times in milliseconds and a number of failures of one
/// kind that end after a number of milliseconds.
fn assembled(
    times_ms: &[u64],
    failures: (End, u64, usize),
    change: impl FnOnce(&mut DocumentParts),
) -> Document {
    let (end, failed_ms, failed) = failures;
    let mut requests = Vec::new();
    for slice in 0..3 {
        requests.extend(times_ms.iter().map(|ms| Request {
            slice,
            lag_ns: 0,
            service_ns: ms * MS,
            end: End::Ok,
        }));
        let failure = Request { slice, lag_ns: 0, service_ns: failed_ms * MS, end };
        requests.extend(std::iter::repeat_n(failure, failed));
    }
    let mut parts = fixture::parts(1, 1, fixture::measurements(0, &requests));
    change(&mut parts);
    weir_verdict::assemble(parts).expect("a fixture adds up")
}

/// Removes all client overhead from the run.
fn clean(parts: &mut DocumentParts) {
    parts.measurements.stamped = Default::default();
    (parts.beside.witness, parts.given.selfcheck, parts.given.prove_client) = (None, None, None);
}

/// A run without client overhead, with `timeouts` timeouts of 2 s in each slice.
fn document(times_ms: &[u64], timeouts: usize) -> Document {
    assembled(times_ms, (End::TimedOut, 2_000, timeouts), clean)
}

/// Times of 1 to 100 ms, ten each.
fn even() -> Vec<u64> {
    (1..=100).flat_map(|ms| [ms; 10]).collect()
}

fn judge(text: &str, document: &Document) -> AssertionResult {
    text.parse::<Assertion>().unwrap_or_else(|why| panic!("{text}: {why}")).judge(document)
}

/// Judges with `--assert-confidence 95`.
fn judge_at_95(text: &str, document: &Document) -> AssertionResult {
    let claim = text.parse::<Assertion>().unwrap_or_else(|why| panic!("{text}: {why}"));
    claim.with_confidence(Some(0.95)).judge(document)
}

#[track_caller]
fn check(document: &Document, table: &[(&str, AssertionOutcome)]) {
    for (text, expected) in table {
        let result = judge(text, document);
        assert_eq!(result.outcome, *expected, "{result:?}");
        assert_eq!(result.assertion, *text);
        assert!(!result.measured.is_empty(), "{result:?}");
    }
}

/// Checks the measured value and the reason in words.
#[track_caller]
fn words(document: &Document, text: &str, outcome: AssertionOutcome, measured: &str, why: &str) {
    let result = judge(text, document);
    assert_eq!(result.outcome, outcome, "{result:?}");
    assert_eq!(result.measured, measured, "{result:?}");
    assert_eq!(result.reason.as_deref().unwrap_or(""), why, "{result:?}");
}

#[test]
fn the_measured_value_decides() {
    let document = document(&even(), 0);
    check(
        &document,
        &[
            ("p50 < 50.1ms", Pass),
            ("p50 < 49.9ms", Fail),
            ("p50 > 49.9ms", Pass),
            ("p50 > 60ms", Fail),
            ("service.p50 < 60ms", Pass),
            ("max < 101ms", Pass),
            ("max < 99ms", Fail),
            ("mean < 51ms", Pass),
            ("min >= 1ms", Pass),
            ("results.response_time.p50_ns < 60ms", Pass),
            ("tls_handshake.p50 < 1s", Fail),
        ],
    );
    let plain = judge("p50 < 49.9ms", &document);
    assert_eq!((plain.bound, plain.reason), (Bound::Exact, None));
}

/// All of 20,338 requests lie below the limit, and so does p99 with the greatest confidence.
#[test]
fn a_maximum_below_the_limit_passes() {
    let mut times: Vec<u64> = vec![3; 6_779];
    times[17] = 4;
    let document = document(&times, 0);
    let result = judge("p99 < 5ms", &document);
    assert_eq!(document.results.planned, 20_337);
    assert_eq!((result.outcome, result.bound), (Pass, Bound::Exact), "{result:?}");
    assert_eq!(result.measured, "3.00 ms (> 99.99% confidence)");
    assert!(result.confidence.is_some_and(|share| share > 0.999_999), "{result:?}");
    assert_eq!(judge_at_95("p99 < 5ms", &document).outcome, Pass);
}

#[test]
fn confidence_is_that_of_the_binomial_distribution() {
    // 102 independent requests, none at 5 ms or above: 1 − 0.99^102.
    let few = document(&[3; 34], 0);
    let result = judge("p99 < 5ms", &few);
    let expected = 1.0 - 0.99_f64.powi(102);
    assert!(result.confidence.is_some_and(|c| (c - expected).abs() < 1e-9), "{result:?}");
    assert_eq!(result.measured, "3.00 ms (64.1% confidence)");
    let result = judge_at_95("p99 < 5ms", &few);
    assert_eq!((result.outcome, result.least_confidence), (Fail, Some(0.95)), "{result:?}");
    let why = "less certain than `verdict.confidence` 95%; use `load.duration_ns` 10s";
    assert_eq!(result.reason.as_deref(), Some(why));
    // A failing claim also has a confidence: all requests lie above 2 ms.
    let result = judge("p99 < 2ms", &few);
    assert_eq!(result.measured, "3.00 ms (> 99.99% confidence)");
    // Half of the requests lie on either side: the confidence is about one half.
    let even = document(&even(), 0);
    let result = judge("p50 < 50.1ms", &even);
    assert!(result.confidence.is_some_and(|c| (0.4..0.6).contains(&c)), "{result:?}");
    let reason = judge_at_95("p50 < 50.1ms", &even).reason.expect("it fails");
    assert!(reason.ends_with("the limit is too near for a longer run to show it"), "{reason}");
}

/// A slow slice is worth few independent requests, however many it holds.
#[test]
fn clustered_requests_count_for_few() {
    let spread = document(&even(), 0);
    let clustered = {
        let mut requests: Vec<Request> = Vec::new();
        for (slice, ms) in [(0, 10), (1, 10), (2, 90)] {
            let request = Request { slice, lag_ns: 0, service_ns: ms * MS, end: End::Ok };
            requests.extend([request; 1_000]);
        }
        let mut parts = fixture::parts(1, 1, fixture::measurements(0, &requests));
        clean(&mut parts);
        weir_verdict::assemble(parts).expect("a fixture adds up")
    };
    let of = |document| judge("p90 < 99.9ms", document).confidence.expect("there are slices");
    assert!(of(&spread) > 0.999, "{}", of(&spread));
    assert!(of(&clustered) < 0.5, "{}", of(&clustered));
}

#[test]
fn a_percentile_without_requests_beyond_it_fails() {
    let document = document(&[3; 33], 0);
    words(
        &document,
        "p99.9 < 1s",
        Fail,
        "99 requests have no p99.9",
        "it needs 1,000 requests; use `load.duration_ns` 31s",
    );
    words(
        &document,
        "p99 < 1s",
        Fail,
        "99 requests have no p99",
        "it needs 100 requests; use `load.duration_ns` 4s",
    );
    let by_count =
        assembled(&[3; 33], (End::Ok, 3, 0), |parts| parts.given.plan.load.requests = Some(99));
    let reason = judge("p99 < 1s", &by_count).reason;
    assert_eq!(reason.as_deref(), Some("it needs 100 requests; use `load.requests` 100"));
}

#[test]
fn times_of_connections_are_counted_in_connections() {
    let document = |connects: u64| {
        assembled(&even(), (End::Ok, 1, 0), |parts| {
            let times = &mut parts.measurements;
            (times.connect, times.tls_handshake, times.tls) = Default::default();
            for _ in 0..connects {
                times.connect.record(MS);
                times.tls_handshake.record(MS);
            }
        })
    };
    let needed = "it needs 100 connections; use `load.connections` 100";
    for (connects, measured) in [(1, "1 connection has no p99"), (10, "10 connections have no p99")]
    {
        for text in ["connect.p99 < 5ms", "tls_handshake.p99 < 5ms"] {
            words(&document(connects), text, Fail, measured, needed);
        }
    }
    check(&document(100), &[("connect.p99 < 5ms", Pass), ("tls_handshake.p99 < 5ms", Pass)]);
}

#[test]
fn numbers_without_a_confidence_fail_where_one_is_required() {
    let document = document(&even(), 0);
    for (text, why) in [
        ("max < 1s", "a longer run may have a greater maximum; assert a percentile"),
        ("mean < 1s", "weir computes none for means; assert a percentile"),
        ("send_lag.p50 < 1s", "the window has too few slices for this time"),
        ("sent > 1", "weir computes none for this rate"),
        ("results.response_time.ok.max_ns < 1s", "fields have none; assert a percentile"),
    ] {
        let plain = judge(text, &document);
        assert_eq!((plain.outcome, plain.confidence), (Pass, None), "{plain:?}");
        let result = judge_at_95(text, &document);
        assert_eq!(result.outcome, Fail, "{result:?}");
        let expected = format!("no confidence for `verdict.confidence` 95%: {why}");
        assert_eq!(result.reason, Some(expected));
    }
    // Counts of the run are certain.
    for text in ["errors == 0", "errors.count < 3", "status.200 != 1%", "throughput.window_s >= 3s"]
    {
        assert_eq!(judge_at_95(text, &document).outcome, Pass, "{text}");
    }
}

#[test]
fn a_time_that_falls_on_a_failure_satisfies_no_upper_limit() {
    let document = document(&even(), 50);
    let not_shown =
        "it falls on a failed request (4.76% failed), which is slower than any response";
    words(&document, "p99 < 3s", Fail, "> 2.00 s", not_shown);
    words(&document, "results.response_time.p99_ns < 3s", Fail, "> 2.00 s", not_shown);
    words(&document, "max < 3s", Fail, "> 2.00 s", not_shown);
    let result = judge("p99 < 1s", &document);
    assert_eq!((result.outcome, result.bound), (Fail, Bound::Lower), "{result:?}");
    assert_eq!(result.reason.as_deref(), Some(not_shown));
    assert!(result.confidence.is_some_and(|share| share > 0.999), "{result:?}");
    words(&document, "p99 > 1s", Pass, "> 2.00 s (> 99.99% confidence)", "");
    let unknown = "not shown, how long failed requests would have taken is unknown";
    words(&document, "p99 > 3s", Fail, "> 2.00 s", unknown);
    check(&document, &[("p50 < 1s", Pass)]);
}

/// 1% of 600 requests fail within a millisecond. Rank 300 and rank 594 are responses.
#[test]
fn a_few_fast_failures_leave_percentiles_their_values() {
    let times: Vec<u64> = (3..=200).collect();
    let document = assembled(&times, (End::Bad, 1, 2), clean);
    assert_eq!((document.results.planned, document.results.outcomes.ok), (600, 594));
    for text in ["p50 < 103ms", "p50 > 101ms", "p90 < 183ms", "p99 < 201ms", "p99 < 10s"] {
        let result = judge(text, &document);
        assert_eq!((result.outcome, result.bound), (Pass, Bound::Exact), "{result:?}");
    }
    let why = "it falls on a failed request (1% failed), which is slower than any response";
    words(&document, "p99.5 < 10s", Fail, "> 200.00 ms", why);
    words(&document, "max < 10s", Fail, "> 200.00 ms", why);
    // With 2% failures p50 has a value, and p99 is a bound.
    let document = assembled(&times[..196], (End::Bad, 1, 4), clean);
    check(&document, &[("p50 < 103ms", Pass), ("p90 < 183ms", Pass), ("p99 < 10s", Fail)]);
}

/// A search counts failures at any age against its claim. It and an assertion agree on each run.
#[test]
fn a_search_and_an_assertion_agree() {
    for (failed, limit_ms) in [(0, 200), (2, 200), (2, 196), (3, 250), (20, 250), (20, 150)] {
        let document = assembled(&(3..=200).collect::<Vec<u64>>(), (End::Bad, 1, failed), clean);
        let text = format!("p99 < {limit_ms}.5ms");
        let claim: ShareClaim = text.parse().expect("an upper limit");
        let tails = claim.tails(&document);
        let (beyond, count) = tails
            .iter()
            .fold((0, 0), |(beyond, count), tail| (beyond + tail.beyond, count + tail.count));
        let holds = beyond as f64 <= claim.share_max() * count as f64 + 1e-9;
        let outcome = judge(&text, &document).outcome;
        assert_eq!(outcome == Pass, holds, "{text} with {failed} failures per slice");
    }
}

/// Percentiles of `ok` requests have fields, as the guide of assertions names them.
#[test]
fn a_percentile_of_ok_requests_has_a_field() {
    let document = assembled(&even(), (End::Bad, 1, 500), clean);
    let ok = document.results.response_time.ok.percentile(95.0).expect("3,000 responses");
    let result = judge("results.response_time.ok.p95_ns < 96ms", &document);
    assert_eq!((result.outcome, result.value), (Pass, Some(ok.ns as f64)), "{result:?}");
    check(
        &document,
        &[
            ("results.service_time.ok.p99_5_ns < 101ms", Pass),
            ("results.response_time.p95_ns < 96ms", Fail),
            ("results.response_time.ok.p96_ns < 1s", Fail),
        ],
    );
}

/// 98% of the requests fail within a millisecond, the rest succeed quickly.
#[test]
fn fast_failures_pass_no_claim_about_latency() {
    let document = assembled(&[1; 20], (End::Bad, 1, 980), clean);
    for text in [
        "p50 < 5ms",
        "p99 < 5ms",
        "max < 5ms",
        "service.p50 < 5ms",
        "mean < 5ms",
        "min < 5ms",
        "first_byte.p50 < 5ms",
        "results.response_time.ok.max_ns < 5ms",
        "results.response_time.ok.percentiles.0.ns < 5ms",
        "results.response_time.all.percentiles.0.ns < 5ms",
    ] {
        let result = judge(text, &document);
        assert_eq!(result.outcome, Fail, "{result:?}");
        assert!(result.reason.is_some(), "{result:?}");
    }
    let reason = judge("mean < 5ms", &document).reason.expect("it fails");
    assert_eq!(reason, "over successful responses alone, and 98% of requests failed");
}

/// The server is gone for the last two thirds of a closed loop, and refuses connections.
#[test]
fn a_server_that_goes_away_passes_no_claim_over_responses() {
    let document = assembled(&[1; 20], (End::Bad, 1, 0), |parts| {
        clean(parts);
        parts.given.plan.load.due = None;
        let m = &mut parts.measurements;
        let cause = FailureCause::Errno(111);
        m.connections.failures.insert(FailureKind { phase: FailurePhase::Connect, cause }, 9);
        m.slices[0].completed = 20;
        m.slices[1..].iter_mut().for_each(|slice| slice.completed = 0);
    });
    let reason = judge("mean < 5ms", &document).reason.expect("it fails");
    let silent = "the target failed: no response for 66.7% of the window: connection refused";
    assert_eq!(reason, format!("over successful responses alone, and {silent}"));
}

/// Ten users of a scenario, all of whom still take their steps at the end.
#[test]
fn a_claim_about_users_needs_one_who_has_ended() {
    let mut document = assembled(&[1; 20], (End::Ok, 1, 0), clean);
    let mut shopper = NameSection { name: "shopper".to_owned(), ..NameSection::default() };
    shopper.steps = vec![StepSection::default()];
    (shopper.results.planned, shopper.results.in_progress) = (10, 10);
    document.names = vec![shopper];
    let names = vec!["shopper".to_owned()];
    document.plan.list = Some(ListPlan { names, ..ListPlan::default() });
    let judged = judge("shopper: errors == 0", &document);
    assert_eq!(judged.outcome, Fail, "{judged:?}");
    assert!(judged.measured.starts_with("no user had ended at the end"), "{judged:?}");
    document.names[0].results.in_progress = 9;
    document.names[0].results.outcomes.ok = 1;
    assert_eq!(judge("shopper: errors == 0", &document).outcome, Pass);
}

/// Half of each service time is spent in the client's socket buffers.
fn inflated(parts: &mut DocumentParts) {
    (parts.beside.witness, parts.given.selfcheck, parts.given.prove_client) = (None, None, None);
}

#[test]
fn an_upper_bound_passes_below_the_limit_and_names_the_client_above_it() {
    let document = assembled(&even(), (End::Ok, 1, 0), inflated);
    let result = judge("p50 < 60ms", &document);
    assert_eq!((result.outcome, result.bound), (Pass, Bound::Upper), "{result:?}");
    assert!(result.measured.starts_with("≤ 50.0"), "{result:?}");
    assert!(result.confidence.is_some_and(|share| share > 0.999), "{result:?}");
    let client = "client overhead is 25.00 ms of it; give weir more CPU time";
    let result = judge("p50 < 40ms", &document);
    assert_eq!((result.outcome, result.confidence), (Fail, None), "{result:?}");
    assert_eq!(result.reason.as_deref(), Some(client), "{result:?}");
    let too_long = "client overhead is 25.00 ms of it, and the rest exceeds the limit as well";
    assert_eq!(judge("p50 < 10ms", &document).reason.as_deref(), Some(too_long));
    let not_shown = "not shown, client overhead is 25.00 ms of it";
    assert_eq!(judge("p50 > 40ms", &document).reason.as_deref(), Some(not_shown));
}

#[test]
fn an_unknown_value_fails_either_way() {
    // Timeouts of most requests, and overhead in all: the median is unknown.
    let document = assembled(&even(), (End::TimedOut, 60, 1_100), inflated);
    for text in ["p50 < 1s", "p50 > 1us"] {
        let result = judge(text, &document);
        assert_eq!((result.outcome, result.bound), (Fail, Bound::Unknown), "{result:?}");
        assert_eq!((result.measured.as_str(), result.confidence), ("unknown", None));
        let reason = result.reason.expect("both reasons");
        assert!(
            reason.starts_with("it falls on a failed request, and client overhead"),
            "{reason}"
        );
    }
}

#[test]
fn rates_have_a_confidence_over_slices() {
    // Slices have 990, 991 and 992 responses in 1 s, 980 of them good.
    let document = document(&even(), 0);
    check(
        &document,
        &[("rate > 900", Pass), ("rate < 900", Fail), ("good >= 1k", Pass), ("good > 1001", Fail)],
    );
    let result = judge("rate > 900", &document);
    // (1,000 − 900) ÷ (1/√3) with two degrees of freedom.
    let expected = weir_stats::t_cdf(100.0 * 3.0_f64.sqrt(), 2.0);
    assert!(result.confidence.is_some_and(|c| (c - expected).abs() < 1e-9), "{result:?}");
    assert_eq!(judge_at_95("rate > 900", &document).outcome, Pass);
    let near = judge_at_95("rate > 999.8", &document);
    assert_eq!(near.outcome, Fail, "{near:?}");
}

#[test]
fn a_rate_that_the_client_limited_is_a_lower_bound() {
    // One more thread increased the throughput in the fixture's trials.
    let document = assembled(&even(), (End::Ok, 1, 0), |_| ());
    assert_eq!(document.throughput.bound, Bound::Lower);
    check(&document, &[("rate >= 900", Pass), ("rate > 2k", Fail), ("rate < 2k", Fail)]);
    let client = "client CPU limited it; give weir more CPU time";
    words(&document, "rate > 2k", Fail, "≥ 1,000.0/s", client);
    words(&document, "rate < 2k", Fail, "≥ 1,000.0/s", &format!("not shown, {client}"));
    assert_eq!(judge("rate < 900", &document).reason, None);
    assert_eq!(judge("results.completed_rps < 2k", &document).outcome, Fail);
}

#[test]
fn shares_have_a_confidence_and_counts_have_none() {
    let fine = document(&even(), 0);
    check(
        &fine,
        &[
            ("errors < 1%", Pass),
            ("errors < 0.01%", Pass),
            ("errors == 0", Pass),
            ("errors.count <= 0", Pass),
            ("timeouts.count == 0", Pass),
            ("status.5xx < 1%", Pass),
            ("status.200 > 99%", Pass),
            ("status.2xx.count == 3000", Pass),
            ("never_sent < 1%", Pass),
        ],
    );
    let result = judge("errors < 0.1%", &fine);
    let expected = 1.0 - 0.999_f64.powi(3_000);
    assert!(result.confidence.is_some_and(|c| (c - expected).abs() < 1e-9), "{result:?}");
    assert_eq!(result.measured, "0% (95.0% confidence)");
    assert_eq!(judge_at_95("errors < 0.1%", &fine).outcome, Pass);
    let result = judge_at_95("errors < 0.01%", &fine);
    let why = "less certain than `verdict.confidence` 95%; use `load.duration_ns` 35s";
    assert_eq!((result.outcome, result.reason.as_deref()), (Fail, Some(why)), "{result:?}");
    assert_eq!(judge("errors.count <= 0", &fine).confidence, None);
    let failing = document(&even(), 50);
    check(
        &failing,
        &[
            ("errors < 1%", Fail),
            ("errors < 5%", Pass),
            ("errors == 0", Fail),
            ("errors.count != 150", Fail),
            ("timeouts > 1%", Pass),
        ],
    );
}

#[test]
fn fields_of_the_document_are_found_by_path() {
    let document = document(&even(), 0);
    check(
        &document,
        &[
            ("results.planned == 3000", Pass),
            ("results.errors.ECONNRESET == 0", Pass),
            ("results.status.200 > 2999", Pass),
            ("throughput.window_s >= 3s", Pass),
            ("results.response_time.ok.max_ns < 99ms", Fail),
            ("plan.load.connections == 10", Pass),
            ("slices.0.start_s == 0", Pass),
            ("slices.7.start_s == 0", Fail),
            ("plan.url == 1", Fail),
            ("run.preflight.status == 200", Fail),
        ],
    );
    assert_eq!(judge("plan.url == 1", &document).measured, "plan.url is no number");
    assert_eq!(
        judge("slices.7.start_s == 0", &document).measured,
        "the document has no slices.7.start_s"
    );
}

/// Every section of a document can start a path.
#[test]
fn every_section_is_a_beginning_of_a_path() {
    let document = document(&even(), 0);
    let value = serde_json::to_value(&document).expect("a document is JSON");
    for (section, content) in value.as_object().expect("a document is an object") {
        // Text, and sections without any number, cannot be asserted.
        if content.is_number() || section == "tool" || section == "notes" {
            continue;
        }
        let parsed = format!("{section}.anything == 1").parse::<Assertion>();
        assert!(parsed.is_ok(), "{section}: {parsed:?}");
    }
}
