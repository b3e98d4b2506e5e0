//! Reasons why a claim fails if the measured value alone does not show it, and remedies.

use super::comparison::Relation;
use super::confidence::Estimate;
use super::scope::Scope;
use crate::target;
use crate::thresholds::TARGET_FAILED;
use weir_result::document::{Document, LimitedBy, TargetState};
use weir_result::quantile::Bound;
use weir_text::setting::CONNECTIONS;
use weir_text::units;

/// Reason why a value, or its bound, does not satisfy the comparison. Empty for a plain value.
pub(super) fn of_bound(
    estimate: &Estimate,
    comparison: Relation,
    limit: f64,
    scope: &Scope<'_>,
) -> String {
    let document = scope.document;
    let is_upper = comparison.is_upper();
    match estimate.bound {
        Bound::Exact => String::new(),
        Bound::Upper if is_upper => of_client(estimate, comparison, limit),
        Bound::Upper => format!("not shown, {} of it", client(estimate)),
        Bound::Lower if estimate.is_rate && !is_upper => limited(document),
        Bound::Lower if estimate.is_rate => match comparison.holds(estimate.value, limit) {
            true => format!("not shown, {}", limited(document)),
            false => String::new(),
        },
        Bound::Lower if is_upper => of_failures(scope),
        Bound::Lower => "not shown, how long failed requests would have taken is unknown".into(),
        Bound::Unknown if document.has_unmatched_pushes() => {
            "pushed messages may have counted as echoes".into()
        }
        Bound::Unknown => {
            format!("it falls on a failed request, and {} of its time", client(estimate))
        }
    }
}

/// Reason for a percentile that falls on a failed request, or for a greatest time with one.
fn of_failures(scope: &Scope<'_>) -> String {
    let failed = scope.results.failed();
    if failed == 0 && scope.results.in_progress > 0 {
        let under_way = units::count(scope.results.in_progress);
        return format!("it falls on a user who had not ended ({under_way} of them)");
    }
    let planned = scope.results.planned;
    let share = units::short_percent(failed as f64 / planned.max(1) as f64);
    format!("it falls on a failed request ({share} failed), which is slower than any response")
}

/// Reason why a claim over responses alone fails: the target failed, or failed the requests with
/// the name.
pub(super) fn of_failed_target(scope: &Scope<'_>) -> Option<String> {
    let line = &scope.document.verdict.target;
    let of_requests = |share: f64, which: &str| {
        let failed = units::short_percent(share);
        format!("over successful responses alone, and {failed} of requests{which} failed")
    };
    let of_name = scope.is_of_name().then(|| scope.failed_share());
    if let Some(share) = of_name.filter(|share| *share >= TARGET_FAILED) {
        return Some(of_requests(share, " with the name"));
    }
    (line.state == TargetState::Failed).then(|| {
        // A target that is gone gets few requests.
        if target::failed_otherwise(line) {
            return format!(
                "over successful responses alone, and the target failed: {}",
                line.text
            );
        }
        of_requests(line.failed_share, "")
    })
}

/// Reason why no measured request was sent: the target failed, such as by refusing connections.
pub(super) fn of_no_load(document: &Document) -> Option<String> {
    let target = &document.verdict.target;
    let results = &document.results;
    let is_unsent = results.planned == results.outcomes.never_sent;
    let is_unreached = target.state == TargetState::Failed && is_unsent;
    (is_unreached && !target.text.is_empty()).then(|| target.text.clone())
}

/// Reason for an upper bound beyond the limit: the client overhead, and if the rest satisfies the
/// claim.
fn of_client(estimate: &Estimate, comparison: Relation, limit: f64) -> String {
    let client = client(estimate);
    let rest = estimate.value - estimate.client_ns.unwrap_or(0) as f64;
    match estimate.client_ns.is_none() || comparison.holds(rest, limit) {
        true => format!("{client} of it; give weir more CPU time"),
        false => format!("{client} of it, and the rest exceeds the limit as well"),
    }
}

/// Formats `client overhead is 27 µs`, `client overhead is an unknown part`.
fn client(estimate: &Estimate) -> String {
    let part = estimate.client_ns.map_or_else(|| "an unknown part".to_owned(), units::duration);
    format!("client overhead is {part}")
}

/// The limit of the rate, and the remedy.
fn limited(document: &Document) -> String {
    match document.verdict.limit.by {
        LimitedBy::ClientCpu => "client CPU limited it; give weir more CPU time".to_owned(),
        LimitedBy::Connections => format!("the connections limited it; raise {CONNECTIONS}"),
        _ => "the client was stopped during the run; run again on a quiet machine".to_owned(),
    }
}
