//! Send lag at a constant rate on an otherwise idle machine: weir's pacing methods, and wrk2.

use anyhow::{Context, Result, ensure};
use weir_result::document::Metric;

use crate::rig::{ClientRun, Fixture, Peer, Section, Server, pinned, table, timed};

const PACINGS: [&str; 3] = ["sleep", "hybrid", "spin"];

/// Flags of the load, common to all programs.
const LOAD: &str = "-t1 -c20 -R10k";

/// wrk2 discards the measurements of its first 10 s.
const CALIBRATION_S: u32 = 10;

const QUESTION: &str =
    "How late are requests at a constant rate of 10,000/s, and what does that cost?";

pub(super) fn pacing(fixture: &Fixture) -> Result<Section> {
    let server = fixture.weir_serve()?;
    let seconds = fixture.span(5, 2);
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
    for engine in fixture.engines()? {
        for pacing in PACINGS {
            let flags = format!("--pacing {pacing} {}", engine.join(" "));
            let load = format!("{LOAD} -d{seconds}s --warmup 1s {flags}");
            let (run, document) = fixture.timed_weir(&load, &server.url)?;
            let send_lag = &document.latency.send_lag;
            let response_time = &document.results.response_time;
            let max_ns = send_lag.ok.max_ns.context("no request has a send lag")?;
            section.row(&[
                ("client", &format!("weir {flags}")),
                ("send lag p50 µs", &percentile(send_lag, 50.0)),
                ("p99 µs", &percentile(send_lag, 99.0)),
                ("max µs", &table::micros(max_ns as f64)),
                ("response p50 µs", &percentile(response_time, 50.0)),
                ("p99 µs", &percentile(response_time, 99.0)),
                ("client CPU", &run.cpu()),
            ]);
        }
    }
    if !add_wrk2(fixture, &server, seconds, &mut section)? {
        section.note("wrk2 is not on PATH.");
    }
    section.verdict("Wanted of hybrid pacing: p50 ≤ 1 µs, p99 ≤ 100 µs, CPU ≤ 20%. Send lag:");
    section.show_columns(&["client", "send lag p50 µs", "p99 µs", "client CPU"]);
    Ok(section)
}

/// Returns a percentile in microseconds, or a dash if the run is too disturbed to support it.
fn percentile(time: &Metric, p: f64) -> String {
    let value = time.ok.percentile(p);
    value.map_or_else(|| "—".to_owned(), |value| table::micros(value.ns as f64))
}

/// Adds wrk2, if it is installed.
fn add_wrk2(
    fixture: &Fixture,
    server: &Server,
    seconds: u32,
    section: &mut Section,
) -> Result<bool> {
    let Some(program) = Peer::Wrk2.find() else { return Ok(false) };
    let mut words = pinned(fixture.placement.client, &program);
    let flags = format!("{LOAD} -d{}s --latency {}", CALIBRATION_S + seconds, server.url);
    words.extend(flags.split(' ').map(Into::into));
    eprintln!("bench: pacing, wrk2");
    let timed = timed(&words, &[0])?;
    ensure!(!timed.stdout.contains("errors:"), "wrk2 met errors:\n{}", timed.stdout);
    let printed = Peer::Wrk2.read(&timed.stdout);
    let (p50, p99) = printed.p50.zip(printed.p99).context("wrk2 printed no p50 and p99")?;
    let p50 = table::micros(p50.ns);
    let p99 = table::micros(p99.ns);
    section.row(&[
        ("client", &"wrk2"),
        ("send lag p50 µs", &"—"),
        ("p99 µs", &"—"),
        ("max µs", &"—"),
        ("response p50 µs", &p50),
        ("p99 µs", &p99),
        ("client CPU", &ClientRun::of(1, &timed).cpu()),
    ]);
    Ok(true)
}
