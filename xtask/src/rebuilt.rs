//! `cargo xtask accuracy` of a build that cannot read rows: built again, with what it takes.

use anyhow::Result;

use crate::shell::{cargo, run};

/// The same with the feature.
pub(crate) fn of_words(words: &[&str]) -> Result<()> {
    let again = ["run", "-q", "-p", "xtask", "--features", "accuracy", "--", "accuracy"];
    run(cargo(&again)?.args(words))
}
