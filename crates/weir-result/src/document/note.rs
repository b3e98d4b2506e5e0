//! Notes attached to a finished run, or to a study.

use serde::{Deserialize, Serialize};

/// A note attached to the finished run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Note {
    /// Stable code, for programs: `few_connections`.
    pub code: String,
    /// Sentence, for people.
    pub text: String,
}

impl Note {
    /// Creates a note.
    pub fn new(code: &str, text: impl Into<String>) -> Note {
        Note { code: code.to_owned(), text: text.into() }
    }
}
