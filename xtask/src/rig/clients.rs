//! The load generators, each run once as a child of bash, which tells the CPU time of any of them
//! in the same way.

use std::ffi::OsString;
use std::fmt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::servers::pinned;

/// Bash reports user, system and real time of what it ran, from the kernel's account of the child.
const TIMED: &str = r#"TIMEFORMAT='%3U %3S %3R'; time "$@""#;

/// What a client did and what it cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) requests: u64,
    pub(crate) cpu_s: f64,
    pub(crate) wall_s: f64,
}

impl Run {
    /// CPU time of the client per request.
    pub(crate) fn cost_us(&self) -> f64 {
        self.cpu_s * 1e6 / self.requests as f64
    }

    pub(crate) fn requests_per_second(&self) -> f64 {
        self.requests as f64 / self.wall_s
    }
}

/// The document of a run of weir.
pub(crate) struct Document(Value);

impl Document {
    pub(crate) fn of(value: Value) -> Document {
        Document(value)
    }

    /// The number at a path such as `accounting/sent/total`.
    pub(crate) fn number(&self, path: &str) -> Result<f64> {
        let value = self.0.pointer(&format!("/{path}")).and_then(Value::as_f64);
        value.with_context(|| format!("weir's document has no number {path}"))
    }

    pub(crate) fn count(&self, path: &str) -> Result<u64> {
        let value = self.0.pointer(&format!("/{path}")).and_then(Value::as_u64);
        value.with_context(|| format!("weir's document has no count {path}"))
    }

    /// The text at a path.
    pub(crate) fn text(&self, path: &str) -> Result<&str> {
        let value = self.0.pointer(&format!("/{path}")).and_then(Value::as_str);
        value.with_context(|| format!("weir's document has no text {path}"))
    }

    /// The members of a list.
    pub(crate) fn list(&self, path: &str) -> Result<&[Value]> {
        let value = self.0.pointer(&format!("/{path}")).and_then(Value::as_array);
        value.map(Vec::as_slice).with_context(|| format!("weir's document has no list {path}"))
    }

    /// Requests that were sent and not answered well.
    pub(crate) fn failures(&self) -> Result<u64> {
        let classes = ["bad_response", "transport_error", "timed_out"];
        classes.iter().map(|class| self.count(&format!("accounting/{class}"))).sum()
    }
}

/// Runs weir with these options and reads its document.
pub(crate) fn weir(
    program: &Path,
    cpu: Option<u32>,
    options: &[&str],
    url: &str,
) -> Result<(Run, Document)> {
    let mut words = pinned(cpu, program);
    words.extend(options.iter().map(OsString::from));
    // A bench wants the client at its limit, and nobody beside it.
    words.extend(["--no-verdict", "--witness", "off"].map(OsString::from));
    words.extend(["--format", "json", url].map(OsString::from));
    let timed = timed(&words)?;
    let value = serde_json::from_str(&timed.stdout).context("failed to read weir's document")?;
    let document = Document::of(value);
    let requests = document.count("accounting/sent/total")?;
    ensure!(requests > 0, "weir sent nothing: {}", show(&words));
    Ok((Run { requests, cpu_s: timed.cpu_s, wall_s: timed.wall_s }, document))
}

/// Runs wrk with these options.
pub(crate) fn wrk(program: &Path, cpu: Option<u32>, options: &[&str], url: &str) -> Result<Run> {
    let mut words = pinned(cpu, program);
    words.extend(options.iter().chain([&url]).map(OsString::from));
    let timed = timed(&words)?;
    let requests = wrk_requests(&timed.stdout).context("failed to read what wrk printed")?;
    ensure!(!timed.stdout.contains("errors"), "wrk met errors:\n{}", timed.stdout);
    Ok(Run { requests, cpu_s: timed.cpu_s, wall_s: timed.wall_s })
}

struct Timed {
    stdout: String,
    cpu_s: f64,
    wall_s: f64,
}

fn timed(words: &[OsString]) -> Result<Timed> {
    let output = Command::new("bash")
        .args(["-c", TIMED, "timed"])
        .args(words)
        .env("LC_ALL", "C")
        .output()
        .context("failed to start bash, which measures the CPU time of clients")?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        // The last line is bash's.
        let told = stderr.trim_end().rsplit_once('\n').map_or("", |(told, _)| told);
        bail!("`{}` ended with {}: {}", show(words), output.status, told.trim());
    }
    let Some((cpu_s, wall_s)) = times_in(&stderr) else {
        bail!("failed to read bash's times in: {stderr}");
    };
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(Timed { stdout, cpu_s, wall_s })
}

/// The last line's user and system time together, and real time.
fn times_in(stderr: &str) -> Option<(f64, f64)> {
    let words = stderr.lines().last()?.split_whitespace().map(|word| word.parse().ok());
    let [user, system, real] = words.collect::<Option<Vec<f64>>>()?[..] else { return None };
    Some((user + system, real))
}

/// The number in `  98765 requests in 3.00s, 1.00MB read`.
fn wrk_requests(stdout: &str) -> Option<u64> {
    let (before, _) = stdout.split_once(" requests in ")?;
    before.split_whitespace().last()?.parse().ok()
}

fn show(words: &[OsString]) -> impl fmt::Display {
    words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_from_the_last_line() {
        assert_eq!(times_in("a note\n0.500 1.250 3.004\n"), Some((1.75, 3.004)));
        assert_eq!(times_in("0.500 1.250\n"), None);
        assert_eq!(times_in(""), None);
    }

    #[test]
    fn the_requests_of_wrk_are_read() {
        let printed = "  Latency 1ms\n  98765 requests in 3.00s, 1.00MB read\nRequests/sec: 1";
        assert_eq!(wrk_requests(printed), Some(98_765));
        assert_eq!(wrk_requests("unable to connect"), None);
    }

    #[test]
    fn documents_tell_what_they_lack() {
        let document = Document::of(serde_json::json!({"a": {"b": 3, "c": [1.5]}}));
        assert_eq!(document.count("a/b").expect("it is there"), 3);
        assert_eq!(document.number("a/c/0").expect("it is there"), 1.5);
        assert!(document.count("a/d").expect_err("it is not").to_string().contains("a/d"));
    }

    #[test]
    fn bash_times_what_it_runs() {
        let timed = timed(&["true".into()]).expect("bash");
        assert!(timed.cpu_s < 10.0 && timed.stdout.is_empty());
        assert!(super::timed(&["false".into()]).is_err());
    }
}
