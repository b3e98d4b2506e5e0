//! Verdicts of runs without evidence, and of documents that were read.

use weir_result::document::Grade;
use weir_result::{Document, Measurements};

use super::run::{S, class_slices, measured, well};
use crate::fixture::{self, parts};

#[test]
fn runs_without_evidence_are_not_judged() {
    let mut measurements = Measurements { interrupted: true, ..measured() };
    class_slices(&mut measurements);
    let mut parts = parts(1, 1, measurements);
    (parts.beside.health, parts.beside.witness) = (None, None);
    (parts.given.selfcheck, parts.given.prove_client) = (None, None);
    let document = weir_verdict::assemble(parts).expect("it adds up");
    assert_ne!(document.verdict.grade, Grade::Void, "{:#?}", document.verdict);
    assert!(document.verdict.not_judged().contains(&"cpu-steal"));
}

#[test]
fn a_document_keeps_its_verdict() {
    let document = well(|parts| parts.given.plan.load.duration_ns = Some(10 * S));
    assert_eq!(Document::from_json(&fixture::json(&document)).expect("it"), document);
    assert_eq!(weir_verdict::verdict(&document), document.verdict);
}
