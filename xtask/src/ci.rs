//! `cargo xtask ci`: everything that a change must pass, in one command.
//!
//! A clean build is most of the time, so nothing is built twice: clippy checks the tests while they
//! are compiled. The program's tests, which mostly wait, are built first and run beside the other
//! steps. What computes has a lower priority than what waits. Steps that are long and seldom fail
//! are those of `cargo xtask nightly`, and run if their sources have changed since they were green.
//! The output of what runs beside others follows when it is done.

mod locks;
mod steps;

use std::env;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::lint::{self, EVERYTHING};
use crate::shell::{cargo, root, run};
use crate::suites::{self, Suite};
use crate::{plots, tidy};
use steps::{Beside, Steps};

/// Number of the program's tests that run at a time: more than two CPUs, since they wait.
const WAITING_THREADS: &str = "6";

/// Nice value of the steps beside them: a third of the share of a CPU, so that they end on a busy
/// machine too.
const NICE: &str = "5";

/// Variable with the number of random worlds of each kind in simulations, and that number where it
/// is not that of the step of `nightly`.
const SEEDS: &str = "WEIR_SIM_SEEDS";
const FEWER_SEEDS: &str = "100";
const QUICK_SEEDS: &str = "50";

/// Runs all steps, even after one has failed, and fails if any did.
pub(crate) fn ci(is_quick: bool) -> Result<()> {
    let mut steps = Steps::default();
    steps.take("fmt", fmt);
    steps.take("tidy", tidy::tidy);
    steps.take("lock files", locks::check);
    match is_quick {
        true => quick(&mut steps),
        false => all(&mut steps),
    }
    steps.conclude()
}

/// The rest of everything that a change must pass.
fn all(steps: &mut Steps) {
    // Here and not in `dist`: it takes a second, once setup has installed the packages.
    steps.take("plots", plots::check);
    let waiting = steps.take("build program", || suites::build(&EVERYTHING, &suites::PROGRAM));
    let waiting = waiting.unwrap_or_default();
    let command = |suite: &Suite| {
        let mut command = suite.command();
        command.env("RUST_TEST_THREADS", WAITING_THREADS);
        command
    };
    let start = |suite: &Suite| steps.start(&suite.name, || Ok(command(suite)));
    let beside: Vec<Beside> = waiting.iter().filter_map(start).collect();
    give_way();
    let rare = steps.start("nightly", || task(&["nightly", "--check"]));
    let suites = steps.take("build tests", || suites::build(&EVERYTHING, &["--tests"]));
    // Two at a time, since the last tests of a suite leave a CPU idle.
    let mut running = None;
    for suite in suites.iter().flatten().filter(|suite| !waiting.contains(suite)) {
        let next = steps.start(&suite.name, || {
            let mut command = suite.command();
            command.env(SEEDS, FEWER_SEEDS);
            Ok(command)
        });
        running.into_iter().for_each(|suite| steps.finish(suite));
        running = next;
    }
    let rest = running.into_iter().chain(beside).chain(rare);
    rest.for_each(|beside| steps.finish(beside));
    steps.take("doc tests", doc_tests);
}

/// Lowers the priority of all steps from here on: those that were started wait more than they
/// compute, and a compiler that keeps them from a CPU for 100 ms would take the whole window of a
/// short load.
fn give_way() {
    let mut renice = Command::new("renice");
    renice.args(["-n", NICE, "-p", &std::process::id().to_string()]).stdout(Stdio::null());
    // Without the program all steps are equal.
    renice.status().ok();
}

/// The rest of `--quick`, which takes a minute or two after a change.
fn quick(steps: &mut Steps) {
    steps.take("clippy", lint::clippy);
    // With the features of the whole workspace, or much would be built once more.
    let fast = ["--lib", "--bins", "--test", "simulated"];
    for suite in steps.take("build", || suites::build(&EVERYTHING, &fast)).unwrap_or_default() {
        steps.take(&suite.name, || run(suite.command().env(SEEDS, QUICK_SEEDS)));
    }
}

fn fmt() -> Result<()> {
    let root = root()?;
    let check =
        |workspace| run(cargo(&["fmt", "--all", "--check"])?.current_dir(root.join(workspace)));
    [".", "lab", "fuzz"].into_iter().try_for_each(check)
}

/// Tests the examples on pages of documentation, with the libraries that are there.
fn doc_tests() -> Result<()> {
    let mut test = cargo(&["test", "--doc", "--quiet"])?;
    run(lint::while_compiling(test.args(EVERYTHING))?)
}

/// Returns the command of another task.
fn task(words: &[&str]) -> Result<Command> {
    let mut command = Command::new(env::current_exe().context("failed to find this program")?);
    command.args(words);
    Ok(command)
}
