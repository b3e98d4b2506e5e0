//! Studies are read as they were written, and what is damaged is refused with the place.

use weir_result::document::{Tool, Unjudged};
use weir_result::study::{Cell, Design, HookRun, Hooks, Settling, StudyState, Trial, TrialOutcome};
use weir_result::{DocumentParts, Measurements, Plan, STUDY_VERSION, Study};

/// A study with a measured trial and one that failed.
pub(crate) fn example() -> Study {
    let parts = DocumentParts::bare(Plan::default(), Measurements::default());
    let document = Unjudged::assemble(parts).expect("it adds up");
    let trial = Trial {
        number: 1,
        cell: 0,
        round: 1,
        started: "2026-11-23T22:00:00Z".to_owned(),
        settling: Some(Settling { waited_ns: 5, ..Settling::default() }),
        before: Some(HookRun { status: Some(0), ..HookRun::default() }),
        after: None,
        is_superseded: false,
        outcome: TrialOutcome::Measured(Box::new(document.into_document())),
    };
    let failed = TrialOutcome::Failed { reason: "refused".to_owned(), document: None };
    Study {
        study_version: STUDY_VERSION,
        tool: Tool { name: "weir".to_owned(), version: "0.1.0".to_owned() },
        started: trial.started.clone(),
        command: vec!["repeat".to_owned(), "http://h/".to_owned()],
        design: Design::Repeat { runs: 3, metrics: vec!["p99".to_owned()] },
        seed: 7,
        hooks: Hooks { before: Some("true".to_owned()), after: None, timeout_ns: 1 },
        cells: vec![Cell { words: vec!["http://h/".to_owned()], ..Cell::default() }],
        trials: vec![trial.clone(), Trial { number: 2, round: 2, outcome: failed, ..trial }],
        state: StudyState::Stopped { reason: "trial 2: refused".to_owned() },
        result: None,
        notes: Vec::new(),
    }
}

#[track_caller]
fn refused(study: &serde_json::Value, part: &str) {
    let error = Study::from_json(study.to_string().as_bytes()).expect_err(part).to_string();
    assert!(error.contains(part), "{error}");
}

#[test]
fn what_is_no_study_is_refused() {
    let whole = serde_json::to_value(example()).expect("JSON");
    let with = |pointer: &str, value: serde_json::Value| {
        let mut changed = whole.clone();
        *changed.pointer_mut(pointer).expect(pointer) = value;
        changed
    };
    refused(&with("/study_version", 99.into()), "study version is 99");
    refused(&with("/trials/0/cell", 3.into()), "trial 1 refers to cell 3");
    refused(&with("/design/kind", "walk".into()), "walk");
    let planned = "/trials/0/outcome/measured/results/planned";
    refused(&with(planned, 5.into()), "trial 1");
    refused(&serde_json::json!({ "a": 1 }), "no study_version");
    let document = whole.pointer("/trials/0/outcome/measured").expect("a document");
    refused(document, "document of one run");
}

#[test]
fn trials_that_failed_count_for_nothing() {
    let study = example();
    assert_eq!(study.measured().count(), 1);
    assert!(study.is_resumable());
    let mut superseded = study;
    superseded.trials.iter_mut().for_each(|trial| trial.is_superseded = true);
    assert_eq!(superseded.documents_of(0).count(), 0);
}
