//! Load generators: runs each once and reads its output.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use weir_result::Document;

use super::peers::Peer;
use super::servers::pinned;
use super::timed::{Timed, show, timed};

/// Work and cost of one run of a client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientRun {
    pub(crate) requests: u64,
    pub(crate) cpu_s: f64,
    /// The part of it in the kernel.
    pub(crate) kernel_s: f64,
    pub(crate) wall_s: f64,
    /// Requests per second: over `wall_s`, or as the program reports them for its window.
    pub(crate) rps: f64,
    /// Peak resident memory; none if the kernel did not report it.
    pub(crate) resident_bytes: Option<u64>,
}

impl ClientRun {
    /// A run that ended with an error, without figures.
    pub(crate) const FAILED: ClientRun = ClientRun {
        requests: 1,
        cpu_s: f64::NAN,
        kernel_s: f64::NAN,
        wall_s: f64::NAN,
        rps: f64::NAN,
        resident_bytes: None,
    };

    /// Makes the run of a program that completed `requests` requests.
    pub(crate) fn of(requests: u64, timed: &Timed) -> ClientRun {
        let Timed { cpu_s, kernel_s, wall_s, resident_bytes, .. } = *timed;
        ClientRun {
            requests,
            cpu_s,
            kernel_s,
            wall_s,
            rps: requests as f64 / wall_s,
            resident_bytes,
        }
    }

    /// Formats the client's CPU time in percent of one CPU.
    pub(crate) fn cpu(&self) -> String {
        format!("{:.0} %", 100.0 * self.cpu_s / self.wall_s)
    }

    /// Returns the client's CPU time per request, in microseconds.
    pub(crate) fn cost_us(&self) -> f64 {
        self.cpu_s * 1e6 / self.requests as f64
    }

    /// Returns the kernel's part of that, in microseconds.
    pub(crate) fn kernel_us(&self) -> f64 {
        self.kernel_s * 1e6 / self.requests as f64
    }
}

/// Returns the number of requests that were sent and failed.
pub(crate) fn failures(document: &Document) -> u64 {
    let accounting = &document.accounting;
    accounting.bad_response + accounting.transport_error + accounting.timed_out
}

/// Returns the largest resident memory of the client, in MiB.
pub(crate) fn resident_mib(document: &Document) -> f64 {
    document.run.client.max_resident_bytes as f64 / f64::from(1 << 20)
}

/// Reads the document that weir printed.
pub(crate) fn document(stdout: &str) -> Result<Document> {
    weir_verdict::from_json(stdout.as_bytes()).context("failed to read weir's document")
}

/// Runs weir with these options and reads its document. All defaults stay on: time stamps, machine
/// checks and the verdict are part of the cost of a run.
pub(crate) fn weir(
    program: &Path,
    cpu: Option<u32>,
    options: &[&str],
    url: &str,
) -> Result<(ClientRun, Document)> {
    let mut words = pinned(cpu, program);
    words.extend(options.iter().map(OsString::from));
    words.extend(["--format", "json", url].map(OsString::from));
    let timed = timed(&words, &[0])?;
    let document = document(&timed.stdout)?;
    let requests = document.accounting.sent.total;
    ensure!(requests > 0, "weir sent nothing: {}", show(&words));
    Ok((ClientRun::of(requests, &timed), document))
}

/// Runs wrk with these options.
pub(crate) fn wrk(
    program: &Path,
    cpu: Option<u32>,
    options: &[&str],
    url: &str,
) -> Result<ClientRun> {
    let mut words = pinned(cpu, program);
    words.extend(options.iter().chain([&url]).map(OsString::from));
    let timed = timed(&words, &[0])?;
    let requests = Peer::Wrk.read(&timed.stdout).requests;
    let requests = requests.context("failed to read what wrk printed")?;
    ensure!(!timed.stdout.contains("errors"), "wrk met errors:\n{}", timed.stdout);
    Ok(ClientRun::of(requests, &timed))
}
