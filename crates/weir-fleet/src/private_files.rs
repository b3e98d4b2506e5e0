//! Files and directories that only this user can read.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use anyhow::{Context, Result, ensure};

/// Makes a new directory.
///
/// # Errors
/// When it is there already, or cannot be made.
pub(crate) fn make_directory(path: &Path) -> Result<()> {
    ensure!(!path.exists(), "{} is there already: give a new directory", path.display());
    let made = DirBuilder::new().mode(0o700).create(path);
    made.with_context(|| format!("failed to make the directory {}", path.display()))
}

/// Writes a new file.
///
/// # Errors
/// When it is there already, or cannot be written.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        .with_context(|| format!("failed to write {}", path.display()))
}

/// Writes a file in the place of another one, which is whole until then.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn replace(path: &Path, text: &str) -> Result<()> {
    let unfinished = path.with_added_extension("new");
    // Of a call that was killed.
    let _none = fs::remove_file(&unfinished);
    write(&unfinished, text)?;
    fs::rename(&unfinished, path).with_context(|| format!("failed to write {}", path.display()))
}
