//! The grade: the worst of bounds, target state and client rules (METHOD 1.9).

use weir_result::Document;
use weir_result::document::{Grade, Limit, Rule, RuleOutcome, Summary, TargetLine, TargetState};
use weir_result::quantile::Bound;
use weir_text::setting::WARMUP;

/// Percentiles whose bounds count, in percent: those that every report prints.
const GRADED: [f64; 4] = [50.0, 90.0, 99.0, 99.9];

/// Returns the grade, and the reason why it is not `clean`.
pub(crate) fn of(
    document: &Document,
    target: &TargetLine,
    limit: &Limit,
    rules: &[Rule],
) -> (Grade, String) {
    if let Some(rule) = rules.iter().find(|rule| rule.outcome == RuleOutcome::Void) {
        return (Grade::Void, rule.text.clone());
    }
    if target.state == TargetState::Failed {
        return (Grade::Failed, target.text.clone());
    }
    // Held connections are measured by the window that they last.
    let is_held = document.plan.is_idle() && document.throughput.window_s > 0.0;
    if document.results.planned == 0 && !is_held {
        let is_streaming = document.results.messages.as_ref().is_some_and(|of| of.received > 0);
        let why = match is_streaming {
            true => format!("all streams began in the warm-up; use {WARMUP} 0"),
            false => "nothing was measured".to_owned(),
        };
        return (Grade::Void, why);
    }
    let mut reasons = Vec::new();
    if target.state == TargetState::Degraded {
        reasons.push("target degraded".to_owned());
    }
    let bounds = bounds(document);
    if !bounds.is_empty() {
        let are = if bounds.len() == 1 { "is a bound" } else { "are bounds" };
        let cause = cause(document, limit, rules);
        reasons.push(format!("{} {are}{cause}", listed(&bounds)));
    }
    let stopped = rules.iter().find(|rule| rule.id == "client-stopped");
    if let Some(rule) = stopped.filter(|rule| rule.outcome == RuleOutcome::Bound) {
        reasons.push(rule.text.clone());
    }
    match reasons.is_empty() {
        true => (Grade::Clean, String::new()),
        false => (Grade::Bounded, reasons.join("; ")),
    }
}

/// Lists the printed numbers that are bounds.
fn bounds(document: &Document) -> Vec<String> {
    let mut bounds = bounds_of(document.results.response_time.headline());
    if document.throughput.bound != Bound::Exact {
        bounds.push("throughput".to_owned());
    }
    bounds
}

/// Lists the percentiles of a summary that are bounds.
pub(crate) fn bounds_of(headline: &Summary) -> Vec<String> {
    let values = GRADED.into_iter().filter_map(|p| headline.percentile(p));
    values.filter(|value| value.bound != Bound::Exact).map(|v| format!("p{}", v.p)).collect()
}

/// Formats the reason why they are bounds: ` (client overhead)`.
fn cause(document: &Document, limit: &Limit, rules: &[Rule]) -> String {
    let headline = document.results.response_time.headline();
    let has =
        |bound| GRADED.iter().filter_map(|p| headline.percentile(*p)).any(|v| v.bound == bound);
    let mut causes = Vec::new();
    if has(Bound::Upper) || has(Bound::Unknown) {
        let is_overhead = rules.iter().any(|rule| rule.id == "client-overhead" && rule.has_fired());
        causes.push(if is_overhead { "client overhead" } else { "client contention" });
    }
    if has(Bound::Lower) || has(Bound::Unknown) {
        let results = &document.results;
        let unsent = results.outcomes.never_sent > document.results.failed() / 2;
        causes.push(match unsent {
            true => "requests never sent",
            false if document.results.failed() == 0 => "streams open at the end",
            false => "failed requests",
        });
    }
    if document.throughput.bound != Bound::Exact {
        causes.push(limit.by.in_words());
    }
    causes.dedup();
    if causes.is_empty() { String::new() } else { format!(" ({})", causes.join(", ")) }
}

/// Formats a list: `p99`, `p99 and throughput`, `p90, p99 and throughput`.
pub(crate) fn listed(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
