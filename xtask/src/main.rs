//! Scripts of this repository, in its own language: `cargo xtask <task>`.
//!
//! A task is a function of its arguments that succeeds or reports an error. This program depends on
//! the repository and the tools around it; it imports none of the crates it builds. What measures
//! weir is in `lab`, which is built when it is needed.

#![forbid(unsafe_code)]

mod ci;
mod demo;
mod dist;
mod instructions;
mod lint;
mod nightly;
mod npm;
mod pages;
mod plots;
mod setup;
mod shape;
mod sim;
mod source;
mod suites;
mod tidy;

use std::process::ExitCode;

use anyhow::{Result, bail};
use xtask::{guard, shell};

const HELP: &str = "\
cargo xtask <task>

  ci [--quick]                everything a change must pass: fmt, tidy, clippy, tests, and the
                              steps of `nightly` whose sources have changed; quick: fmt, tidy,
                              clippy, unit tests and some simulations
  nightly [--all] [--check] [--only STEP,…]
                              steps that are long and seldom fail, if their sources have changed
                              since they were green, or all; writes xtask/nightly.txt, or not:
                              clippy, docs, unsafe, instructions, simulations, lab, fuzz, pages,
                              fleets, commands, engines
  lint                        clippy and rustdoc, whose warnings are errors
  tidy                        the rules of STYLE.md that a machine can check
  shape [REVISION]            counts of what a reader must hold in the head, in a revision or as
                              the files are: lines, crates, long structures, names, …
  instructions [--write REASON]
                              instructions per request against the committed baseline; with a
                              reason it becomes the baseline
  sim [--seeds N] [--hours N] [--from S]
                              the engine's simulations: N seeds from S, N hours of virtual time
  demo                        builds weir, starts its server, shows both kinds of load
  bench [--quick] [--print] [--rounds N] [--seconds S] [--only depth,serve]
                              weir beside its peers: what is measured replaces its file in
                              docs/measured and its part of docs/PERFORMANCE.md
  accuracy [--quick] [--print] [--only V5,V9]
                              weir's figures against known truths, METHOD 2.1; the same for
                              docs/ACCURACY.md
  fleet [--quick] [--print]   the same of one case: the manifest of a fleet under the control plane
                              of Kubernetes, as root; `setup fleet` builds it
  interop [--quick] [--print] [--runs N] [--only sse,model,…]
                              counts of messages, statuses and cuts against servers of others, and
                              times against the log of a mock language model; `setup interop`
                              installs them
  dist [--only PART,…] [--write]
                              the packages in target/dist, installed and run in clean systems and
                              built twice; parts: deny, packages, trial, containers, minimal,
                              crates, reproduce; --write: the table of docs/PACKAGES.md
  statistics                  SciPy's intervals, which tests of weir-stats compare with theirs
  guides [NAME …]             runs the commands of docs/guides against nginx, and puts their
                              output into the pages
  picture                     draws docs/run.svg from a run of weir against nginx
  picture report              paints the pictures of docs/guides/reading-the-report.md
  pages                       writes docs/ACCURACY.md, docs/PERFORMANCE.md and README.md's table
                              from the measured entries in docs/measured
  plots [--check]             builds the plot library of the HTML report, or compares it
  setup test|bench|accuracy|dist|fleet|interop
                              installs what that needs and lacks
";

fn main() -> ExitCode {
    shell::run_task("xtask", run)
}

fn run(words: &[&str]) -> Result<()> {
    match words {
        ["ci"] => ci::ci(false),
        ["ci", "--quick"] => ci::ci(true),
        ["lint"] => lint::lint(),
        ["tidy"] => tidy::tidy(),
        ["shape"] => shape::shape(None),
        ["shape", revision] => shape::shape(Some(revision)),
        ["instructions", options @ ..] => instructions::instructions(options),
        ["sim", options @ ..] => sim::sim(options),
        ["nightly", options @ ..] => nightly::nightly(options),
        ["demo"] => demo::demo(),
        ["dist", options @ ..] => dist::dist(options),
        ["pages"] => pages::pages(),
        ["plots"] => plots::write(),
        ["plots", "--check"] => plots::check(),
        ["accuracy" | "bench" | "guides" | "interop" | "picture" | "statistics", ..] => lab(words),
        ["fleet", options @ ..] => lab(&[&["accuracy", "--only", "V40"], options].concat()),
        ["setup", purpose] => setup::setup(purpose),
        [] | ["help" | "-h" | "--help"] => {
            print!("{HELP}");
            Ok(())
        }
        _ => bail!("unknown task `{}`; `cargo xtask help` lists them", words.join(" ")),
    }
}

/// Runs a task of the laboratory, a workspace of its own, in its directory: there its settings are.
fn lab(words: &[&str]) -> Result<()> {
    let mut cargo = shell::cargo(&["run", "--quiet", "--locked"])?;
    cargo.args(lab_features(words)).arg("--").args(words);
    shell::run(cargo.current_dir(shell::root()?.join("lab")))
}

/// Returns cargo's words for the optional parts of the laboratory that a task needs.
fn lab_features(words: &[&str]) -> &'static [&'static str] {
    let only = words.iter().skip_while(|word| **word != "--only").nth(1);
    let wants_cluster = only.is_none_or(|cases| cases.split(',').any(|case| case == "V40"));
    match words {
        ["accuracy", ..] if wants_cluster => &["--features", "kubernetes"],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_control_plane_is_built_for_its_case() {
        let has_cluster = |words: &[&str]| !lab_features(words).is_empty();
        assert!(has_cluster(&["accuracy"]) && has_cluster(&["accuracy", "--only", "V5,V40"]));
        for words in [&["accuracy", "--only", "V5"] as &[&str], &["bench"], &["interop"]] {
            assert!(!has_cluster(words), "{words:?}");
        }
    }
}
