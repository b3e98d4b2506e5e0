//! The committed schema equals the types' schema, and studies conform to it.

use std::path::PathBuf;

use serde_json::Value;
use weir_result::{Study, schema_json, study_schema_json};

use crate::conformance::check;

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

/// Fails if the file differs. `UPDATE_GOLDEN=1` rewrites it: a changed field is a decision, and a
/// changed meaning a new version.
#[test]
fn the_committed_schema_is_that_of_the_types() {
    for (name, schema) in
        [("document.schema.json", schema_json()), ("study.schema.json", study_schema_json())]
    {
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(path(name), &schema).expect("the schema is writable");
        }
        let committed = std::fs::read_to_string(path(name)).expect("UPDATE_GOLDEN=1 makes it");
        let parsed = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
        assert!(parsed(&committed) == parsed(&schema), "docs/{name} is not what the types say");
    }
}

#[test]
fn studies_keep_to_their_schema() {
    let root: Value = serde_json::from_str(&study_schema_json()).expect("JSON");
    let study = crate::study::example();
    let value = serde_json::to_value(&study).expect("JSON");
    // A study refers to the other schema for its documents.
    let mut whole = root.clone();
    let documents: Value = serde_json::from_str(&schema_json()).expect("JSON");
    let definitions = documents["$defs"].as_object().expect("definitions").clone();
    let own = whole["$defs"].as_object_mut().expect("definitions");
    own.insert("Document".to_owned(), documents);
    definitions.into_iter().for_each(|(name, rule)| {
        own.entry(name).or_insert(rule);
    });
    assert_eq!(check(&value, &whole, &whole, "").err(), None);
    let text = serde_json::to_vec(&study).expect("JSON");
    assert_eq!(Study::from_json(&text).expect("it adds up"), study);
}
