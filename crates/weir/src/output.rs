//! Result files: written under a temporary name and renamed, so that nobody ever reads half of one.

mod distinct;

pub(crate) use distinct::check_distinct;

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// A file that will appear whole, or not at all: a run that is killed leaves no half of it under
/// its name.
#[derive(Debug)]
pub(crate) struct ResultFile {
    path: PathBuf,
    /// The name until it is whole; none for what must not be replaced: `/dev/null`, a pipe.
    temporary: Option<PathBuf>,
}

impl ResultFile {
    /// Makes sure that the file that `flag` asks for can be written, before the load runs and not
    /// after it.
    ///
    /// # Errors
    /// When it cannot.
    pub(crate) fn at(flag: &str, path: &Path) -> Result<ResultFile> {
        let name = path.file_name().with_context(|| {
            format!("{flag} {} names no file: give a file name", path.display())
        })?;
        if path.is_dir() {
            anyhow::bail!("{flag} {} is a directory: give a file name", path.display());
        }
        if path.starts_with("/dev") || fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            return Ok(ResultFile { path: path.to_owned(), temporary: None });
        }
        // A link stays one, and what it points to is replaced.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let mut temporary = path.file_name().unwrap_or(name).to_owned();
        temporary.push(format!(".{}.tmp", std::process::id()));
        let temporary = path.with_file_name(temporary);
        File::create(&temporary).and_then(|_| fs::remove_file(&temporary)).with_context(|| {
            format!("{flag} {} cannot be written: choose another place", path.display())
        })?;
        Ok(ResultFile { path, temporary: Some(temporary) })
    }

    /// Writes the content, and gives the file its name.
    ///
    /// # Errors
    /// When the disk is full or the place has gone.
    pub(crate) fn write(
        self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut buffered = BufWriter::new(self.begin()?);
        write(&mut buffered)?;
        buffered.flush()?;
        drop(buffered);
        self.finish()
    }

    /// Opens the file, to be written piece by piece.
    ///
    /// # Errors
    /// When the place has gone.
    pub(crate) fn begin(&self) -> io::Result<File> {
        File::create(self.temporary.as_deref().unwrap_or(&self.path))
    }

    /// Gives the file its name: it is whole.
    ///
    /// # Errors
    /// When the place has gone.
    pub(crate) fn finish(self) -> io::Result<()> {
        match &self.temporary {
            Some(temporary) => fs::rename(temporary, &self.path),
            None => Ok(()),
        }
    }
}

impl Drop for ResultFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // Once it has its name there is no such file; before that, nobody wants it.
            let _gone = fs::remove_file(temporary);
        }
    }
}
