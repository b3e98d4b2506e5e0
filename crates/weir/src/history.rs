//! The history of runs as this program uses it: its place, and `--save`.

use std::path::{Path, PathBuf};
use std::{env, io};

use anyhow::Result;
use weir_history::{History, Name, Tag};
use weir_result::Document;

use crate::args::result::SaveArgs;
use crate::errors::NotWritten;
use crate::terminal;

/// Returns the path of the history's file.
///
/// # Errors
/// When neither the flag nor the environment names a place.
pub(crate) fn location(file: Option<&Path>) -> Result<PathBuf> {
    Ok(weir_history::location(file, |name| env::var_os(name))?)
}

/// `--save`: the name under which a run is saved.
#[derive(Debug)]
pub(crate) struct Saving {
    path: PathBuf,
    name: Name,
    tags: Vec<Tag>,
    is_quiet: bool,
}

impl Saving {
    /// Checks before the load that the history can be written, and begins one if there is none.
    ///
    /// # Errors
    /// When it cannot.
    pub(crate) fn of(args: &SaveArgs, is_quiet: bool) -> Result<Option<Saving>> {
        let Some(name) = args.save.clone() else { return Ok(None) };
        let path = location(args.history.as_deref())?;
        History::create(&path)?;
        Ok(Some(Saving { path, name, tags: args.tags.clone(), is_quiet }))
    }

    /// Saves the document of a run. The variant of a trial is one more tag, if it can be one.
    ///
    /// # Errors
    /// When the history can no longer be written.
    pub(crate) fn save(
        &self,
        document: &Document,
        variant: Option<&str>,
    ) -> Result<(), NotWritten> {
        let variant = variant.and_then(|name| name.parse::<Tag>().ok());
        let tags: Vec<Tag> = self.tags.iter().cloned().chain(variant).collect();
        let saved = History::create(&self.path)
            .and_then(|mut history| history.save(&self.name, &tags, document));
        let id = saved
            .map_err(|error| NotWritten { place: "--save", error: io::Error::other(error) })?;
        if !self.is_quiet {
            terminal::eprint_line(format_args!("saved as {} #{id}", self.name));
        }
        Ok(())
    }
}
