//! Fields of a document by their path in its JSON form: `throughput.completed_rps`,
//! `slices.0.completed`.

use serde_json::Value;

use super::estimate::{Estimate, Missing};
use crate::document::Document;

/// Maps in which what did not happen has no entry.
const SPARSE: [[&str; 2]; 2] = [["accounting", "status"], ["accounting", "errors"]];

/// The number at a path.
pub(super) fn estimate(path: &[String], document: &Document) -> Result<Estimate, Missing> {
    let value = serde_json::to_value(document).expect("a document is JSON");
    let found = path.iter().try_fold(&value, |value, key| match value {
        Value::Array(entries) => entries.get(key.parse::<usize>().ok()?),
        value => value.get(key),
    });
    if let Some(number) = found.and_then(Value::as_f64) {
        return Ok(Estimate::exact(number));
    }
    let is_sparse =
        SPARSE.iter().any(|map| path.len() == 3 && path.iter().zip(map).all(|(a, b)| a == b));
    match found {
        None if is_sparse => Ok(Estimate::exact(0.0)),
        None | Some(Value::Null) => {
            Err(Missing::new(format!("the document has no {}", path.join("."))))
        }
        Some(_) => Err(Missing::new(format!("{} is no number", path.join(".")))),
    }
}
