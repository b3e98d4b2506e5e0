//! The line `Target`.

use weir_result::document::{NameSection, StepSection, TargetLine, TargetState};
use weir_result::{
    DocumentParts, FailureCause, FailureKind, FailurePhase, ListPlan, Outcomes, ScenarioPlan,
    StepPlan, UsersPlan,
};
use weir_verdict::{Assertion, verdict};

use super::run::{EACH, Failure, MS, S, answer, closed, failing, held, no_success, well};

#[track_caller]
fn check(target: &TargetLine, state: TargetState, text: &str) {
    assert_eq!((target.state, target.text.as_str()), (state, text), "{target:?}");
}

fn with(count: u64, failure: Failure) -> TargetLine {
    well(|parts| failing(parts, count, failure)).verdict.target
}

fn only(count: u64, failure: Failure) -> TargetLine {
    let document = well(|parts| {
        no_success(parts);
        failing(parts, count, failure);
    });
    document.verdict.target
}

#[test]
fn few_failures_are_ok() {
    let target = well(|_| ()).verdict.target;
    check(&target, TargetState::Ok, "");
    assert_eq!(target.failed_share, 0.0);
    // 29 of 30,029 are less than 0.1%.
    check(&with(29, Failure::TimedOut), TargetState::Ok, "");
}

#[test]
fn from_a_thousandth_on_it_is_degraded() {
    let target = with(31, Failure::TimedOut);
    check(&target, TargetState::Degraded, "0.1% timed out");
    assert!((target.failed_share - 31.0 / 30_031.0).abs() < 1e-12);
    check(&with(960, Failure::TimedOut), TargetState::Degraded, "3.1% timed out");
    check(&with(960, Failure::Status(404)), TargetState::Degraded, "3.1% of responses were 404");
    check(
        &with(960, Failure::Reset),
        TargetState::Degraded,
        "3.1% failed: connection reset by peer",
    );
}

#[test]
fn half_of_the_requests_or_no_success_is_a_failure() {
    check(
        &with(29_000, Failure::Status(503)),
        TargetState::Degraded,
        "49.2% of responses were 503",
    );
    check(&with(30_000, Failure::Status(503)), TargetState::Failed, "50% of responses were 503");
    check(&only(100, Failure::Status(404)), TargetState::Failed, "100% of responses were 404");
    let target = only(3, Failure::Reset);
    check(&target, TargetState::Failed, "100% failed: connection reset by peer");
}

#[test]
fn a_server_that_never_responds() {
    let document = well(|parts| {
        no_success(parts);
        parts.given.plan.load.timeout_ns = 10_000_000_000;
        failing(parts, 20, Failure::TimedOut);
    });
    check(&document.verdict.target, TargetState::Failed, "no response within 10 s");
    assert_eq!(document.verdict.target.failed_share, 1.0);
}

/// Requests never sent belong to the line `Load`, not to the target.
#[test]
fn requests_never_sent_are_no_failures_of_the_target() {
    check(&with(3_000, Failure::NeverSent), TargetState::Ok, "");
}

/// `Target` is about the requests that were sent, an assertion about all.
#[test]
fn an_assertion_names_its_base_if_requests_were_never_sent() {
    let measured = |text: &str, count: u64, failure| {
        let document = well(|parts| failing(parts, count, failure));
        text.parse::<Assertion>().expect("a claim").judge(&document).measured
    };
    for name in ["errors", "never_sent"] {
        let text = measured(&format!("{name} == 0"), 3_000, Failure::NeverSent);
        assert_eq!(text, "3,000 of 33,000 requests (9.09%)");
    }
    let count = measured("never_sent.count == 0", 3_000, Failure::NeverSent);
    assert_eq!(count, "3,000 of 33,000 requests");
    let errors = measured("errors == 0", 3_000, Failure::Reset);
    assert_eq!(errors, "3,000 of 33,000 requests (9.09%)");
}

#[test]
fn a_port_that_refuses() {
    let document = well(|parts| {
        no_success(parts);
        let cause = FailureCause::Errno(111);
        let refused = FailureKind { phase: FailurePhase::Connect, cause };
        parts.measurements.connections.failures.insert(refused, 10);
        failing(parts, 20, Failure::NeverSent);
    });
    check(&document.verdict.target, TargetState::Failed, "no connection: connection refused");
}

#[test]
fn held_connections_that_the_server_ends() {
    check(&well(held(0)).verdict.target, TargetState::Ok, "");
    let some = well(held(3)).verdict.target;
    let text = "connections ended 3 times, of 10 held: connection reset by peer";
    check(&some, TargetState::Degraded, text);
    assert_eq!(some.failed_share, 0.3);
    let all = well(held(25)).verdict.target;
    let text = "connections ended 25 times, of 10 held: connection reset by peer";
    check(&all, TargetState::Failed, text);
    assert_eq!(all.failed_share, 1.0);
}

/// The requests of the warm-up kept every connection busy until the end.
#[test]
fn a_server_that_is_silent_from_the_start_failed() {
    let silent = |parts: &mut DocumentParts| {
        no_success(parts);
        parts.measurements.sent.warmup = 10;
        for worker in &mut parts.measurements.workers {
            (worker.start_ns, worker.drained_ns) = (S, 9 * S + S / 10);
        }
    };
    let target = well(silent).verdict.target;
    check(&target, TargetState::Failed, "no response within 2 s");
    // Responses inside the window count, even to requests of the warm-up.
    let target = well(|parts| {
        silent(parts);
        (parts.measurements.results.completed, parts.measurements.results.good) = (1_000, 990);
    });
    check(
        &target.verdict.target,
        TargetState::Degraded,
        "1% of responses have a status of 400 or above",
    );
}

/// Leaves the slices from this one on without requests, as in a closed loop whose server is gone.
fn gone_from(first: usize, parts: &mut DocumentParts) {
    let m = &mut parts.measurements;
    for slice in &mut m.slices[first..] {
        (slice.sent, slice.completed, slice.good, slice.in_flight) = (0, 0, 0, 0);
    }
}

fn refused(parts: &mut DocumentParts) {
    let refused = FailureKind { phase: FailurePhase::Connect, cause: FailureCause::Errno(111) };
    parts.measurements.connections.failures.insert(refused, 64);
}

/// A target that is gone gets no requests that could fail.
#[test]
fn a_server_that_goes_away_in_a_closed_loop() {
    let gone = |first| {
        let document = well(|parts| {
            closed(parts);
            refused(parts);
            gone_from(first, parts);
        });
        document.verdict.target
    };
    let text = "no response for 50% of the window: connection refused";
    check(&gone(15), TargetState::Failed, text);
    assert_eq!(gone(15).failed_share, 0.0);
    let text = "no response for 3.33% of the window: connection refused";
    check(&gone(29), TargetState::Degraded, text);
    check(&gone(30), TargetState::Ok, "");
}

/// A closed loop with a number of requests has no slices where nothing happens any more.
#[test]
fn a_server_that_goes_away_for_good() {
    let mut document = well(|parts| {
        closed(parts);
        refused(parts);
        gone_from(20, parts);
    });
    document.slices.truncate(21);
    let text = "no response for 33.3% of the window: connection refused";
    check(&verdict(&document).target, TargetState::Degraded, text);
}

#[test]
fn a_server_that_goes_away_in_an_open_loop() {
    let gone = |backlog| {
        let document = well(|parts| {
            refused(parts);
            gone_from(15, parts);
            parts.measurements.slices[15..].iter_mut().for_each(|slice| slice.backlog = backlog);
        });
        document.verdict.target
    };
    let text = "no response for 50% of the window: connection refused";
    check(&gone(EACH), TargetState::Failed, text);
    // Nothing was due.
    check(&gone(0), TargetState::Ok, "");
}

/// A user who thinks sends nothing: the silence has to be longer than that.
#[test]
fn a_server_that_goes_away_from_users_who_think() {
    let gone = |mean_s: f64| {
        let mut document = well(|parts| {
            closed(parts);
            refused(parts);
            gone_from(15, parts);
        });
        let step = StepPlan { think_mean_ns: (mean_s * S as f64) as u64, ..StepPlan::default() };
        let scenario = ScenarioPlan { steps: vec![step], ..ScenarioPlan::default() };
        let users = UsersPlan { scenarios: vec![scenario], ..UsersPlan::default() };
        document.plan.list = Some(ListPlan { users: Some(users), ..ListPlan::default() });
        verdict(&document)
    };
    // The window has 10 s, of which the server is away for 5.
    let of_short = gone(2.4);
    let text = "no response for 50% of the window: connection refused";
    check(&of_short.target, TargetState::Failed, text);
    check(&gone(2.6).target, TargetState::Ok, "");
}

/// A request of many that fails ends its user.
#[test]
fn users_that_fail_are_failures_of_the_target() {
    let of = |ok, bad_response| {
        let mut document = well(|parts| failing(parts, 960, Failure::Status(401)));
        let mut shopper = NameSection { name: "shopper".to_owned(), ..NameSection::default() };
        shopper.steps = vec![StepSection::default()];
        shopper.results.outcomes = Outcomes { ok, bad_response, ..Outcomes::default() };
        document.names.push(shopper);
        verdict(&document).target
    };
    let requests = "3.1% of responses were 401";
    check(&of(0, 0), TargetState::Degraded, requests);
    check(&of(60, 40), TargetState::Degraded, &format!("40% of users failed: {requests}"));
    check(&of(99, 1), TargetState::Degraded, requests);
    check(&of(0, 9), TargetState::Failed, &format!("100% of users failed: {requests}"));
    check(&of(40, 60), TargetState::Failed, &format!("60% of users failed: {requests}"));
}

const NO_STREAMS: &str = "the server allows no streams (MAX_CONCURRENT_STREAMS 0)";
const ENDED: &str = "the server ended connections (GOAWAY: ENHANCE_YOUR_CALM)";

fn without_streams(parts: &mut DocumentParts) {
    parts.measurements.connections.without_streams = 10;
    parts.measurements.connections.goaways.insert("NO_ERROR".to_owned(), 1);
}

fn ended(parts: &mut DocumentParts) {
    let goaways = &mut parts.measurements.connections.goaways;
    goaways.insert("ENHANCE_YOUR_CALM".to_owned(), 7);
    goaways.insert("NO_ERROR".to_owned(), 2);
}

/// No request fails where a server of HTTP/2 lets none be sent.
#[test]
fn a_server_that_takes_no_request_failed() {
    let unsent = |refuse: fn(&mut DocumentParts)| {
        let document = well(|parts| {
            no_success(parts);
            refuse(parts);
            failing(parts, 20, Failure::NeverSent);
        });
        document.verdict.target
    };
    check(&unsent(without_streams), TargetState::Failed, NO_STREAMS);
    check(&unsent(ended), TargetState::Failed, ENDED);
}

/// From then on it lets no request be sent.
#[test]
fn a_server_that_refuses_from_mid_run_on_fell_silent() {
    let from = |first, refuse: fn(&mut DocumentParts)| {
        let document = well(|parts| {
            closed(parts);
            refuse(parts);
            gone_from(first, parts);
        });
        document.verdict.target
    };
    let text = format!("no response for 80% of the window: {NO_STREAMS}");
    check(&from(6, without_streams), TargetState::Failed, &text);
    let text = format!("no response for 80% of the window: {ENDED}");
    check(&from(6, ended), TargetState::Failed, &text);
    check(&from(30, ended), TargetState::Ok, "");
}

#[test]
fn a_slow_or_unused_server_is_not_silent() {
    let silent = |change: fn(&mut DocumentParts)| {
        let document = well(|parts| {
            closed(parts);
            gone_from(29, parts);
            change(parts);
        });
        document.verdict.target.state
    };
    assert_eq!(silent(refused), TargetState::Degraded);
    assert_eq!(silent(|_| ()), TargetState::Ok, "nothing failed");
    // A response of this length leaves a slice of 333 ms empty.
    let slow = well(|parts| {
        answer(&mut parts.measurements, 0, 0, 400 * MS);
        closed(parts);
        gone_from(29, parts);
        refused(parts);
    });
    assert_eq!(slow.verdict.target.state, TargetState::Ok, "it is slow");
}
