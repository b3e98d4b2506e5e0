//! `cargo xtask statistics`: SciPy's intervals, which the tests of weir-stats compare with their
//! own.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use xtask::shell::{output, root, tools_dir};

/// The script, and the file that it writes, from the root of the repository.
const SCRIPT: &str = "lab/src/statistics/intervals.py";
const FIGURES: &str = "crates/weir-stats/tests/scipy.txt";

/// Computes the figures anew, and replaces the file.
pub(crate) fn statistics() -> Result<()> {
    let python = tools_dir()?.join("scipy/bin/python");
    ensure!(python.exists(), "failed to find SciPy: cargo xtask setup accuracy");
    let figures = output(Command::new(python).arg(root()?.join(SCRIPT)))?;
    fs::write(root()?.join(FIGURES), figures + "\n").context("failed to write SciPy's figures")?;
    eprintln!("statistics: wrote {FIGURES}; cargo test -p weir-stats compares them");
    Ok(())
}
