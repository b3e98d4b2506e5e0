//! The grade: the worst of bounds, target state and client rules.

use weir_result::document::{Grade, Verdict};
use weir_result::{DocumentParts, Measurements};

use super::run::{
    Failure, MS, S, US, busy, failing, health, held, no_success, read_late, stopped, well, witness,
};
use super::triggers::{apart, growing};

#[track_caller]
fn check(change: impl FnOnce(&mut DocumentParts), grade: Grade, reason: &str) -> Verdict {
    let verdict = well(change).verdict;
    assert_eq!((verdict.grade, verdict.reason.as_str()), (grade, reason), "{verdict:#?}");
    verdict
}

#[test]
fn clean() {
    check(|_| (), Grade::Clean, "");
    // Findings alone do not lower the grade, nor does a note.
    check(stopped(30 * MS), Grade::Clean, "");
    check(busy(9 * S), Grade::Clean, "");
    check(growing, Grade::Clean, "");
    check(health(|health| health.is_server_local = Some(true)), Grade::Clean, "");
    check(held(0), Grade::Clean, "");
}

#[test]
fn held_connections_need_a_window() {
    let interrupted = |parts: &mut DocumentParts| {
        held(0)(parts);
        parts.measurements.interrupted = true;
        for worker in &mut parts.measurements.workers {
            worker.t1_ns = worker.start_ns;
        }
    };
    check(interrupted, Grade::Void, "nothing was measured");
}

#[test]
fn bounded() {
    check(held(1), Grade::Bounded, "target degraded");
    check(
        read_late(300 * US),
        Grade::Bounded,
        "p50, p90, p99 and p99.9 are bounds (client overhead)",
    );
    check(
        |parts| {
            parts.beside.witness = Some(witness(300 * US));
            parts.measurements.stamped = Default::default();
        },
        Grade::Bounded,
        "p50, p90, p99 and p99.9 are bounds (client contention)",
    );
    check(
        |parts| failing(parts, 960, Failure::TimedOut),
        Grade::Bounded,
        "target degraded; p99 and p99.9 are bounds (failed requests)",
    );
    check(busy(99 * S / 10), Grade::Bounded, "throughput is a bound (client CPU)");
    let verdict = check(
        stopped(600 * MS),
        Grade::Bounded,
        "client stopped: weir could not run for 600.00 ms, 1.00 s into the window (limit: 100 ms); \
         run again on a quiet machine",
    );
    assert_eq!(verdict.findings, ["client-stopped"]);
}

#[test]
fn failed() {
    check(
        |parts| {
            no_success(parts);
            failing(parts, 100, Failure::Status(404));
        },
        Grade::Failed,
        "100% of responses were 404",
    );
    // A failed target outranks bounds.
    check(
        |parts| {
            failing(parts, 60_000, Failure::Status(404));
            read_late(300 * US)(parts);
        },
        Grade::Failed,
        "66.7% of responses were 404",
    );
}

#[test]
fn void() {
    check(
        stopped(6 * S),
        Grade::Void,
        "client stopped: weir could not run for 6.00 s, 1.00 s into the window (limit: 5 s); \
         run again on a quiet machine",
    );
    check(
        apart(S),
        Grade::Void,
        "requests miscounted: two counts of the requests in flight differ by 3.17% (limit: 1%); \
         this is a bug of weir: report it",
    );
    let nothing = |parts: &mut DocumentParts| {
        parts.measurements = Measurements::default();
        parts.beside.witness = None;
    };
    check(nothing, Grade::Void, "nothing was measured");
    // A stopped client outranks a failed target.
    check(
        |parts| {
            failing(parts, 60_000, Failure::Status(404));
            stopped(6 * S)(parts);
        },
        Grade::Void,
        "client stopped: weir could not run for 6.00 s, 1.00 s into the window (limit: 5 s); \
         run again on a quiet machine",
    );
}
