//! The files of a study: the study itself after each trial, every request, and the trials in the
//! history.

use std::io;
use std::path::Path;

use anyhow::Result;
use weir_result::{Document, Study};
use weir_runner::{RawOutput, RawTrial};
use weir_study::Keeper;

use crate::errors::NotWritten;
use crate::history::Saving;
use crate::output::{ResultFile, Temporaries};
use crate::terminal;

/// The files of a study.
pub(super) struct StudyFiles<'a> {
    /// File of `--output`, if there is one.
    pub(super) output: Option<&'a Path>,
    pub(super) temporaries: &'a Temporaries,
    /// History of the trials.
    pub(super) saving: Option<Saving>,
    /// File for every request.
    pub(super) rows: Option<RawOutput>,
}

impl Keeper for StudyFiles<'_> {
    fn study(&mut self, study: &Study) -> Result<()> {
        let Some(path) = self.output else { return Ok(()) };
        let file = ResultFile::at("--output", path, self.temporaries);
        // It could be made before the first trial: that it cannot be now is no wrong usage.
        let file = file.map_err(|error| NotWritten {
            place: "--output",
            error: io::Error::other(format!("{error:#}")),
        })?;
        Ok(file.write(|mut out| weir_report::json::write_study(study, &mut out))?)
    }

    fn trial(&mut self, document: &Document, variant: &str) {
        let Some(saving) = &self.saving else { return };
        if let Err(error) = saving.save(document, Some(variant)) {
            terminal::warn(error);
        }
    }

    fn rows(&mut self, trial: RawTrial) -> Option<&mut RawOutput> {
        let rows = self.rows.as_mut()?;
        rows.begin_trial(trial);
        Some(rows)
    }
}
