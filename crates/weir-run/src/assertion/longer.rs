//! What would decide an undecided assertion: by how much the run would have to be longer.

use super::AssertionOutcome;
use super::estimate::{Estimate, Kind, of_hits};
use crate::document::Document;

/// Runs that would have to be longer than this many times are not worth proposing.
const TIMES_MAX: f64 = 1_000.0;

/// Steps between proposals: nothing here is known better than to a quarter.
const STEP: f64 = 1.25;

/// What would decide it, in words. `judge` says how an interval comes out.
pub(super) fn advice(
    estimate: &Estimate,
    document: &Document,
    judge: impl Fn(f64, Option<f64>) -> AssertionOutcome,
) -> String {
    match (estimate.kind, estimate.high) {
        (Kind::Failures, _) => {
            return "requests that failed leave it open: only fewer failures decide it".to_owned();
        }
        (_, None) => return format!("too few requests lie beyond it: {}", longer(2.0, document)),
        _ => {}
    }
    let mut times = STEP;
    while times <= TIMES_MAX {
        let (low, high) = narrowed(estimate, times);
        if judge(low, high) != AssertionOutcome::Undecided {
            return longer(times, document);
        }
        times *= STEP;
    }
    "the limit is too near to be told from: no length of run decides it".to_owned()
}

/// The interval of a run that is so many times as long and finds the same.
fn narrowed(estimate: &Estimate, times: f64) -> (f64, Option<f64>) {
    if let Kind::Share { hits, of } = estimate.kind {
        let longer = of_hits(hits * times, of * times);
        return (longer.low, longer.high);
    }
    let Estimate { value, low, high, .. } = *estimate;
    let narrow = |end: f64| value + (end - value) / times.sqrt();
    (narrow(low), high.map(narrow))
}

fn longer(times: f64, document: &Document) -> String {
    if let Some(requests) = document.plan.requests {
        let enough = (requests as f64 * times).ceil();
        return format!("a run about {times:.1} times as long would tell: -n {enough}");
    }
    let enough_s = (document.throughput.window_s * times).ceil();
    format!("a run about {times:.1} times as long would tell: -d {enough_s}s")
}
