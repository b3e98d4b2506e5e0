//! Rules about the statistics of a run.

use weir_result::DocumentParts;
use weir_result::document::RuleOutcome::{Finding, Note, Pass, Unknown};
use weir_result::document::{Deviation, SliceSeries};

use super::run::{S, check, one_slice, rule, says, slowed, well};

#[test]
fn what_changed_within_the_run() {
    let id = "not-stationary";
    let document = check(id, Finding, |parts| {
        slowed(parts, |k| if k < 18 { 100 } else { 150 } + k % 2);
    });
    let mean = &document.stationarity[1];
    assert_eq!(mean.series, SliceSeries::Mean);
    assert!(mean.fired.contains(&Deviation::Shift), "{mean:?}");
    let text = &rule(&document, id).text;
    let begin = "the load was not steady: mean latency rose by 49.";
    assert!(text.starts_with(begin) && text.contains(" at 6.00 s"), "{text}");
    assert!(
        text.ends_with("; see the run over time (`output` report.html), or run longer"),
        "{text}"
    );
    check(id, Pass, |parts| slowed(parts, |k| 100 + k * 7 % 3));
    check(id, Unknown, |parts| one_slice(&mut parts.measurements));
}

/// A fall is at most the whole value, whichever test finds it.
#[test]
fn nothing_falls_by_more_than_it_was() {
    let falls: [fn(u64) -> u64; 4] = [
        |k| if k < 18 { 2_000 } else { 100 } + k % 2,
        |k| if k < 3 { 2_000 } else { 100 } + k % 2,
        |k| 100 + 60 * (30 - k),
        |k| 1 + 2 * (30 - k),
    ];
    for factor in falls {
        let document = check("not-stationary", Finding, |parts| slowed(parts, factor));
        let found = rule(&document, "not-stationary");
        assert!(found.value.is_some_and(|share| share >= -1.0), "{found:?}");
        let text = &found.text;
        let Some((_, rest)) = text.split_once("fell by ") else {
            assert!(text.contains("rose") || text.contains("fell to almost nothing"), "{text}");
            continue;
        };
        let percent: f64 = rest.split_once('%').expect(text).0.parse().expect(text);
        assert!(percent > 0.0 && percent <= 100.0, "{text}");
    }
}

/// A rise by more than all is printed as a multiple.
#[test]
fn large_rises_are_multiples() {
    let document =
        check("not-stationary", Finding, |parts| slowed(parts, |k| if k < 18 { 100 } else { 500 }));
    let text = &rule(&document, "not-stationary").text;
    assert!(text.contains("mean latency rose to 5.0 times its level at 6.00 s"), "{text}");
}

#[test]
fn slices_that_are_correlated() {
    let id = "autocorrelation";
    let swinging = |k: u64| 1_000 + if k % 10 < 5 { 20 } else { 0 };
    let document = check(id, Finding, |parts| slowed(parts, swinging));
    let text = &rule(&document, id).text;
    assert!(text.contains("lag-1 autocorrelation of slice means is 0."), "{text}");
    // Both figures are coefficients.
    assert!(text.contains("(limit: 0.43)") && !text.contains('%'), "{text}");
    // A change explains the correlation, and is reported itself.
    check(id, Note, |parts| slowed(parts, |k| if k < 18 { 100 } else { 150 } + k % 2));
    check(id, Pass, |parts| slowed(parts, |k| 100 + k * 7 % 3));
    check(id, Unknown, |parts| one_slice(&mut parts.measurements));
}

#[test]
fn a_warmup_that_was_too_short() {
    let id = "warmup-too-short";
    let document = check(id, Finding, |parts| {
        slowed(parts, |k| if k < 5 { 300 - 40 * k } else { 100 } + k * 7 % 3);
    });
    let text = &rule(&document, id).text;
    // 1 s of warm-up, and five slices of a third of a second.
    assert!(text.ends_with("use `load.warmup` 3s"), "{text}");
    check(id, Pass, |parts| slowed(parts, |k| 100 + k * 7 % 3));
    check(id, Unknown, |parts| one_slice(&mut parts.measurements));
}

#[test]
fn an_automatic_warmup_says_what_it_took() {
    let id = "no-steady-state";
    assert!(well(|_| ()).verdict.rules.iter().all(|rule| rule.id != id));
    let auto = |parts: &mut DocumentParts| {
        parts.given.plan.load.warmup.is_auto = true;
        parts.given.plan.load.warmup.span_ns = 60 * S;
        // The schedule began 2.5 s before the window.
        for worker in &mut parts.measurements.workers {
            (worker.t0_ns, worker.t1_ns) = (2 * S + S / 2, 12 * S + S / 2);
        }
    };
    check(id, Pass, auto);
    says(id, auto, "the load was steady after 2.50 s of warm-up");
    let unsettled = |parts: &mut DocumentParts| {
        auto(parts);
        parts.measurements.is_unsettled = true;
    };
    check(id, Finding, unsettled);
    says(
        id,
        unsettled,
        "no steady state: the load still changed after 60 s of warm-up, the longest allowed; \
         some servers never settle: see the run over time (`output` report.html)",
    );
}
