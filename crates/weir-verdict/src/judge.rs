//! The judge: a document gets its stationarity, its bounds and its verdict, all of them functions
//! of what it holds. A loaded or merged document is judged like a fresh one.

use weir_result::document::{BrokenInvariant, MergeError, Rule, RuleOutcome, Unjudged, Verdict};
use weir_result::{Document, DocumentParts};

use crate::{bounds, delivery, grade, knee, limit, overhead, rules, stages, stationarity, target};

/// Assembles the document of these parts, and judges it.
///
/// # Errors
/// The numbers that do not add up.
pub fn assemble(parts: DocumentParts) -> Result<Document, BrokenInvariant> {
    Unjudged::assemble(parts).map(judge)
}

/// Merges parts of one run into one document, as [`Unjudged::merge`] does, and judges it.
///
/// # Errors
/// The reason why the documents cannot be merged.
pub fn merge(documents: &[Document]) -> Result<Document, MergeError> {
    Unjudged::merge(documents).map(judge)
}

/// Judges a document.
pub fn judge(unjudged: Unjudged) -> Document {
    let mut document = unjudged.into_document();
    document.stationarity = stationarity::of_all(&document);
    bounds::qualify(&mut document);
    document.verdict = verdict(&document);
    let verdicts = stages::verdicts(&document);
    document.stages.iter_mut().zip(verdicts).for_each(|(stage, verdict)| stage.verdict = verdict);
    // Stages of connections have none.
    let knees = knee::of_all(&document);
    document.stages.iter_mut().zip(knees).for_each(|(stage, knee)| stage.knee = knee);
    document
}

/// Derives the verdict on this document, ignoring any verdict that it holds. The document has its
/// bounds.
pub fn verdict(document: &Document) -> Verdict {
    let mut rules = rules::of(document);
    let limit = limit::of(document, &rules);
    rules::add_of_server(document, &limit, &mut rules);
    let target = target::of(document);
    let load = delivery::of(document, &limit);
    let (grade, reason) = grade::of(document, &target, &limit, &rules);
    let (grade, reason) = rules::worst_of_parts(document, grade, reason);
    Verdict {
        grade,
        reason,
        target,
        load,
        limit,
        findings: findings(&rules),
        client_overhead: overhead::of_all(document),
        rules,
    }
}

/// Returns ids of the rules that fired: void first, then by weight, then by position.
fn findings(rules: &[Rule]) -> Vec<String> {
    let mut fired: Vec<&Rule> = rules.iter().filter(|rule| rule.has_fired()).collect();
    let rank = |rule: &Rule| u8::from(rule.outcome == RuleOutcome::Void);
    fired.sort_by(|a, b| {
        (rank(b), b.weight).partial_cmp(&(rank(a), a.weight)).unwrap_or(std::cmp::Ordering::Equal)
    });
    fired.into_iter().map(|rule| rule.id.clone()).collect()
}
