//! Clippy and rustdoc, whose warnings are errors.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::shell::{cargo, output, root, run};

/// All crates with all their features, at the versions of Cargo.lock.
pub(crate) const EVERYTHING: [&str; 3] = ["--locked", "--workspace", "--all-features"];

/// The published crates without their features, except those that the program cannot be without,
/// and that of fleets, which is a feature. Their tests need them. (The engine without TLS too is
/// what `cargo xtask instructions` builds.)
const BARE: [&str; 7] = [
    "--locked",
    "--workspace",
    "--exclude",
    "xtask",
    "--exclude",
    "weir-fleet",
    "--no-default-features",
];

/// Words that make warnings of clippy errors.
const DENY: [&str; 3] = ["--", "-D", "warnings"];

/// Runs all of them.
pub(crate) fn lint() -> Result<()> {
    clippy()?;
    bare()?;
    docs()
}

/// Checks what a build of the tests leaves out: examples, benchmarks, and the crates without their
/// features.
pub(crate) fn clippy_of_the_rest() -> Result<()> {
    run(cargo(&["clippy", "--examples", "--benches"])?.args(EVERYTHING).args(DENY))?;
    bare()
}

/// Checks all targets.
pub(crate) fn clippy() -> Result<()> {
    run(cargo(&["clippy", "--all-targets"])?.args(EVERYTHING).args(DENY))
}

/// Checks the crates without their features.
fn bare() -> Result<()> {
    run(cargo(&["clippy"])?.args(BARE).args(DENY))
}

/// Checks the pages of all items, private ones too.
pub(crate) fn docs() -> Result<()> {
    let pages = ["--no-deps", "--document-private-items"];
    run(cargo(&["doc"])?.args(EVERYTHING).args(pages).env("RUSTDOCFLAGS", "-D warnings"))
}

/// Makes a build check the workspace's crates too: clippy's driver is the compiler with more lints,
/// so they are read once, and what they depend on is not checked apart.
///
/// # Errors
/// If the toolchain has no clippy.
pub(crate) fn while_compiling(build: &mut Command) -> Result<&mut Command> {
    let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]).current_dir(root()?))?;
    let driver = PathBuf::from(sysroot).join("bin/clippy-driver");
    let driver = driver.canonicalize().context("no clippy: rustup component add clippy")?;
    // As `cargo clippy` hands over its words after `--`.
    let words = DENY[1..].join("__CLIPPY_HACKERY__");
    Ok(build.env("RUSTC_WORKSPACE_WRAPPER", driver).env("CLIPPY_ARGS", words))
}
