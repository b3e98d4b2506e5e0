//! Verdicts of runs without evidence, and of documents that older programs wrote.

use weir_result::Measurements;
use weir_result::document::Grade;

use super::run::{S, measured, well};
use crate::fixture::{self, parts};

#[test]
fn runs_without_evidence_are_not_judged() {
    let measurements = Measurements { interrupted: true, ..measured() };
    let mut parts = parts(1, 1, measurements);
    (parts.health, parts.witness) = (None, None);
    (parts.given.selfcheck, parts.given.prove_client) = (None, None);
    let document = weir_verdict::assemble(parts).expect("it adds up");
    assert_ne!(document.verdict.grade, Grade::Void, "{:#?}", document.verdict);
    assert!(document.verdict.not_judged().contains(&"cpu-steal"));
}

#[test]
fn a_document_of_an_older_program_is_graded_when_it_is_read() {
    let document = well(|parts| parts.given.plan.duration_ns = Some(10 * S));
    let mut value: serde_json::Value =
        serde_json::from_slice(&fixture::json(&document)).expect("JSON");
    value["schema_version"] = 1.into();
    // The verdict that version 1 wrote.
    value["verdict"] = serde_json::json!({"grade": "valid_with_caveats", "rules": []});
    let fields = value.as_object_mut().expect("an object");
    for name in ["stamps", "departures", "occupancy", "health", "witness", "stationarity"] {
        assert!(fields.remove(name).is_some(), "{name}");
    }
    for phases in value["phases"].as_array_mut().expect("workers") {
        phases.as_object_mut().expect("an object").remove("usage");
    }
    let slices = value["slices"].as_array_mut().expect("slices");
    for slice in slices {
        let fields = slice.as_object_mut().expect("an object");
        fields.retain(|name, _| ["start_s", "end_s", "ok", "not_ok"].contains(&name.as_str()));
    }
    let text = serde_json::to_vec(&value).expect("JSON");
    let old = weir_verdict::from_json(&text).expect("an older document");
    assert_eq!(old.verdict.grade, Grade::Clean);
    assert_eq!(old.verdict.not_judged(), ["cpu-contention", "client-stopped", "cpu-steal"]);
    // A verdict of this version is kept.
    assert_eq!(weir_verdict::from_json(&fixture::json(&document)).expect("it"), document);
    assert_eq!(weir_verdict::verdict(&document), document.verdict);
}
