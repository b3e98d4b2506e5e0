//! The relation of a printed number to the true one.

use serde::{Deserialize, Serialize};

/// Relation of a printed number to the true one (METHOD 1.9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// The number is the value: a time to the histogram's 0.1%, never less than the true one.
    #[default]
    Exact,
    /// The true value is at least this: a time that falls on a failed request, or a rate that the
    /// client or the connections limited.
    Lower,
    /// The true value is at most this: the client inflated it.
    Upper,
    /// Nothing is known: the time falls on a request without an end, and the client may have
    /// delayed it.
    Unknown,
}

impl Bound {
    /// Returns the bound as the document names it.
    pub fn in_words(self) -> &'static str {
        match self {
            Bound::Exact => "exact",
            Bound::Lower => "lower",
            Bound::Upper => "upper",
            Bound::Unknown => "unknown",
        }
    }
}
