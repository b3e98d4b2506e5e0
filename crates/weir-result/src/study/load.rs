//! Reading a study from any input, with an error message for each kind of invalid input.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::content::{STUDY_VERSION, Study};
use super::trial::{Trial, TrialOutcome};
use crate::document::LoadError;
use crate::shape::{self, ShapeError};
use weir_text::printable;

/// Greatest file that is read: a thousand trials of one megabyte.
const BYTES_MAX: u64 = 1 << 30;

/// Reason why a file or some bytes are no study.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// The file cannot be read.
    #[error("failed to read {}", printable(&path.to_string_lossy()))]
    Unreadable {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// A file longer than any study.
    #[error("it is longer than 1 GiB, more than a study can be")]
    TooLong,
    /// Not JSON, or a field is missing or of another type.
    #[error("it is damaged: {0}")]
    Shape(ShapeError),
    /// JSON, but not a study.
    #[error("it is not a study of weir: it has no study_version")]
    NotAStudy,
    /// The document of a single run.
    #[error("it is the document of one run, not a study")]
    SingleRun,
    /// A study of another program.
    #[error(
        "its study version is {found}, this program reads {STUDY_VERSION}: use the weir that wrote \
         it"
    )]
    OtherVersion {
        /// Its version.
        found: u64,
    },
    /// A trial refers to a cell that does not exist.
    #[error("it is damaged: trial {trial} refers to cell {cell}, which does not exist")]
    NoSuchCell {
        /// Number of the trial.
        trial: u32,
        /// Index of the cell.
        cell: u32,
    },
    /// The document of a trial is damaged.
    #[error("it is damaged: trial {trial}: {error}")]
    Trial {
        /// Number of the trial.
        trial: u32,
        /// Error of its document.
        error: LoadError,
    },
}

impl Study {
    /// Reads a study from a file.
    ///
    /// # Errors
    /// When it cannot be read, is no study, or does not add up.
    pub fn load(path: impl AsRef<Path>) -> Result<Study, StudyError> {
        let path = path.as_ref();
        let unreadable = |source| StudyError::Unreadable { path: path.to_owned(), source };
        let file = File::open(path).map_err(unreadable)?;
        let mut bytes = Vec::new();
        let count = file.take(BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        if count as u64 > BYTES_MAX {
            return Err(StudyError::TooLong);
        }
        Study::from_json(&bytes)
    }

    /// Reads a study from JSON text, and checks that it adds up.
    ///
    /// # Errors
    /// When it is no study, or does not add up.
    pub fn from_json(bytes: &[u8]) -> Result<Study, StudyError> {
        let json = serde_json::from_slice(bytes);
        let value: Value = json.map_err(|fault| StudyError::Shape(fault.into()))?;
        match value.get("study_version").and_then(Value::as_u64) {
            None if value.get("schema_version").is_some() => return Err(StudyError::SingleRun),
            None => return Err(StudyError::NotAStudy),
            Some(found) if found != u64::from(STUDY_VERSION) => {
                return Err(StudyError::OtherVersion { found });
            }
            Some(_) => {}
        }
        // Parsed again from the text, so that an error has line and column.
        let study: Study = shape::from_slice(bytes).map_err(StudyError::Shape)?;
        for (index, trial) in study.trials.iter().enumerate() {
            trial.check(study.cells.len(), &value["trials"][index]["outcome"])?;
        }
        Ok(study)
    }
}

impl Trial {
    /// Checks the trial of a study with this many cells, and its document, which was read from
    /// `outcome`.
    fn check(&self, cells: usize, outcome: &Value) -> Result<(), StudyError> {
        if self.cell as usize >= cells {
            return Err(StudyError::NoSuchCell { trial: self.number, cell: self.cell });
        }
        let (document, value) = match &self.outcome {
            TrialOutcome::Measured(document) => (document, &outcome["measured"]),
            TrialOutcome::Failed { document: Some(document), .. } => {
                (document, &outcome["failed"]["document"])
            }
            TrialOutcome::Failed { document: None, .. } => return Ok(()),
        };
        let checked = document.check_as_read(value);
        checked.map_err(|error| StudyError::Trial { trial: self.number, error })
    }
}
