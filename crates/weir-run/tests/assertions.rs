//! Assertions against documents whose numbers a reader can check by hand.

#[expect(dead_code, reason = "the tests of documents use more of it")]
mod fixture;

use fixture::{End, Request, S};
use weir_run::{Assertion, AssertionOutcome, AssertionResult, Document};

const MS: u64 = 1_000_000;

/// A run of three slices of which each has these times in milliseconds, and so many timeouts.
fn document(times_ms: &[u64], timeouts: usize) -> Document {
    let mut requests = Vec::new();
    for slice in 0..3 {
        requests.extend(times_ms.iter().map(|ms| Request {
            slice,
            lag_ns: 0,
            service_ns: ms * MS,
            end: End::Ok,
        }));
        let timeout = Request { slice, lag_ns: 0, service_ns: 2 * S, end: End::TimedOut };
        requests.extend(std::iter::repeat_n(timeout, timeouts));
    }
    let parts = fixture::parts(1, 1, fixture::measurements(0, &requests));
    Document::assemble(parts).expect("a fixture adds up")
}

/// 1 to 100 ms, ten times each in each slice.
fn even() -> Vec<u64> {
    (1..=100).flat_map(|ms| [ms; 10]).collect()
}

fn judge(text: &str, document: &Document) -> AssertionResult {
    text.parse::<Assertion>().unwrap_or_else(|why| panic!("{text}: {why}")).judge(document)
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

use AssertionOutcome::{Fail, Pass, Undecided};

#[test]
fn a_percentile_is_judged_with_its_interval() {
    let document = document(&even(), 0);
    // Half of 3,000 lies at 50 ms; its interval is some milliseconds wide.
    check(
        &document,
        &[
            ("p50 < 60ms", Pass),
            ("p50 < 40ms", Fail),
            ("p50 < 50.5ms", Undecided),
            ("p50 > 40ms", Pass),
            ("p50 > 60ms", Fail),
            ("service.p50 < 60ms", Pass),
            ("max < 101ms", Pass),
            ("max < 99ms", Fail),
            ("mean < 51ms", Pass),
            ("min >= 1ms", Pass),
            ("p99.99 < 1s", Undecided),
            ("tls_handshake.p50 < 1s", Undecided),
        ],
    );
    let near = judge("p50 < 50.5ms", &document);
    assert!(near.low.is_some_and(|low| low < 50e6), "{near:?}");
    assert!(near.advice.as_ref().is_some_and(|text| text.contains("-d ")), "{near:?}");
    let unsupported = judge("p99.99 < 1s", &document);
    assert_eq!(unsupported.measured, "3,000 requests do not carry p99.99");
    let advice = unsupported.advice.expect("more requests decide it");
    assert!(advice.starts_with("it needs 100,000 requests: -d "), "{advice}");
}

#[test]
fn what_falls_on_a_failure_is_a_bound() {
    let document = document(&even(), 50);
    check(
        &document,
        &[
            ("p99 < 1s", Fail),
            ("p99 < 10s", Undecided),
            ("p99 > 1s", Pass),
            ("max < 10s", Undecided),
            ("p50 < 1s", Pass),
        ],
    );
    let open = judge("p99 < 10s", &document);
    assert!(open.measured.starts_with("> 2.00 s") && open.high.is_none(), "{open:?}");
    assert!(open.advice.expect("a reason").contains("failed"));
}

#[test]
fn shares_are_judged_with_their_interval_and_counts_without() {
    let fine = document(&even(), 0);
    check(
        &fine,
        &[
            ("errors < 1%", Pass),
            ("errors < 0.01%", Undecided),
            ("errors == 0", Pass),
            ("errors.count <= 0", Pass),
            ("timeouts.count == 0", Pass),
            ("status.5xx < 1%", Pass),
            ("status.200 > 99%", Pass),
            ("status.2xx.count == 3000", Pass),
            ("never_sent < 1%", Pass),
        ],
    );
    let failing = document(&even(), 50);
    check(
        &failing,
        &[
            ("errors < 1%", Fail),
            ("errors < 10%", Pass),
            ("errors < 5%", Undecided),
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
            ("accounting.planned == 3000", Pass),
            ("accounting.errors.ECONNRESET == 0", Pass),
            ("accounting.status.200 > 2999", Pass),
            ("throughput.window_s >= 3s", Pass),
            ("latency.response_time.ok.max_ns < 99ms", Fail),
            ("plan.connections == 10", Pass),
            ("slices.0.start_s == 0", Pass),
            ("slices.7.start_s == 0", Undecided),
            ("plan.url == 1", Undecided),
            ("run.preflight.status == 200", Undecided),
        ],
    );
    assert_eq!(judge("plan.url == 1", &document).measured, "plan.url is no number");
    assert_eq!(
        judge("slices.7.start_s == 0", &document).measured,
        "the document has no slices.7.start_s"
    );
}

/// Every section that a document has can be named.
#[test]
fn every_section_is_a_beginning_of_a_path() {
    let document = document(&even(), 0);
    let value = serde_json::to_value(&document).expect("a document is JSON");
    for (section, content) in value.as_object().expect("a document is an object") {
        // Words, and what has no number at all, cannot be asserted of.
        if content.is_number() || section == "tool" || section == "notes" {
            continue;
        }
        let parsed = format!("{section}.anything == 1").parse::<Assertion>();
        assert!(parsed.is_ok(), "{section}: {parsed:?}");
    }
}
