//! The real wrk, and weir in its place.

use std::fs;
use std::process::Command;

use super::directory::Directory;
use super::process::{Output, Process};
use super::weir::WEIR;

/// Runs the real wrk.
pub(crate) fn wrk(words: &str, more: &[&str]) -> Output {
    start_wrk(words, more).wait()
}

/// Runs weir by the flags of `dialect`.
pub(crate) fn weir_as(dialect: &str, words: &str, more: &[&str]) -> Output {
    start_as(dialect, words, more).wait()
}

/// Starts the real wrk.
pub(crate) fn start_wrk(words: &str, more: &[&str]) -> Process {
    let mut command = Command::new(program());
    Process::start(command.args(words.split_whitespace()).args(more))
}

/// Starts weir by the flags of `dialect`.
pub(crate) fn start_as(dialect: &str, words: &str, more: &[&str]) -> Process {
    let mut command = Command::new(WEIR);
    let words = words.split_whitespace().chain(more.iter().copied());
    Process::start(command.args(["--no-verdict", "--compat", dialect]).args(words))
}

/// Runs weir by the flags of `dialect` and returns weir's own report as well, in one line.
pub(crate) fn weir_reporting_as(dialect: &str, words: &str, more: &[&str]) -> (Output, String) {
    let directory = Directory::new();
    let file = directory.file("report.txt");
    let mut command = Command::new(WEIR);
    let words = words.split_whitespace().chain(more.iter().copied());
    command.env("WEIR_REPORT", &file).args(["--compat", dialect]).args(words);
    let output = Process::start(&mut command).wait();
    let report = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    let left = fs::read_dir(directory.file(".")).expect("it is there").count();
    assert_eq!(left, 1, "no temporary file stays behind");
    (output, report.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Name of the distribution's wrk, which these tests require.
fn program() -> &'static str {
    let is_there = Command::new("wrk").arg("--version").output().is_ok();
    assert!(is_there, "wrk is not in PATH: `cargo xtask setup test` installs it");
    "wrk"
}
