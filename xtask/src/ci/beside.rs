//! A command that runs beside the steps of `cargo xtask ci`. Its output is kept in a file, so that
//! it does not mix with theirs.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};

use crate::shell::{show, target_dir};

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
        let child = command.spawn().with_context(|| format!("failed to start `{shown}`"))?;
        let wait = move || wait(child, started);
        let end = thread::Builder::new().spawn(wait).context("failed to start a thread")?;
        Ok(Beside { name: name.to_owned(), shown, output, end })
    }

    /// Returns the name of its step.
    pub(super) fn name(&self) -> &str {
        &self.name
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

fn wait(mut child: Child, started: Instant) -> io::Result<(ExitStatus, Duration)> {
    let status = child.wait()?;
    Ok((status, started.elapsed()))
}
