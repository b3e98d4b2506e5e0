//! The line `Load`.

use weir_result::document::{Delivery, LoadLine};
use weir_result::{ConnectionLoad, DocumentParts, FailureCause, FailureKind, FailurePhase};

use super::run::{Failure, US, busy, closed, failing, histogram, well};

#[track_caller]
fn check(change: impl FnOnce(&mut DocumentParts), delivery: Delivery, text: &str) {
    let LoadLine { delivery: found, text: reported } = well(change).verdict.load;
    assert_eq!((found, reported.as_str()), (delivery, text));
}

#[test]
fn as_planned() {
    check(|_| (), Delivery::AsPlanned, "as planned: 3,000/s");
    check(
        |parts| {
            closed(parts);
            parts.given.plan.load.connections = 10.into();
        },
        Delivery::AsPlanned,
        "as planned: 10 connections",
    );
    check(
        |parts| {
            closed(parts);
            parts.given.plan.load.connections = 1.into();
        },
        Delivery::AsPlanned,
        "as planned: 1 connection",
    );
}

#[test]
fn never_sent() {
    let missing = |parts: &mut DocumentParts| {
        parts.given.plan.load.connections = 10.into();
        failing(parts, 300, Failure::NeverSent);
    };
    let share = "0.99% never sent (300 of 30,300 requests)";
    check(missing, Delivery::Incomplete, &format!("{share}: all 10 connections were busy"));
    for (shed, why) in [
        (300, "shed while 40 were in flight"),
        (200, "200 shed while 40 were in flight"),
        (100, "all 10 connections were busy"),
    ] {
        let shedding = |parts: &mut DocumentParts| {
            missing(parts);
            parts.given.plan.load.in_flight_max = Some(40);
            parts.measurements.results.outcomes.shed = shed;
        };
        check(shedding, Delivery::Incomplete, &format!("{share}: {why}"));
    }
    check(
        |parts| {
            missing(parts);
            parts.measurements.interrupted = true;
        },
        Delivery::Incomplete,
        &format!("{share}: the run was interrupted"),
    );
    check(
        |parts| {
            missing(parts);
            busy(99 * 100_000_000)(parts);
        },
        Delivery::Incomplete,
        &format!("{share}: the client had no CPU time for them"),
    );
    // One request at the edge of the window is not missed.
    check(
        |parts| failing(parts, 1, Failure::NeverSent),
        Delivery::AsPlanned,
        "as planned: 3,000/s",
    );
}

#[test]
fn missing_connections() {
    check(
        |parts| {
            parts.measurements.connections.open_at_t0 = 7;
            let cause = FailureCause::Errno(111);
            let refused = FailureKind { phase: FailurePhase::Connect, cause };
            parts.measurements.connections.failures.insert(refused, 3);
        },
        Delivery::Incomplete,
        "7 of 10 connections opened: connection refused",
    );
    // While connections are renewed, some of them are not open.
    check(
        |parts| {
            parts.measurements.connections.open_at_t0 = 7;
            parts.measurements.connections.closed_by_peer = 100;
        },
        Delivery::AsPlanned,
        "as planned: 3,000/s",
    );
}

#[test]
fn late() {
    let late = |parts: &mut DocumentParts| {
        let lags = || histogram((0..30_000).map(|k| if k % 50 == 0 { 300 * US } else { 5 * US }));
        parts.measurements.send_lag.ok = lags();
        parts.measurements.connection_wait = lags();
    };
    let text = "late: 1% of requests were sent 300 µs or more after they were due";
    check(late, Delivery::Late, &format!("{text}: they waited for a free connection"));
    check(
        |parts| {
            late(parts);
            let first = parts.given.plan.load.connections.count();
            parts.given.plan.load.connections = ConnectionLoad::Growing { first, most: 1_000 };
        },
        Delivery::Late,
        &format!("{text}: they waited for a connection to open"),
    );
    check(
        |parts| {
            late(parts);
            parts.measurements.sched_lag = parts.measurements.send_lag.ok.clone();
        },
        Delivery::Late,
        &format!("{text}: the client was late"),
    );
}
