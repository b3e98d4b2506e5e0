//! An independent merge of the agents' documents: HdrHistogram's Python package adds their
//! histograms, and compares each bucket with the merged document's.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use xtask::guard::Guarded;
use xtask::shell::{need_program, output, root, tools_dir};

use super::machines::{AGENTS, BUS_ADDRESS, COORDINATOR};
use super::processes::BUS_PORT;
use crate::accuracy::link::within;

/// The scripts, from the root of the repository.
const COLLECT: &str = "lab/src/accuracy/fleet/collect.py";
const COMPARE: &str = "lab/src/accuracy/fleet/compare.py";

/// Collects the agents' documents from the bus.
pub(super) struct Collector {
    script: Guarded,
    directory: PathBuf,
}

/// A histogram of the merged document, compared with the sum of the agents'.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Compared {
    /// Its metric and its outcome.
    pub(super) name: String,
    pub(super) requests: u64,
    pub(super) buckets: u64,
    /// Buckets whose counts differ.
    pub(super) different: u64,
}

impl Collector {
    /// Starts it with an empty directory of its own in this one.
    pub(super) fn start(directory: &Path) -> Result<Collector> {
        let directory = directory.join("parts");
        fs::remove_dir_all(&directory).ok();
        fs::create_dir_all(&directory).context("failed to make a directory")?;
        let mut words = within(COORDINATOR)?;
        words.extend([need_program("python3", "accuracy")?.into(), root()?.join(COLLECT).into()]);
        let port = BUS_PORT.to_string();
        let agents = AGENTS.len().to_string();
        words.extend([BUS_ADDRESS, &port, &agents].map(OsString::from));
        words.push(directory.clone().into());
        let mut script = Guarded::start(&words)?;
        script.await_line("ready")?;
        Ok(Collector { script, directory })
    }

    /// Waits for all documents, and compares the merged one with their sum.
    pub(super) fn compare(mut self, merged: &Path) -> Result<Vec<Compared>> {
        self.script.await_line("complete")?;
        let python = tools_dir()?.join("hdrhistogram/bin/python");
        ensure!(python.exists(), "failed to find HdrHistogram: cargo xtask setup accuracy");
        let mut command = Command::new(python);
        command.arg(root()?.join(COMPARE)).arg(merged);
        command.args(AGENTS.map(|name| self.directory.join(format!("{name}.json"))));
        output(&mut command)?.lines().map(compared).collect()
    }
}

fn compared(line: &str) -> Result<Compared> {
    let words: Vec<&str> = line.split(' ').collect();
    let [metric, outcome, requests, buckets, different] = words[..] else {
        bail!("failed to read `{line}`");
    };
    let number = |text: &str| text.parse().with_context(|| format!("failed to read `{line}`"));
    let name = format!("{} {outcome}", metric.replace('_', " "));
    let [requests, buckets, different] = [number(requests)?, number(buckets)?, number(different)?];
    Ok(Compared { name, requests, buckets, different })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_is_read() {
        let read = compared("service_time ok 600 21 1").expect("it is whole");
        let name = "service time ok".to_owned();
        assert_eq!(read, Compared { name, requests: 600, buckets: 21, different: 1 });
        assert!(compared("service_time ok 600 21").is_err());
        assert!(compared("service_time ok 600 21 many").is_err());
    }
}
