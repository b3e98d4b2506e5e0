//! Where every single request was written to, beside the document.

use serde::{Deserialize, Serialize};

/// A file of rows, one for each request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RawSection {
    /// The part of the run that it belongs to.
    pub part: u32,
    /// The file as the user named it.
    pub file: String,
    /// Rows in it.
    pub rows: u64,
    /// Rows that are missing: their requests are in this document, but the writer was too far
    /// behind.
    pub lost: u64,
}
