//! The steps of `cargo xtask ci`, their results and their times.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::beside::Beside;

/// The steps so far.
#[derive(Debug, Default)]
pub(super) struct Steps {
    results: Vec<Step>,
}

/// The result of a step.
#[derive(Debug)]
struct Step {
    name: String,
    spent: Duration,
    has_passed: bool,
}

impl Steps {
    /// Runs a step and returns its result, if it passed.
    pub(super) fn take<T>(&mut self, name: &str, step: impl FnOnce() -> Result<T>) -> Option<T> {
        eprintln!("== {name}");
        let started = Instant::now();
        let result = step();
        self.record(name, started.elapsed(), result)
    }

    /// Starts the command of a step that runs beside those that follow, until it is finished.
    pub(super) fn start(
        &mut self,
        name: &str,
        command: impl FnOnce() -> Result<Command>,
    ) -> Option<Beside> {
        eprintln!("== {name}: runs beside the next steps");
        match command().and_then(|command| Beside::start(name, command)) {
            Ok(beside) => Some(beside),
            Err(error) => self.record(name, Duration::ZERO, Err(error)),
        }
    }

    /// Waits for the end of a step that was started.
    pub(super) fn finish(&mut self, beside: Beside) {
        let name = beside.name().to_owned();
        eprintln!("== {name}");
        let started = Instant::now();
        let result = beside.finish();
        let spent = result.as_ref().map_or(started.elapsed(), |spent| *spent);
        self.record(&name, spent, result);
    }

    /// Prints all results.
    ///
    /// # Errors
    /// If a step has failed.
    pub(super) fn conclude(self) -> Result<()> {
        eprintln!("==");
        for Step { name, spent, has_passed } in &self.results {
            let result = if *has_passed { "passed" } else { "FAILED" };
            eprintln!("{name:<28} {result} {:>5} s", spent.as_secs());
        }
        let failed = self.results.iter().filter(|step| !step.has_passed);
        let failed: Vec<&str> = failed.map(|step| step.name.as_str()).collect();
        ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
        Ok(())
    }

    fn record<T>(&mut self, name: &str, spent: Duration, result: Result<T>) -> Option<T> {
        let seconds = spent.as_secs();
        match &result {
            Ok(_) => eprintln!("== {name}: passed, {seconds} s"),
            Err(error) => eprintln!("== {name}: failed, {seconds} s: {error:#}"),
        }
        self.results.push(Step { name: name.to_owned(), spent, has_passed: result.is_ok() });
        result.ok()
    }
}
