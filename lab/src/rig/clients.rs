//! Load generators: runs each once and reads its output.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;
use std::{fmt, thread};

use anyhow::{Context, Result, bail, ensure};
use weir_machine::{Root, peak_memory_bytes};
use weir_result::Document;
use xtask::shell::need_program;

use super::peers::Peer;
use super::servers::pinned;

/// Work and cost of one run of a client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientRun {
    pub(crate) requests: u64,
    pub(crate) cost: Cost,
    /// Requests per second: over `wall_s`, or as the program reports them for its window.
    pub(crate) rps: f64,
}

/// Cost of a run of a program, start and end included.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// User and system time.
    pub(crate) cpu_s: f64,
    /// System time: the part of it in the kernel.
    pub(crate) kernel_s: f64,
    pub(crate) wall_s: f64,
    /// Peak resident memory; none if the kernel did not report it.
    pub(crate) resident_bytes: Option<u64>,
}

impl ClientRun {
    /// A run that ended with an error, without figures.
    pub(crate) const FAILED: ClientRun = ClientRun {
        requests: 1,
        cost: Cost { cpu_s: f64::NAN, kernel_s: f64::NAN, wall_s: f64::NAN, resident_bytes: None },
        rps: f64::NAN,
    };

    /// Makes the run of a program that completed `requests` requests.
    pub(crate) fn of(requests: u64, timed: &Timed) -> ClientRun {
        ClientRun { requests, cost: timed.cost, rps: requests as f64 / timed.cost.wall_s }
    }

    /// Formats the client's CPU time in percent of one CPU.
    pub(crate) fn cpu(&self) -> String {
        format!("{:.0} %", 100.0 * self.cost.cpu_s / self.cost.wall_s)
    }

    /// Returns the client's CPU time per request, in microseconds.
    pub(crate) fn cost_us(&self) -> f64 {
        self.cost.cpu_s * 1e6 / self.requests as f64
    }

    /// Returns the kernel's part of that, in microseconds.
    pub(crate) fn kernel_us(&self) -> f64 {
        self.cost.kernel_s * 1e6 / self.requests as f64
    }
}

/// Returns the number of requests that were sent and failed.
pub(crate) fn failures(document: &Document) -> u64 {
    let results = &document.results;
    results.outcomes.bad_response + results.outcomes.transport_error + results.outcomes.timed_out
}

/// Returns the largest resident memory of the client, in MiB.
pub(crate) fn resident_mib(document: &Document) -> f64 {
    mib(document.run.client.max_resident_bytes)
}

/// Returns a number of bytes in MiB.
pub(crate) fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// Reads the document that weir printed.
pub(crate) fn document(stdout: &str) -> Result<Document> {
    Document::from_json(stdout.as_bytes()).context("failed to read weir's document")
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
pub(crate) fn wrk(cpu: Option<u32>, options: &[&str], url: &str) -> Result<ClientRun> {
    let mut words = pinned(cpu, &need_program("wrk", "bench")?);
    words.extend(options.iter().chain([&url]).map(OsString::from));
    let timed = timed(&words, &[0])?;
    let requests = Peer::Wrk.read(&timed.stdout).requests;
    let requests = requests.context("failed to read what wrk printed")?;
    ensure!(!timed.stdout.contains("errors"), "wrk met errors:\n{}", timed.stdout);
    Ok(ClientRun::of(requests, &timed))
}

/// Bash reports user, system and real time of the command, from the kernel's accounting of the
/// child.
const TIMED: &str = r#"ulimit -n "$(ulimit -Hn)"; TIMEFORMAT='%3U %3S %3R'; time "$@""#;

/// Interval of memory readings. The kernel tracks the peak itself, so only growth after the last
/// reading is missed.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Output and cost of a run.
pub(crate) struct Timed {
    pub(crate) stdout: String,
    pub(crate) cost: Cost,
}

/// Runs this command line to its end; the exit code must be one of `good`.
pub(crate) fn timed(words: &[OsString], good: &[i32]) -> Result<Timed> {
    let bash = Command::new("bash")
        .args(["-c", TIMED, "timed"])
        .args(words)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("failed to start bash, which measures the CPU time of clients")?;
    let (output, resident_bytes) = watched(bash)?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    if !output.status.code().is_some_and(|code| good.contains(&code)) {
        // The last line is bash's.
        let reported = stderr.trim_end().rsplit_once('\n').map_or("", |(reported, _)| reported);
        bail!("`{}` ended with {}: {}", show(words), output.status, reported.trim());
    }
    let Some([user_s, kernel_s, wall_s]) = times_in(&stderr) else {
        bail!("failed to read bash's times in: {stderr}");
    };
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let cost = Cost { cpu_s: user_s + kernel_s, kernel_s, wall_s, resident_bytes };
    Ok(Timed { stdout, cost })
}

/// Formats words as a command line.
pub(crate) fn show(words: &[OsString]) -> impl fmt::Display {
    words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Reads the output of a shell and its child until both have ended, and polls the child's memory.
fn watched(bash: Child) -> Result<(Output, Option<u64>)> {
    let pid = bash.id();
    let (over, ended) = mpsc::channel::<()>();
    let watcher = thread::spawn(move || {
        let mut resident = None;
        while ended.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
            resident = resident.max(peak_of_child(pid));
        }
        resident
    });
    let output = bash.wait_with_output().context("failed to read a client")?;
    drop(over);
    let resident = watcher.join().expect("looking does not panic");
    Ok((output, resident))
}

/// Returns the peak resident memory of a shell's only child, in bytes.
fn peak_of_child(shell: u32) -> Option<u64> {
    let root = Root::machine();
    let children = root.text(&format!("proc/{shell}/task/{shell}/children")).ok()?;
    let child = children.split_whitespace().next()?;
    peak_memory_bytes(&root.text(&format!("proc/{child}/status")).ok()?)
}

/// Returns the last line's user, system and real time.
fn times_in(stderr: &str) -> Option<[f64; 3]> {
    let words = stderr.lines().last()?.split_whitespace().map(|word| word.parse().ok());
    words.collect::<Option<Vec<f64>>>()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_from_the_last_line() {
        assert_eq!(times_in("a note\n0.500 1.250 3.004\n"), Some([0.5, 1.25, 3.004]));
        assert_eq!(times_in("0.500 1.250\n"), None);
        assert_eq!(times_in(""), None);
    }

    #[test]
    fn bash_times_what_it_runs() {
        let timed = timed(&["true".into()], &[0]).expect("bash");
        assert!(timed.cost.cpu_s < 10.0 && timed.stdout.is_empty());
        assert!(super::timed(&["false".into()], &[0]).is_err());
        assert!(super::timed(&["false".into()], &[0, 1]).is_ok());
    }
}
