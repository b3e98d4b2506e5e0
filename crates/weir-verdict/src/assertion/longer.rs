//! The length of a run that would reach the required confidence.

use weir_result::document::Document;
use weir_text::setting::{DURATION, REQUESTS};

/// Longest proposed run, as a multiple of this one; longer ones are not worth proposing.
const TIMES_MAX: f64 = 1_000.0;

/// Factor between proposals: the estimate is no more precise than a quarter.
const STEP: f64 = 1.25;

/// Advice in words. `is_certain` returns true if a run so many times as long, with the same
/// results, would reach the confidence.
pub(super) fn advice(document: &Document, is_certain: impl Fn(f64) -> bool) -> String {
    let mut times = STEP;
    while times <= TIMES_MAX {
        if is_certain(times) {
            return longer(times, document);
        }
        times *= STEP;
    }
    "the limit is too near for a longer run to show it".to_owned()
}

fn longer(times: f64, document: &Document) -> String {
    if let Some(requests) = document.plan.requests {
        let enough = (requests as f64 * times).ceil();
        return format!("use {REQUESTS} {enough}");
    }
    let enough_s = (document.throughput.window_s * times).ceil();
    format!("use {DURATION} {enough_s}s")
}
