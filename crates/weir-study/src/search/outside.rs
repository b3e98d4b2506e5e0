//! Limits of a trial outside the server, by the document's own verdict.

use weir_result::Document;
use weir_result::document::{Grade, LimitedBy, RuleOutcome, Subject};
use weir_stats::SliceTail;

use super::objective::{Objective, share_of};

/// Returns the evidence that the client may be the reason why a trial missed its objective.
///
/// It may if its CPU time limited the throughput, if a rule about it or its machine is at its
/// second limit, or if a claim is met as soon as the time that the client added to its percentile
/// is left out.
pub(super) fn client_limit(document: &Document, objective: &Objective) -> Option<String> {
    let verdict = &document.verdict;
    if verdict.grade == Grade::Void {
        return Some(verdict.reason.clone());
    }
    if verdict.limit.by == LimitedBy::ClientCpu {
        return Some(verdict.limit.text.clone());
    }
    let is_ours = |subject| matches!(subject, Subject::Client | Subject::Machine);
    let mut ours = verdict.rules.iter().filter(|rule| is_ours(rule.subject));
    if let Some(rule) = ours.find(|rule| rule.outcome >= RuleOutcome::Bound) {
        // A sentence ends with its remedy, which is for a single run.
        let evidence = rule.text.rsplit_once("; ").map_or(rule.text.as_str(), |(text, _)| text);
        return Some(evidence.to_owned());
    }
    for claim in objective.claims() {
        let is_missed = |slices: Vec<SliceTail>| share_of(&slices) > claim.share_max();
        if is_missed(claim.tails(document)) && !is_missed(claim.tails_outside(document)) {
            return Some(verdict.reason.clone());
        }
    }
    None
}

/// Returns the share of requests that waited for a connection; `None` if not known.
pub(super) fn connection_waits(document: &Document) -> Option<f64> {
    let rule = document.verdict.rules.iter().find(|rule| rule.id == "connection-waits")?;
    rule.value
}
