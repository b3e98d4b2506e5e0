//! Reading a document. One of an older schema is judged again.

use std::path::Path;

use weir_result::document::Stored;
use weir_result::{Document, LoadError};

use crate::assertion::Assertion;
use crate::judge::judge;

/// Reads a document from a file.
///
/// # Errors
/// The reason why the file is no document.
pub fn load(path: impl AsRef<Path>) -> Result<Document, LoadError> {
    Stored::load(path).map(judged)
}

/// Reads a document from JSON text, and checks that it adds up.
///
/// # Errors
/// The reason why the text is no document.
pub fn from_json(bytes: &[u8]) -> Result<Document, LoadError> {
    Stored::from_json(bytes).map(judged)
}

fn judged(stored: Stored) -> Document {
    match stored {
        Stored::Current(document) => *document,
        Stored::Older { document, assertions } => {
            let document = judge(*document);
            let claims = assertions.iter().filter_map(|text| text.parse::<Assertion>().ok());
            let assertions = claims.map(|claim| claim.judge(&document)).collect();
            Document { assertions, ..document }
        }
    }
}
