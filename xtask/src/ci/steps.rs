//! The steps of `cargo xtask ci`, their results and their times.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};

use crate::shell::{show, target_dir};

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
        let name = beside.name.clone();
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

/// A command that has been started.
pub(super) struct Beside {
    name: String,
    shown: String,
    /// File with its output.
    output: PathBuf,
    end: JoinHandle<io::Result<(ExitStatus, Duration)>>,
}

impl Beside {
    /// Starts a command under the name of its step.
    pub(super) fn start(name: &str, mut command: Command) -> Result<Beside> {
        let directory = target_dir()?.join("ci");
        fs::create_dir_all(&directory).context("failed to make a directory for outputs")?;
        let output = directory.join(format!("{}.txt", name.replace(' ', "-")));
        let file = File::create(&output).context("failed to make a file for an output")?;
        let both = file.try_clone().context("failed to share a file for an output")?;
        let shown = show(&command);
        eprintln!("$ {shown} &");
        command.stdin(Stdio::null()).stdout(both).stderr(file);
        let started = Instant::now();
        let mut child = command.spawn().with_context(|| format!("failed to start `{shown}`"))?;
        let wait = move || Ok((child.wait()?, started.elapsed()));
        let end = thread::Builder::new().spawn(wait).context("failed to start a thread")?;
        Ok(Beside { name: name.to_owned(), shown, output, end })
    }

    /// Waits for the end of the command and prints its output. Returns the time that it took.
    ///
    /// # Errors
    /// If it ended with any exit code but 0.
    pub(super) fn finish(self) -> Result<Duration> {
        let end = self.end.join().map_err(|_| anyhow!("waiting for `{}` panicked", self.shown))?;
        let (status, spent) =
            end.with_context(|| format!("failed to wait for `{}`", self.shown))?;
        let output = fs::read(&self.output).context("failed to read an output")?;
        eprint!("{}", String::from_utf8_lossy(&output));
        ensure!(status.success(), "`{}` ended with {status}", self.shown);
        Ok(spent)
    }
}
