//! Reading a document from any input. Every kind of invalid input has an error message of its own,
//! and no input panics or takes memory without bound.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;
use weir_text::setting::OUTPUT;

use super::check::{BrokenInvariant, check};
use super::recorded::Recorded;
use super::{Document, SCHEMA_VERSION};
use crate::shape::{self, ShapeError};
use weir_text::{brief, brief_json, printable};

/// Greatest file that is read: an hour's series of a thousand buckets an interval is 10 MB.
const BYTES_MAX: u64 = 256 << 20;

/// Greatest input that is read from a pipe or a device, which has no length.
const UNSIZED_BYTES_MAX: u64 = 64 << 20;

/// Greatest count in a document: the greatest that every JSON reader holds exactly. Sums of as many
/// documents as a machine can hold stay within 64 bits.
const COUNT_MAX: u64 = 1 << 53;

/// Reason why a file or some bytes are no document.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file cannot be read.
    #[error("failed to read {}", printable(&path.to_string_lossy()))]
    Unreadable {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// A file longer than any document.
    #[error("it is {bytes} bytes long, more than a document can be")]
    TooLong {
        /// Length in bytes.
        bytes: u64,
    },
    /// A device or a pipe that delivers more than any document.
    #[error("it does not end within 64 MiB: give the file that {OUTPUT} has written")]
    Endless,
    /// Not JSON.
    #[error("it is not JSON: {}", brief_json(.0))]
    NotJson(serde_json::Error),
    /// JSON, but not a document.
    #[error("it is JSON, but not a document of weir: it has no schema_version")]
    NotADocument,
    /// A document of another program.
    #[error(
        "its schema version is {found}, this program reads {SCHEMA_VERSION}: use the weir that \
         wrote it"
    )]
    OtherVersion {
        /// Its schema version.
        found: u64,
    },
    /// A field is missing, unknown or of another type, or holds a broken histogram.
    #[error("it is damaged: {0}")]
    Shape(ShapeError),
    /// A number out of range.
    #[error("it is damaged: {} is out of range", brief(place))]
    Number {
        /// Its path in the document.
        place: String,
    },
    /// A time or a count that is invalid.
    #[error("it is damaged: {}", brief(.0))]
    Content(String),
    /// Numbers that do not add up.
    #[error("it is damaged: {}", brief(&.0.to_string()))]
    Broken(BrokenInvariant),
}

impl Document {
    /// Reads a document from a file, with the verdict that it was given.
    ///
    /// # Errors
    /// The reason why the file is no document.
    pub fn load(path: impl AsRef<Path>) -> Result<Document, LoadError> {
        let path = path.as_ref();
        let unreadable = |source| LoadError::Unreadable { path: path.to_owned(), source };
        let file = File::open(path).map_err(unreadable)?;
        let found = file.metadata().map_err(unreadable)?;
        if found.len() > BYTES_MAX {
            return Err(LoadError::TooLong { bytes: found.len() });
        }
        let limit = if found.is_file() { BYTES_MAX } else { UNSIZED_BYTES_MAX };
        let mut bytes = Vec::with_capacity(usize::try_from(found.len()).unwrap_or(0));
        let count = file.take(limit + 1).read_to_end(&mut bytes).map_err(unreadable)? as u64;
        match count > limit {
            true if found.is_file() => Err(LoadError::TooLong { bytes: count }),
            true => Err(LoadError::Endless),
            false => Document::from_json(&bytes),
        }
    }

    /// Reads a document from JSON text, and checks that it adds up.
    ///
    /// # Errors
    /// The reason why the text is no document.
    pub fn from_json(bytes: &[u8]) -> Result<Document, LoadError> {
        check_numbers(&serde_json::from_slice(bytes).map_err(LoadError::NotJson)?)?;
        // Parsed again from the text, so that an error has line and column.
        let document: Document = shape::from_slice(bytes).map_err(LoadError::Shape)?;
        document.check()?;
        Ok(document)
    }

    /// Checks a document that was read from this value as part of another.
    pub(crate) fn check_as_read(&self, value: &Value) -> Result<(), LoadError> {
        check_numbers(value)?;
        self.check()
    }

    /// Checks that the numbers add up.
    fn check(&self) -> Result<(), LoadError> {
        let recorded = Recorded::of_document(self).map_err(LoadError::Content)?;
        check(&self.plan, &recorded).map_err(LoadError::Broken)
    }
}

/// Sections with numbers that are added up.
const COUNTED: [&str; 19] = [
    "results",
    "accounting",
    "connections",
    "latency",
    "throughput",
    "messages",
    "names",
    "stages",
    "phases",
    "stamps",
    "departures",
    "occupancy",
    "probe",
    "network",
    "tls",
    "witness",
    "script",
    "slices",
    "series",
];

/// Checks the schema version of a document, and the range of its counts.
fn check_numbers(value: &Value) -> Result<(), LoadError> {
    let found = value.get("schema_version").and_then(Value::as_u64);
    let found = found.ok_or(LoadError::NotADocument)?;
    if found != u64::from(SCHEMA_VERSION) {
        return Err(LoadError::OtherVersion { found });
    }
    for section in COUNTED {
        if let Some(place) = value.get(section).and_then(|part| out_of_range(part, section)) {
            return Err(LoadError::Number { place });
        }
    }
    Ok(())
}

/// Returns the place of a whole number above [`COUNT_MAX`], if there is one. Sums may be greater:
/// they are text. Rates are floats, and never added.
fn out_of_range(value: &Value, place: &str) -> Option<String> {
    match value {
        Value::Number(number) => {
            let is_over = number.as_u64().is_some_and(|n| n > COUNT_MAX);
            is_over.then(|| place.to_owned())
        }
        Value::String(digits) if place.ends_with(".sum_ns") || place.ends_with(".integral_ns") => {
            let sum = digits.parse::<u128>().ok();
            // The limit: every request of the greatest count took the longest of all times.
            let is_in_range = sum.is_some_and(|sum| sum <= u128::from(COUNT_MAX).pow(2));
            (!is_in_range).then(|| place.to_owned())
        }
        Value::Array(values) => values
            .iter()
            .enumerate()
            .find_map(|(index, value)| out_of_range(value, &format!("{place}[{index}]"))),
        Value::Object(values) => {
            values.iter().find_map(|(key, value)| out_of_range(value, &format!("{place}.{key}")))
        }
        _ => None,
    }
}
