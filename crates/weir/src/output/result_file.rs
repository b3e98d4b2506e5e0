//! Result files: written under a temporary name and renamed, so that readers never see a partial
//! one.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result, ensure};
use weir_runner::{Interrupts, RawOutput};

use super::pipe::Pipe;
use crate::errors::NotWritten;
use crate::terminal::shown;

/// A file that appears complete or not at all: a run that is killed leaves no part of it under its
/// name.
#[derive(Debug)]
pub(crate) struct ResultFile {
    /// Flag that names it.
    flag: &'static str,
    /// Name as given.
    name: String,
    path: PathBuf,
    /// Name until the file is complete; `None` for a place that must not be replaced: `/dev/null`,
    /// a pipe.
    temporary: Option<PathBuf>,
    /// The place, if it is a pipe.
    pipe: Option<Pipe>,
    temporaries: Temporaries,
}

/// The temporary names in use, for removal if the program ends while files are written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Temporaries {
    names: Arc<Mutex<BTreeSet<PathBuf>>>,
    /// Signals, which end the writing of a pipe.
    interrupts: Interrupts,
}

impl Temporaries {
    /// Returns no names.
    pub(crate) fn new(interrupts: Interrupts) -> Temporaries {
        Temporaries { interrupts, ..Temporaries::default() }
    }

    /// Removes the files. No file can be created while the guard lives.
    pub(crate) fn remove(&self) -> MutexGuard<'_, BTreeSet<PathBuf>> {
        let paths = self.lock();
        for path in &*paths {
            let _gone = fs::remove_file(path);
        }
        paths
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<PathBuf>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn create(&self, path: &Path) -> io::Result<File> {
        let mut paths = self.lock();
        paths.insert(path.to_owned());
        File::create(path)
    }

    fn forget(&self, path: &Path) {
        let mut paths = self.lock();
        if paths.remove(path) {
            // After the rename there is no such file; before it, the file is partial and useless.
            let _gone = fs::remove_file(path);
        }
    }
}

impl ResultFile {
    /// Checks before the load that the file named by `flag` can be written. A pipe is opened, which
    /// waits a while for its reader.
    ///
    /// # Errors
    /// When it cannot.
    pub(crate) fn at(
        flag: &'static str,
        path: &Path,
        temporaries: &Temporaries,
    ) -> Result<ResultFile> {
        ensure!(
            path.file_name().is_some(),
            "{flag} {} names no file: give a file name",
            shown(path)
        );
        ensure!(!path.is_dir(), "{flag} {} is a directory: give a file name", shown(path));
        let name = path.to_string_lossy().into_owned();
        let temporaries = temporaries.clone();
        let pipe = Pipe::at(flag, path, &temporaries.interrupts)?;
        if path.starts_with("/dev") || fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            let path = path.to_owned();
            return Ok(ResultFile { flag, name, path, temporary: None, pipe, temporaries });
        }
        // A link is kept, and its target is replaced.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let temporary = path.with_added_extension(format!("{}.tmp", std::process::id()));
        let created = temporaries.create(&temporary);
        temporaries.forget(&temporary);
        created.with_context(|| {
            format!("{flag} {} cannot be written: choose another place", shown(&path))
        })?;
        Ok(ResultFile { flag, name, path, temporary: Some(temporary), pipe: None, temporaries })
    }

    /// Writes the content and renames the file to its final name.
    ///
    /// # Errors
    /// When the disk is full or the directory was removed.
    pub(crate) fn write(
        self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), NotWritten> {
        let written = self.begin().and_then(|file| {
            let mut buffered = BufWriter::new(file);
            write(&mut buffered)?;
            buffered.flush()
        });
        self.finish(written)
    }

    /// Begins the rows of one run, or of the trials of a study, which are written while loads run.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn begin_rows(
        &self,
        of: fn(String, Box<dyn Write + Send>) -> io::Result<RawOutput>,
    ) -> Result<RawOutput> {
        let begun = self.begin().and_then(|file| of(self.name.clone(), file));
        begun.with_context(|| format!("{} {} cannot be written", self.flag, shown(&self.name)))
    }

    /// Opens the file, to be written piece by piece.
    fn begin(&self) -> io::Result<Box<dyn Write + Send>> {
        Ok(match (&self.temporary, &self.pipe) {
            (Some(temporary), _) => Box::new(self.temporaries.create(temporary)?),
            (None, Some(pipe)) => Box::new(pipe.try_clone()?),
            (None, None) => Box::new(File::create(&self.path)?),
        })
    }

    /// Renames the file to its final name, if it was written.
    ///
    /// # Errors
    /// When it was not, or cannot be renamed.
    pub(crate) fn finish(self, written: io::Result<()>) -> Result<(), NotWritten> {
        let finished = written.and_then(|()| match &self.temporary {
            Some(temporary) => fs::rename(temporary, &self.path),
            None => Ok(()),
        });
        finished.map_err(|error| NotWritten { place: self.flag, error })
    }
}

impl Drop for ResultFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            self.temporaries.forget(temporary);
        }
    }
}
