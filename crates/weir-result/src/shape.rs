//! Values of JSON text, with the path of the field at fault in errors.

use std::fmt;

use serde::de::DeserializeOwned;
use weir_text::{brief, brief_json};

/// A field of JSON text that is missing, unknown, of another type, or broken.
#[derive(Debug)]
pub struct ShapeError {
    /// Path of the field: `results.response_time`; empty if it is the whole, or no field.
    path: String,
    fault: serde_json::Error,
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", brief(&self.path))?;
        }
        f.write_str(&brief_json(&self.fault))
    }
}

impl std::error::Error for ShapeError {}

impl From<serde_json::Error> for ShapeError {
    fn from(fault: serde_json::Error) -> ShapeError {
        ShapeError { path: String::new(), fault }
    }
}

impl From<serde_path_to_error::Error<serde_json::Error>> for ShapeError {
    fn from(error: serde_path_to_error::Error<serde_json::Error>) -> ShapeError {
        let path = error.path().to_string();
        let path = if path == "." { String::new() } else { path };
        ShapeError { path, fault: error.into_inner() }
    }
}

/// Reads a value from text. An error has line and column as well as the path.
pub(crate) fn from_slice<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ShapeError> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    // Without paths first would be faster, but would compile every type's reading once more.
    let value = serde_path_to_error::deserialize(&mut json)?;
    json.end()?;
    Ok(value)
}

/// Converts the entries of a list. The error has the name of the list and the entry's index.
pub(crate) fn each<E, T>(
    name: &str,
    entries: &[E],
    convert: impl Fn(&E) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    let number = |(index, entry)| convert(entry).map_err(|why| format!("{name}[{index}]: {why}"));
    entries.iter().enumerate().map(number).collect()
}
