//! Result files: written under a temporary name and renamed, so that nobody ever reads half of one.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// A file that will appear whole, or not at all.
#[derive(Debug)]
pub(crate) struct ResultFile {
    path: PathBuf,
    temporary: PathBuf,
    file: File,
}

impl ResultFile {
    /// Makes the temporary file now, so that a path which cannot be written is known before the
    /// load runs and not after it.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(crate) fn create(path: &Path) -> Result<ResultFile> {
        let name = path.file_name().with_context(|| {
            format!("--output {} names no file: give a file name", path.display())
        })?;
        if path.is_dir() {
            anyhow::bail!("--output {} is a directory: give a file name", path.display());
        }
        let mut temporary = name.to_owned();
        temporary.push(format!(".{}.tmp", std::process::id()));
        let temporary = path.with_file_name(temporary);
        let file = File::create(&temporary).with_context(|| {
            format!("--output {} cannot be written: choose another place", path.display())
        })?;
        Ok(ResultFile { path: path.to_owned(), temporary, file })
    }

    /// Writes the content, and gives the file its name.
    ///
    /// # Errors
    /// When the disk is full or the place has gone.
    pub(crate) fn finish(
        self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut buffered = BufWriter::new(&self.file);
        write(&mut buffered)?;
        buffered.flush()?;
        drop(buffered);
        fs::rename(&self.temporary, &self.path)
    }
}

impl Drop for ResultFile {
    fn drop(&mut self) {
        // After `finish` there is no such file; before it, nobody wants it.
        let _gone = fs::remove_file(&self.temporary);
    }
}
