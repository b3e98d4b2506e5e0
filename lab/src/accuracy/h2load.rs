//! h2load at a constant rate over HTTP/2, and the times of its requests from its own log.

use std::ffi::OsString;
use std::fs;

use anyhow::{Context, Result, ensure};
use xtask::shell::need_program;

use crate::rig::{Fixture, pinned, timed};

/// Runs a load with these flags, and returns the times of its requests in seconds, sorted.
pub(super) fn times_s(fixture: &Fixture, flags: &str, url: &str) -> Result<Vec<f64>> {
    let log = fixture.directory.join("h2load.tsv");
    // It appends to a log that is there.
    fs::remove_file(&log).ok();
    eprintln!("accuracy: h2load {flags}");
    let mut words = pinned(fixture.placement.client, &need_program("h2load", "accuracy")?);
    words.extend(flags.split_whitespace().map(OsString::from));
    words.extend([format!("--log-file={}", log.display()), url.to_owned()].map(OsString::from));
    timed(&words, &[0])?;
    let text = fs::read_to_string(&log).context("h2load has written no log")?;
    let mut times: Vec<f64> = text.lines().filter_map(time_s).collect();
    ensure!(!times.is_empty(), "h2load's log has no request");
    times.sort_by(f64::total_cmp);
    Ok(times)
}

/// Reads a line of the log: the start, the status, and the microseconds until the response's end.
fn time_s(line: &str) -> Option<f64> {
    let us: f64 = line.split('\t').nth(2)?.trim().parse().ok()?;
    Some(us / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_log_are_read() {
        assert_eq!(time_s("1700000000000000\t200\t1500"), Some(0.0015));
        assert_eq!(time_s(""), None);
    }
}
