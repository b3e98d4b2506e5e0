//! The file for every request: it is written while loads run, and appears when they have ended.

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result};
use weir_runner::RawOutput;

use super::result_file::{ResultFile, Temporaries};
use crate::errors::NotWritten;
use crate::terminal::shown;

/// The file of `--raw`, or of `--output` with its extension.
#[derive(Debug)]
pub(crate) struct RowsFile {
    name: String,
    file: ResultFile,
}

impl RowsFile {
    /// Checks before the load that the file can be written.
    ///
    /// # Errors
    /// When it cannot.
    pub(crate) fn at(
        flag: &'static str,
        path: &Path,
        temporaries: &Temporaries,
    ) -> Result<RowsFile> {
        let name = path.to_string_lossy().into_owned();
        Ok(RowsFile { name, file: ResultFile::at(flag, path, temporaries)? })
    }

    /// Begins the rows of one run, or of the trials of a study.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn begin(
        &self,
        of: fn(String, Box<dyn Write + Send>) -> io::Result<RawOutput>,
    ) -> Result<RawOutput> {
        let begun = self.file.begin().and_then(|file| of(self.name.clone(), file));
        begun.with_context(|| format!("{} {} cannot be written", self.file.flag, shown(&self.name)))
    }

    /// Gives the file its name, if all rows were written.
    ///
    /// # Errors
    /// When they were not, or the file cannot be renamed.
    pub(crate) fn finish(self, written: io::Result<()>) -> Result<(), NotWritten> {
        self.file.finish(written)
    }
}
