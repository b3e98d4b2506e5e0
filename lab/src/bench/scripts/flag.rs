//! The flag of a script of this directory.

use anyhow::Result;
use xtask::shell::root;

/// Directory of the scripts, from the root of the repository.
const DIRECTORY: &str = "lab/src/bench/scripts";

/// Returns the words `-s FILE`.
pub(super) fn flag(script: &str) -> Result<String> {
    Ok(format!("-s {}", root()?.join(DIRECTORY).join(script).display()))
}
