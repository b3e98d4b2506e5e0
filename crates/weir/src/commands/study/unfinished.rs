//! The check that no study takes the place of an unfinished one: its trials would be lost.

use std::path::Path;

use anyhow::{Result, bail};
use weir_result::Study;

use super::settings::StudySettings;
use crate::output::is_same_file;
use crate::terminal::shown;

/// Checks that no file of the study holds the trials of an unfinished one, except the one that is
/// being resumed.
///
/// # Errors
/// When one does, and `--force` is not given.
pub(super) fn check(settings: &StudySettings<'_>) -> Result<()> {
    if settings.force {
        return Ok(());
    }
    let is_resumed = |path: &&Path| settings.resumed.is_some_and(|file| is_same_file(file, path));
    let exports = settings.exports.iter().map(|export| export.path.as_path());
    let rows = settings.rows.map(|(_, path)| path);
    let paths = settings.output.into_iter().chain(exports).chain(rows);
    for path in paths.filter(|path| !is_resumed(path)) {
        if let Some(study) = unfinished(path) {
            let file = shown(path);
            let trials = study.trials.len();
            let plural = if trials == 1 { "" } else { "s" };
            bail!(
                "{file} holds an unfinished study with {trials} trial{plural}: continue it with \
                 weir resume {file}, write to another file with -o, or replace it with --force"
            );
        }
    }
    Ok(())
}

/// Returns the unfinished study of a file. Pipes and devices hold none.
fn unfinished(path: &Path) -> Option<Study> {
    let study = path.is_file().then(|| Study::load(path).ok())??;
    (study.is_resumable() && !study.trials.is_empty()).then_some(study)
}
