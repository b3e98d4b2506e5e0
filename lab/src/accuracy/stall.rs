//! V5, V7, V11: a server that stalls under a load that follows a plan. The quantiles of the
//! response time are a straight line, known in advance.

use std::ffi::OsString;
use std::time::Duration;
use std::{fs, thread};

use anyhow::{Context, Result, ensure};
use xtask::shell::need_program;

use super::curve::{self, Curve};
use super::distribution::{self, Distribution};
use super::plan::UniformPlan;
use super::rows;
use super::theory::Stall;
use crate::rig::{
    CaseTransport, Fixture, Peer, Section, Table, freeze, pinned, seconds, thousands, timed,
};

/// Returns the rate and the connections of the load over this protocol.
fn load(over: CaseTransport) -> (f64, u32) {
    match over {
        CaseTransport::Http1 | CaseTransport::Tls => (2_000.0, 100),
        CaseTransport::Http2 { .. } => (5_000.0, 4),
    }
}

const WARMUP_S: f64 = 1.0;

/// Largest difference of a quantile from the server's log, as a share of the stall.
const LOG_TOLERANCE: f64 = 0.01;

/// Largest difference of a quantile from the formula, as a share of the stall. The formula
/// simplifies the draining of the backlog.
const THEORY_TOLERANCE: f64 = 0.03;

/// Excess over the base latency above which a request has met the stall or its backlog.
const DELAYED_S: f64 = 0.005;

/// Cause of the stall, and the service of its backlog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// The server stalls by itself, and then serves as fast as it can.
    Flag,
    /// The server stalls by itself, and then serves requests one after the other, each in the base
    /// latency.
    Queue,
    /// The server gets SIGSTOP and SIGCONT.
    Signals,
}

/// Runs case V5 of METHOD 2.1.
pub(super) fn open_loop(fixture: &Fixture) -> Result<Section> {
    let window_s = fixture.span(20.0, 6.0);
    let stall_s = fixture.span(1.4, 0.5);
    let (rate_rps, _) = load(fixture.over);
    let mut section = Section::new(
        "a stall in an open loop",
        "The server stalls under a constant rate. Is the whole wait of those who arrive \
         meanwhile reported, without coordinated omission?",
        format!(
            "Q(p) = b + S − (1 − p)·D·(1 − ρ) for the slowest S/(D(1 − ρ)) of the requests, else \
             the base latency b (METHOD 2.2); D = {window_s} s, S = {stall_s} s, \
             {rate_rps} requests/s. {}",
            tolerances()
        ),
    );
    let stall = Stall::of(stall_s, window_s);
    let at_s = window_s * 0.3;
    let above = "The server stands still; the backlog drains as fast as it can";
    let first_s = trial(fixture, &mut section, above, stall, at_s, How::Flag)?;
    // Half of the time between two requests.
    let base_s = 0.5 / rate_rps;
    let above = format!("The same, then served one by one in {:.0} µs each", base_s * 1e6);
    let half = Stall { load: 0.5, base_s, ..stall };
    let second_s = trial(fixture, &mut section, &above, half, at_s, How::Queue)?;
    let above = "`kill -STOP` of the server";
    let third_s = trial(fixture, &mut section, above, stall, at_s, How::Signals)?;
    curve::verdict(&mut section, first_s.max(second_s).max(third_s), LOG_TOLERANCE * stall_s);
    if let CaseTransport::Http2 { streams } = fixture.over {
        beside_h2load(fixture, &mut section, stall, at_s, streams)?;
    }
    Ok(section)
}

/// Runs case V7 of METHOD 2.1.
pub(super) fn half_the_time(fixture: &Fixture) -> Result<Section> {
    let window_s = fixture.span(10.0, 4.0);
    let stall_s = window_s / 2.0;
    let mut section = Section::new(
        "the ^Z rule",
        "The server stands still for half of the test (Gil Tene's ^Z test). Does a tenth of \
         the requests wait for 80% of the stall or more?",
        format!(
            "max = S, p90 = 0.8·S, p75 = 0.5·S, p45 ≈ the base latency; S = {stall_s} s in \
             D = {window_s} s. {}",
            tolerances()
        ),
    );
    let stall = Stall::of(stall_s, window_s);
    let above = "The server stands still for half of the window";
    let off_s = trial(fixture, &mut section, above, stall, window_s * 0.1, How::Flag)?;
    curve::verdict(&mut section, off_s, LOG_TOLERANCE * stall_s);
    Ok(section)
}

/// Runs case V11 of METHOD 2.1.
pub(super) fn at_the_end(fixture: &Fixture) -> Result<Section> {
    let window_s = fixture.span(10.0, 4.0);
    let stall_s = fixture.span(2.0, 1.0);
    let mut section = Section::new(
        "a stall across the end",
        "The server stands still when the test ends. Do the requests in flight, and those \
         due, count?",
        format!(
            "Of the requests planned inside the window, S/2D meet the stall, and all of them wait \
             for more than S/2: Q(p) = S − (1 − p)·D beyond p = 1 − S/2D; S = {stall_s} s in \
             D = {window_s} s. {}",
            tolerances()
        ),
    );
    let stall = Stall::of(stall_s, window_s);
    let above = "The server stands still from S/2 before the end to S/2 after it";
    let at_s = window_s - stall_s / 2.0;
    let off_s = trial(fixture, &mut section, above, stall, at_s, How::Flag)?;
    curve::verdict(&mut section, off_s, LOG_TOLERANCE * stall_s);
    Ok(section)
}

fn tolerances() -> String {
    format!(
        "Within {}% of S of theory, and within {}% of S of what the server's own log says of when \
         each answer left, counted from the plan.",
        THEORY_TOLERANCE * 100.0,
        LOG_TOLERANCE * 100.0
    )
}

/// Measures one stall, `at_s` seconds after the window's begin, and adds its table. Returns
/// the greatest difference of weir from the log, in seconds.
fn trial(
    fixture: &Fixture,
    section: &mut Section,
    above: &str,
    mut stall: Stall,
    at_s: f64,
    how: How,
) -> Result<f64> {
    let crosses_end = at_s + stall.stall_s > stall.window_s;
    let at_s = WARMUP_S + at_s;
    let flags = match how {
        How::Flag => format!("--stall {at_s}s+{}s", stall.stall_s),
        How::Queue => {
            let stall_s = stall.stall_s;
            let base_us = stall.base_s * 1e6;
            format!("--stall {at_s}s+{stall_s}s --mode fifo --delay {base_us:.0}us")
        }
        How::Signals => String::new(),
    };
    let server = fixture.serve(&flags)?;
    let (rate_rps, connections) = load(fixture.over);
    let window_s = stall.window_s;
    let path = fixture.directory.join("rows.parquet");
    let load = format!(
        "-t1 -c{connections} -R{rate_rps} -d{window_s}s --warmup {WARMUP_S}s --raw {}",
        path.display()
    );
    let client = fixture.start_weir(&load, &server.url)?;
    if how == How::Signals {
        thread::sleep(Duration::from_secs_f64(at_s));
        let (least_s, most_s) = freeze(server.pid(), Duration::from_secs_f64(stall.stall_s))?;
        section.note(format!("{above}: stopped for {least_s:.4} s to {most_s:.4} s."));
        stall.stall_s = f64::midpoint(least_s, most_s);
    }
    let reported = Distribution::responses(&client.finish()?)?;
    let plan = UniformPlan { rate_rps, warmup_s: WARMUP_S, duration_s: stall.window_s };
    let truth_ns = plan.responses_ns(&rows::read(&path)?.list, &server.finish()?)?;
    let mut truth_s: Vec<f64> = truth_ns.iter().map(|ns| ns / 1e9).collect();
    if how != How::Queue && !crosses_end {
        // The backlog's drain rate depends on the machine; the number of delayed requests shows it.
        let delayed = longest_run(&truth_s, stall.base_s + DELAYED_S).max(1);
        stall.load = (1.0 - stall.stall_s * rate_rps / delayed as f64).max(0.0);
    }
    truth_s.sort_by(f64::total_cmp);
    let curve = Curve {
        above: format!("{above} (ρ = {:.3})", stall.load),
        truth_s: &truth_s,
        reported: &reported,
        log_tolerance_s: LOG_TOLERANCE * stall.stall_s,
        theory_tolerance_s: THEORY_TOLERANCE * stall.stall_s,
    };
    let quantiles = quantiles(stall, crosses_end);
    Ok(if crosses_end {
        curve.add_to(section, &quantiles, |p| stall.end_quantile_s(p), None)
    } else {
        curve.add_to(section, &quantiles, |p| stall.quantile_s(p), Some(stall.mean_s()))
    })
}

/// Adds what h2load reports of the same load on the same stall. Nothing is required of it.
fn beside_h2load(
    fixture: &Fixture,
    section: &mut Section,
    stall: Stall,
    at_s: f64,
    streams: u32,
) -> Result<()> {
    if Peer::H2load.find().is_none() {
        section.note("h2load is not on PATH: it is not compared.");
        return Ok(());
    }
    let (rate_rps, connections) = load(fixture.over);
    let server = fixture.serve(&format!("--stall {at_s}s+{}s", stall.stall_s))?;
    // It expects a rate for each connection.
    let share = rate_rps / f64::from(connections);
    let load = format!("-t1 -c{connections} -m{streams} -D{} --rps {share}", stall.window_s);
    let times_s = h2load_times_s(fixture, &load, &server.url)?;
    let mut table = Table::default();
    for p in quantiles(stall, false).into_iter().chain([1.0]) {
        let found_s = distribution::quantile(&times_s, p);
        table.add(&[
            ("", &curve::name(p)),
            ("theory", &seconds(stall.quantile_s(p))),
            ("h2load", &seconds(found_s)),
        ]);
    }
    let above = format!(
        "h2load at the same rate, by the times in its own log, of {} requests. It counts from the \
         send, and sends nothing while all streams wait:",
        thousands(times_s.len() as u64)
    );
    section.table(&above, table);
    Ok(())
}

/// Returns one quantile without delay, then four along the line.
fn quantiles(stall: Stall, crosses_end: bool) -> [f64; 5] {
    let share =
        if crosses_end { stall.stall_s / stall.window_s / 2.0 } else { stall.delayed_share() };
    // Rounded to the precision of the table.
    [1.1, 0.8, 0.5, 0.2, 0.02].map(|part| ((1.0 - part * share) * 1e4).round() / 1e4)
}

/// Returns the length of the longest run of times, in the order of slots, without one below the
/// limit. Those requests met the stall, if all others are shorter.
fn longest_run(times_s: &[f64], limit_s: f64) -> usize {
    times_s.split(|s| *s < limit_s).map(<[f64]>::len).max().unwrap_or(0)
}

/// Runs a load with these flags, and returns the times of its requests in seconds, sorted.
fn h2load_times_s(fixture: &Fixture, flags: &str, url: &str) -> Result<Vec<f64>> {
    let log = fixture.directory.join("h2load.tsv");
    // It appends to a log that is there.
    fs::remove_file(&log).ok();
    eprintln!("accuracy: h2load {flags}");
    let mut words = pinned(fixture.placement.client, &need_program("h2load", "accuracy")?);
    words.extend(flags.split_whitespace().map(OsString::from));
    words.extend([format!("--log-file={}", log.display()), url.to_owned()].map(OsString::from));
    timed(&words, &[0])?;
    let text = fs::read_to_string(&log).context("h2load has written no log")?;
    let mut times: Vec<f64> = text.lines().filter_map(h2load_time_s).collect();
    ensure!(!times.is_empty(), "h2load's log has no request");
    times.sort_by(f64::total_cmp);
    Ok(times)
}

/// Reads a line of the log: the start, the status, and the microseconds until the response's end.
fn h2load_time_s(line: &str) -> Option<f64> {
    let us: f64 = line.split('\t').nth(2)?.trim().parse().ok()?;
    Some(us / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_found() {
        assert_eq!(longest_run(&[0.0, 2.0, 0.0, 2.0, 2.0, 2.0, 0.0], 1.0), 3);
        assert_eq!(longest_run(&[0.0], 1.0), 0);
        assert_eq!(longest_run(&[2.0], 1.0), 1);
    }

    #[test]
    fn lines_of_the_log_are_read() {
        assert_eq!(h2load_time_s("1700000000000000\t200\t1500"), Some(0.0015));
        assert_eq!(h2load_time_s(""), None);
    }
}
