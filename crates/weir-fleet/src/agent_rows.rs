//! The rows of an agent's requests, in a file of its machine: all of them would be too many for the
//! bus.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use weir_runner::RawOutput;

/// A file that is being written. It has its name once it is complete.
#[derive(Debug)]
pub(crate) struct AgentRows {
    pub(crate) output: RawOutput,
    place: PathBuf,
    unfinished: PathBuf,
}

impl AgentRows {
    /// Begins the rows of an agent: `rows.parquet` becomes `rows.gen-2.parquet`.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub(crate) fn begin(path: &Path, agent: &str) -> Result<AgentRows> {
        let place = place_of(path, agent);
        let unfinished = place.with_added_extension("unfinished");
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(true).open(&unfinished);
        let name = place.display().to_string();
        let begun = file.and_then(|file| RawOutput::of_run(name, Box::new(file)));
        let output = begun.with_context(|| format!("{} cannot be written", place.display()))?;
        Ok(AgentRows { output, place, unfinished })
    }

    /// Completes the file of a run that has ended, or removes that of one that has failed.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn finish(self, has_ended: bool) -> Result<()> {
        let AgentRows { output, place, unfinished } = self;
        let written = output.finish();
        let renamed = match has_ended {
            true => written.and_then(|()| fs::rename(&unfinished, &place)),
            false => fs::remove_file(&unfinished),
        };
        renamed.with_context(|| format!("{} cannot be written", place.display()))
    }
}

fn place_of(path: &Path, agent: &str) -> PathBuf {
    match path.extension() {
        Some(extension) => {
            path.with_extension("").with_added_extension(agent).with_added_extension(extension)
        }
        None => path.with_added_extension(agent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_agent_has_a_file_of_its_own() {
        let place = |path| place_of(Path::new(path), "gen-2");
        assert_eq!(place("/a/rows.parquet"), Path::new("/a/rows.gen-2.parquet"));
        assert_eq!(place("rows"), Path::new("rows.gen-2"));
    }
}
