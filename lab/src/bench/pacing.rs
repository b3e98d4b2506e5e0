//! Send lag at a constant rate on an otherwise idle machine: weir's pacing methods, and wrk2.

use anyhow::{Context, Result, ensure};
use weir_result::document::{Latency, Metric};
use xtask::shell::find_program;

use super::Fixture;
use crate::rig::clients;
use crate::rig::section::Section;
use crate::rig::servers::{Server, pinned};
use crate::rig::table::{self, Table};
use crate::rig::timed::timed;

const PACINGS: [&str; 3] = ["sleep", "hybrid", "spin"];

/// Flags of the load, common to all programs.
const LOAD: [&str; 3] = ["-t1", "-c20", "-R10k"];

/// wrk2 discards the measurements of its first 10 s.
const CALIBRATION_S: u32 = 10;

const HEADS: [&str; 7] =
    ["client", "send lag p50 µs", "p99 µs", "max µs", "response p50 µs", "p99 µs", "client CPU"];

const QUESTION: &str =
    "How late are requests at a constant rate of 10,000/s, and what does that cost?";

pub(super) fn pacing(fixture: &Fixture) -> Result<Section> {
    let server = fixture.weir_serve()?;
    let seconds = fixture.options.span(5, 2);
    let mut table = Table::new(&HEADS);
    for engine in &fixture.engines {
        for pacing in PACINGS {
            let flags = [&["--pacing", pacing], *engine].concat();
            eprintln!("bench: pacing, {}", flags.join(" "));
            let duration = format!("-d{seconds}s");
            let options = [&LOAD[..], &[&duration, "--warmup", "1s"], &flags].concat();
            let cpu = fixture.placement.client;
            let (run, document) = clients::weir(&fixture.weir, cpu, &options, &server.url)?;
            let Latency { send_lag, response_time, .. } = &document.latency;
            let max_ns = send_lag.ok.max_ns.context("no request has a send lag")?;
            table.row(&[
                format!("weir {}", flags.join(" ")),
                percentile(send_lag, 50.0),
                percentile(send_lag, 99.0),
                table::micros(max_ns as f64),
                percentile(response_time, 50.0),
                percentile(response_time, 99.0),
                format!("{:.0} %", 100.0 * run.cpu_s / run.wall_s),
            ]);
        }
    }
    let has_wrk2 = add_wrk2(fixture, &server, seconds, &mut table)?;
    let method = format!(
        "10,000/s over 20 connections of one worker, against `weir serve`, {seconds} s after 1 s \
         of warm-up (wrk2: after its 10 s of calibration). A percentile that a run does not carry \
         is a dash. Send lag is from when a request was due \
         to when it was sent, which wrk2 does not tell; the response time, from when it was due to \
         its answer, contains it. A sleeping client also waits for other threads on its CPU. \
         Wanted of hybrid pacing: p50 at most 1 µs, p99 at most 100 µs, at most 20 % of a \
         CPU."
    );
    let mut section = Section::new("punctuality at a constant rate", QUESTION, method).reported();
    if !has_wrk2 {
        section.note("wrk2 is not on PATH.");
    }
    section.verdict("Wanted of hybrid pacing: p50 ≤ 1 µs, p99 ≤ 100 µs, CPU ≤ 20%. Send lag:");
    section.show(table.select(&["client", "send lag p50 µs", "p99 µs", "client CPU"]));
    section.table("", table);
    Ok(section)
}

/// Returns a percentile in microseconds, or a dash if the run is too disturbed to support it.
fn percentile(time: &Metric, p: f64) -> String {
    let value = time.ok.percentile(p);
    value.map_or_else(|| "—".to_owned(), |value| table::micros(value.ns as f64))
}

/// Adds wrk2, if it is installed.
fn add_wrk2(fixture: &Fixture, server: &Server, seconds: u32, table: &mut Table) -> Result<bool> {
    let Some(program) = find_program("wrk2") else { return Ok(false) };
    let mut words = pinned(fixture.placement.client, &program);
    let duration = format!("-d{}s", CALIBRATION_S + seconds);
    let told = LOAD.into_iter().chain([duration.as_str(), "--latency", &server.url]);
    words.extend(told.map(Into::into));
    eprintln!("bench: pacing, wrk2");
    let timed = timed(&words, &[0])?;
    ensure!(!timed.stdout.contains("errors:"), "wrk2 met errors:\n{}", timed.stdout);
    let response_us =
        |name| printed_us(&timed.stdout, name).with_context(|| format!("wrk2 printed no {name}"));
    let dash = || "—".to_owned();
    table.row(&[
        "wrk2".to_owned(),
        dash(),
        dash(),
        dash(),
        table::micros(response_us("50.000%")? * 1e3),
        table::micros(response_us("99.000%")? * 1e3),
        format!("{:.0} %", 100.0 * timed.cpu_s / timed.wall_s),
    ]);
    Ok(true)
}

/// Returns the time in a line such as ` 50.000%    1.06ms`, in microseconds.
fn printed_us(printed: &str, name: &str) -> Option<f64> {
    let time = printed.lines().find_map(|line| line.trim().strip_prefix(name))?.trim();
    let (number, unit) = time.split_at(time.find(|c: char| c.is_ascii_alphabetic())?);
    let us = [("us", 1.0), ("ms", 1e3), ("s", 1e6)].into_iter().find(|(name, _)| *name == unit)?.1;
    Some(number.parse::<f64>().ok()? * us)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_wrk2_are_read() {
        let printed = "  Latency Distribution (HdrHistogram - Recorded Latency)\n 50.000%    \
                       1.06ms\n 99.000%  950.00us\n";
        assert_eq!(printed_us(printed, "50.000%"), Some(1_060.0));
        assert_eq!(printed_us(printed, "99.000%"), Some(950.0));
        assert_eq!(printed_us(printed, "90.000%"), None);
    }
}
