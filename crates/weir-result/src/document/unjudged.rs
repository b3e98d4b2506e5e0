//! A document before it is judged: whole, but for its stationarity, its bounds and its verdict.

use super::content::Document;

/// A document without stationarity, with exact numbers and an empty verdict. weir-verdict judges
/// it; nothing else should print or write it.
#[derive(Clone, Debug)]
pub struct Unjudged(pub(super) Document);

impl Unjudged {
    /// Returns the document, for the judge.
    pub fn into_document(self) -> Document {
        self.0
    }
}
