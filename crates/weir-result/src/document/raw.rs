//! Files beside the document that hold every single request.

use serde::{Deserialize, Serialize};

/// A file with one row for each request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RawSection {
    /// Part of the run that the file belongs to.
    pub part: u32,
    /// The file as the user named it.
    pub file: String,
    /// Rows in the file.
    pub rows: u64,
    /// Rows that are missing because the writer was too far behind; their requests are in this
    /// document.
    pub lost: u64,
}
