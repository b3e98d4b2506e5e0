//! In place of the screen of `--tui`, in a build without it.

use anyhow::{Result, bail};
use weir_runner::Observer;

/// Fails: this build has no screen.
///
/// # Errors
/// Always.
pub(crate) fn observer() -> Result<Box<dyn Observer>> {
    bail!("--tui is not in this build of weir: build it with the feature `tui`");
}

/// Does nothing: no screen was opened.
pub(crate) fn restore() {}
