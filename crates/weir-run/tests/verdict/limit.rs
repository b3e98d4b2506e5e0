//! The line `Limit`.

use weir_run::DocumentParts;
use weir_run::document::LimitedBy::{ClientCpu, Rate, Unknown};
use weir_run::document::{Limit, LimitedBy};

use super::run::{MS, S, busy, closed, no_success, stopped, well};
use super::triggers::{growing, idle, late};

#[track_caller]
fn check(change: impl FnOnce(&mut DocumentParts), by: LimitedBy, text: &str) {
    let Limit { by: found, text: said } = well(change).verdict.limit;
    assert_eq!((found, said.as_str()), (by, text));
}

#[test]
fn a_plan_that_was_met() {
    check(|_| (), Rate, "all of 3,000/s was met");
    // Late sends of a client that got all of its plan done do not limit the rate.
    check(late(2 * MS), Rate, "all of 3,000/s was met");
    check(stopped(600 * MS), Rate, "all of 3,000/s was met");
}

#[test]
fn a_busy_client() {
    let text = "worker 0 needed a CPU 99.1% of the time (limit: 95%)";
    check(busy(99 * S / 10), ClientCpu, text);
    check(
        |parts| {
            closed(parts);
            busy(99 * S / 10)(parts);
        },
        ClientCpu,
        text,
    );
    // Connections that waited for the client.
    check(
        idle(70 * S),
        ClientCpu,
        "connections waited for the client 30.0% of the time, 1.00 ms after each response (limit: \
         20%)",
    );
    // A client that stood still where the plan was missed.
    check(
        |parts| {
            growing(parts);
            stopped(600 * MS)(parts);
        },
        ClientCpu,
        "weir could not run for 600.00 ms, 1.00 s into the window (limit: 100 ms)",
    );
}

/// Nothing that was measured tells the server from the connections.
#[test]
fn nothing_is_attributed_without_evidence() {
    check(growing, Unknown, "");
    check(closed, Unknown, "");
    check(no_success, Unknown, "");
    check(busy(9 * S), Rate, "all of 3,000/s was met");
}
