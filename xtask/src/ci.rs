//! `cargo xtask ci`: everything that a change must pass, in one command.
//!
//! Clippy and rustdoc share the dependencies' check artefacts and the tests are built once, in one
//! profile. The tests come last, so that their results close the output.

use std::time::Instant;

use anyhow::{Result, ensure};

use crate::instructions;
use crate::shell::{cargo, run};
use crate::tidy;

/// All crates with all their features, at the versions of Cargo.lock.
const EVERYTHING: [&str; 3] = ["--locked", "--workspace", "--all-features"];

/// Random worlds of each kind in the simulations of `--quick`.
const QUICK_SEEDS: &str = "50";

/// Name and function of a step.
type Step = (&'static str, fn() -> Result<()>);

/// Everything a change must pass.
const ALL: [Step; 6] = [
    ("fmt", fmt),
    ("tidy", tidy::tidy),
    ("clippy", clippy),
    ("docs", docs),
    ("instructions", instructions::check),
    ("test", test),
];

/// The steps of `--quick`, which takes a minute or two after a change.
const QUICK: [Step; 5] = [
    ("fmt", fmt),
    ("tidy", tidy::tidy),
    ("clippy", clippy),
    ("unit", unit),
    ("simulation", simulation),
];

/// Runs all steps, even after one has failed, and fails if any did.
pub(crate) fn ci(is_quick: bool) -> Result<()> {
    let steps: &[Step] = if is_quick { &QUICK } else { &ALL };
    let mut failed = Vec::new();
    for (name, step) in steps {
        eprintln!("== {name}");
        let started = Instant::now();
        let outcome = step();
        let spent_s = started.elapsed().as_secs();
        match outcome {
            Ok(()) => eprintln!("== {name}: passed, {spent_s} s"),
            Err(error) => {
                eprintln!("== {name}: failed, {spent_s} s: {error:#}");
                failed.push(*name);
            }
        }
    }
    ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
    Ok(())
}

fn fmt() -> Result<()> {
    run(&mut cargo(&["fmt", "--all", "--check"])?)
}

fn clippy() -> Result<()> {
    let lints = ["--all-targets", "--", "-D", "warnings"];
    run(cargo(&["clippy"])?.args(EVERYTHING).args(lints))
}

fn docs() -> Result<()> {
    let pages = ["--no-deps", "--document-private-items"];
    run(cargo(&["doc"])?.args(EVERYTHING).args(pages).env("RUSTDOCFLAGS", "-D warnings"))
}

fn test() -> Result<()> {
    run(cargo(&["test"])?.args(EVERYTHING).arg("--no-fail-fast"))
}

fn unit() -> Result<()> {
    run(cargo(&["test"])?.args(EVERYTHING).args(["--lib", "--bins"]))
}

fn simulation() -> Result<()> {
    let test = ["test", "--locked", "--package", "weir-engine", "--test", "simulated"];
    run(cargo(&test)?.env("WEIR_SIM_SEEDS", QUICK_SEEDS))
}
