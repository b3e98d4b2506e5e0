//! In place of the screen of `--tui`, in a build without it.

use anyhow::{Result, bail};
use weir_runner::Observer;

/// Fails: this build has no screen.
///
/// # Errors
/// Always.
pub(crate) fn observer() -> Result<Box<dyn Observer>> {
    bail!("--tui: this build has no screen: build weir with --features tui");
}

/// Does nothing: no screen was opened.
pub(crate) fn restore() {}
