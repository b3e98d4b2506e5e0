//! `cargo xtask accuracy` in a build without the feature `accuracy`: rebuilds with it and runs
//! again.

use anyhow::Result;

use crate::shell::{cargo, run};

/// Runs the same command with the feature.
pub(crate) fn of_words(words: &[&str]) -> Result<()> {
    let again = ["run", "-q", "-p", "xtask", "--features", "accuracy", "--", "accuracy"];
    run(cargo(&again)?.args(words))
}
