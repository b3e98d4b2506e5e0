//! The line `Target`.

use weir_result::document::{TargetLine, TargetState};
use weir_result::{DocumentParts, FailureCause, FailureKind, FailurePhase};

use super::run::{Failure, S, failing, no_success, well};

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
        parts.plan.timeout_ns = 10_000_000_000;
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
        (parts.measurements.window.completed, parts.measurements.window.good) = (1_000, 990);
    });
    check(
        &target.verdict.target,
        TargetState::Degraded,
        "1% of responses have a status of 400 or above",
    );
}
