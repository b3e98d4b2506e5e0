//! The JSON schemas of the document and of the study, generated from their types.

use crate::document::{Document, SCHEMA_VERSION};
use crate::study::{STUDY_VERSION, Study};

/// Returns the schema of the document (draft 2020-12), pretty, ending with a newline:
/// `docs/document.schema.json` is this text.
pub fn schema_json() -> String {
    let title = format!("The document of a run of weir, schema version {SCHEMA_VERSION}");
    titled(schemars::schema_for!(Document), title)
}

/// Returns the schema of a study, likewise: `docs/study.schema.json` is this text. The documents of
/// its trials are described in `document.schema.json`.
pub fn study_schema_json() -> String {
    let mut schema = schemars::schema_for!(Study);
    if let Some(defs) = schema.get_mut("$defs").and_then(serde_json::Value::as_object_mut) {
        let document = serde_json::json!({ "$ref": "document.schema.json" });
        defs.insert("Document".to_owned(), document);
        while remove_unused(defs) {}
    }
    titled(schema, format!("A study of weir, version {STUDY_VERSION}"))
}

/// Removes definitions that only the document uses. Returns true if there were any.
fn remove_unused(defs: &mut serde_json::Map<String, serde_json::Value>) -> bool {
    let text = serde_json::to_string(&*defs).unwrap_or_default();
    let roots = ["Cell", "Design", "Hooks", "Note", "StudyResult", "StudyState", "Tool", "Trial"];
    let is_used =
        |name: &str| roots.contains(&name) || text.contains(&format!("\"#/$defs/{name}\""));
    let before = defs.len();
    defs.retain(|name, _| is_used(name));
    defs.len() < before
}

fn titled(mut schema: schemars::Schema, title: String) -> String {
    schema.insert("title".to_owned(), title.into());
    let text = serde_json::to_string_pretty(schema.as_value());
    text.expect("a schema is JSON") + "\n"
}
