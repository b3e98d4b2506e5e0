//! Result files: written under a temporary name and renamed, so that nobody ever reads half of one.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// A file that will appear whole, or not at all. Until it does there is nothing of it: a run that is
/// killed leaves no half behind.
#[derive(Debug)]
pub(crate) struct ResultFile {
    path: PathBuf,
    temporary: PathBuf,
}

impl ResultFile {
    /// Makes sure that the file can be written, before the load runs and not after it.
    ///
    /// # Errors
    /// When it cannot.
    pub(crate) fn at(path: &Path) -> Result<ResultFile> {
        let name = path.file_name().with_context(|| {
            format!("--output {} names no file: give a file name", path.display())
        })?;
        if path.is_dir() {
            anyhow::bail!("--output {} is a directory: give a file name", path.display());
        }
        let mut temporary = name.to_owned();
        temporary.push(format!(".{}.tmp", std::process::id()));
        let temporary = path.with_file_name(temporary);
        File::create(&temporary).and_then(|_| fs::remove_file(&temporary)).with_context(|| {
            format!("--output {} cannot be written: choose another place", path.display())
        })?;
        Ok(ResultFile { path: path.to_owned(), temporary })
    }

    /// Writes the content, and gives the file its name.
    ///
    /// # Errors
    /// When the disk is full or the place has gone.
    pub(crate) fn write(
        self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut buffered = BufWriter::new(File::create(&self.temporary)?);
        write(&mut buffered)?;
        buffered.flush()?;
        drop(buffered);
        fs::rename(&self.temporary, &self.path)
    }
}

impl Drop for ResultFile {
    fn drop(&mut self) {
        // Once it has its name there is no such file; before that, nobody wants it.
        let _gone = fs::remove_file(&self.temporary);
    }
}
