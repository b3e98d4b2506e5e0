//! The JSON schema of the document, generated from its types: `docs/document.schema.json` is this
//! text.

use crate::document::{Document, SCHEMA_VERSION};

/// Returns the schema (draft 2020-12), pretty, ending with a newline.
pub fn schema_json() -> String {
    let mut schema = schemars::schema_for!(Document);
    let title = format!("The document of a run of weir, schema version {SCHEMA_VERSION}");
    schema.insert("title".to_owned(), title.into());
    let text = serde_json::to_string_pretty(schema.as_value());
    text.expect("a schema is JSON") + "\n"
}
