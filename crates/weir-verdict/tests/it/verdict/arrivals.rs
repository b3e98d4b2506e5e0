//! Rules about the arrival process.

use weir_result::Departures;
use weir_result::document::RuleOutcome::{Finding, Pass, Unknown};

use super::run::{Failure, check, closed, failing, well};
use super::triggers::sent;

#[test]
fn bursts() {
    let id = "send-dispersion";
    // A send that slips over a border of milliseconds is no burst, but groups of 30 are.
    check(
        id,
        Pass,
        sent(|k| match k % 10 {
            9 => 4,
            0 => 2,
            _ => 3,
        }),
    );
    check(id, Finding, sent(|k| if k % 10 == 0 { 30 } else { 0 }));
    check("send-burst", Finding, sent(|k| if k == 77 { 15 } else { 3 }));
    check("send-burst", Pass, sent(|k| if k == 77 { 14 } else { 3 }));
}

#[test]
fn rates_and_gaps() {
    check("send-rate", Finding, sent(|k| if k < 9_900 { 3 } else { 0 }));
    check("send-rate", Pass, sent(|k| if k < 9_999 { 3 } else { 0 }));
    check("send-gaps", Finding, |parts| parts.measurements.departures.displaced = 2_000);
    check("send-gaps", Unknown, |parts| parts.measurements.departures = Departures::default());
}

/// Counts that do not represent the plan are not judged.
#[test]
fn a_load_that_was_not_sent_is_not_judged() {
    for id in ["send-dispersion", "send-burst", "send-rate"] {
        check(id, Unknown, |parts| failing(parts, 90, Failure::NeverSent));
        check(id, Unknown, |parts| parts.measurements.departures = Departures::default());
    }
    let closed = well(closed);
    assert!(closed.verdict.rules.iter().all(|rule| !rule.id.starts_with("send-")));
}
