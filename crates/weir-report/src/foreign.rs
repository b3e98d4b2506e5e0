//! The parts that several formats of other load generators have in common.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};
use weir_result::Document;
use weir_result::document::Results;

/// Returns the member `weir` of a result: its origin, and the certainty of its figures.
pub(crate) fn origin(document: &Document, certainty: &Value) -> Value {
    let outcomes = document.results.outcomes;
    let mut origin = json!({
        "version": document.tool.version,
        "url": document.plan.url,
        "grade": document.verdict.grade,
        "interrupted": document.run.interrupted,
        "certainty": certainty,
        "never_sent": outcomes.never_sent,
    });
    for (part, count) in outcomes.parts().filter(|(_, count)| *count > 0) {
        origin[part] = count.into();
    }
    origin
}

/// Counts responses by status code, and under `none` the requests without one.
pub(crate) fn statuses(results: &Results, none: &str) -> BTreeMap<String, u64> {
    let without = results.planned - results.responses();
    let without = (without > 0).then(|| (none.to_owned(), without));
    let codes = results.status.iter().map(|(code, count)| (code.to_string(), *count));
    codes.chain(without).collect()
}

/// Formats an instant, in nanoseconds from the epoch of the run, as RFC 3339; null if it is out of
/// range.
pub(crate) fn timestamp(document: &Document, at_ns: u64) -> Option<String> {
    let unix_ns = i128::from(document.run.epoch_unix_ns) + i128::from(at_ns);
    Some(Timestamp::from_nanosecond(unix_ns).ok()?.to_string())
}
