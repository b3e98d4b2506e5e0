//! V35: a ramp of the rate beside the server's log. V36: connections that come and leave, beside
//! the number that nginx has open.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, anyhow};

use super::distribution::quantile;
use super::rows;
use crate::rig::{Fixture, Section, Server, thousands};

/// Rate at the end of the ramp of V35, in requests per second.
const RAMP_RPS: f64 = 5_000.0;

/// Stages of V36: length as a share of all, and the numbers of connections at begin and end.
const STAGES: [(f64, u32, u32); 4] = [(0.4, 5, 100), (0.1, 100, 100), (0.2, 20, 60), (0.3, 60, 0)];

/// Greatest distance of the open connections from the plan at each second.
const DISTANCE_MAX: f64 = 2.0;

/// Time between two readings of nginx's status.
const POLL: Duration = Duration::from_millis(50);

/// Time in which connections that the plan changes at once have opened or closed, in seconds.
const SETTLING_S: f64 = 0.2;

/// Runs case V35 of METHOD 2.1.
pub(super) fn ramp(fixture: &Fixture) -> Result<Section> {
    let length_s = fixture.span(10.0, 2.0);
    let mut section = Section::new(
        "a ramp beside the server's log",
        "Are as many requests at the server at each time as the ramp says?",
        format!(
            "A ramp from 0 to 5,000/s in {length_s} s. No request is at the server before its \
             time: the log is never more than one slot ahead of the curve. 99% of the requests are \
             at most one slot behind it."
        ),
    );
    let mut behind_most = 0.0_f64;
    for threads in [1, 2] {
        let flags = format!("-t{threads} -c50 --stages {length_s}s@0..5k --drain 1s");
        let (_, rows, log) = rows::run(fixture, "", &flags)?;
        let mut received: Vec<u64> = log.iter().map(|record| record.received_ns).collect();
        received.sort_unstable();
        let length_ns = length_s * 1e9;
        // Slots behind the window are sent at the last rate.
        let due = (RAMP_RPS * length_s / 2.0) as usize;
        let curve = |at_ns: u64| {
            let share = (at_ns as f64 - rows.t0_at as f64) / length_ns;
            RAMP_RPS * length_s / 2.0 * share.max(0.0).powi(2)
        };
        let behind = (0..due).zip(&received);
        let mut behind: Vec<f64> =
            behind.map(|(index, at_ns)| curve(*at_ns) - (index as f64 + 0.5)).collect();
        behind.sort_unstable_by(f64::total_cmp);
        let ahead = -behind.first().context("the server has received nothing")?;
        let [p50, p99, most] = [0.5, 0.99, 1.0].map(|p| quantile(&behind, p));
        behind_most = behind_most.max(p99);
        section.row(&[
            ("workers", &threads),
            ("requests of the ramp", &thousands(due as u64)),
            ("ahead at most, in slots", &format!("{ahead:.2}")),
            ("behind, p50", &format!("{p50:.2}")),
            ("p99", &format!("{p99:.2}")),
            ("max", &format!("{most:.1}")),
        ]);
        section.must(received.len() >= due, || {
            format!("of {due} requests {} reached the server", received.len())
        });
        section.must(ahead <= 1.0, || format!("{threads} workers: {ahead:.2} slots ahead"));
        section.must_if_quiet(p99 <= 1.0, || format!("{threads} workers: {p99:.2} slots behind"));
    }
    section.verdict(format!("99% of the requests are at most {behind_most:.2} slots behind."));
    Ok(section)
}

/// Runs case V36 of METHOD 2.1.
pub(super) fn connections(fixture: &Fixture) -> Result<Section> {
    let length_s = fixture.span(40.0, 10.0);
    let mut section = Section::new(
        "connections that come and leave",
        "Does nginx have as many connections open at each second as planned?",
        format!(
            "At each second of stages of {length_s} s in all the number that `stub_status` \
             reports, without its own connection, is within {DISTANCE_MAX} of the plan."
        ),
    );
    let stage = |(share, from, to)| format!("{}s@c={from}..{to}", share * length_s);
    let stages = STAGES.map(stage).join(",");
    let server = fixture.nginx()?;
    let (document, readings) =
        poll(fixture, &server, &format!("-t2 --warmup 2s --stages {stages}"))?;
    let phases = document.phases.first().context("the document has no worker")?;
    let t0_ns = document.run.epoch_unix_ns + phases.t0_ns;
    let mut worst = 0.0_f64;
    for second in 0..length_s as u32 {
        let middle = f64::from(second) + 0.5;
        let at = |reading: &Reading| (reading.unix_ns as f64 - t0_ns as f64) / 1e9;
        let near = readings.iter().filter(|reading| is_settled(at(reading) / length_s, length_s));
        let near = near.min_by(|a, b| (at(a) - middle).abs().total_cmp(&(at(b) - middle).abs()));
        let reading = near.context("nginx's status was not read")?;
        let planned = planned(at(reading) / length_s);
        let distance = (f64::from(reading.open) - planned).abs();
        worst = worst.max(distance);
        section.row(&[
            ("time", &format!("{:.2} s", at(reading))),
            ("planned", &format!("{planned:.1}")),
            ("open at nginx", &reading.open),
        ]);
    }
    section.must_if_quiet(worst <= DISTANCE_MAX, || format!("{worst:.1} from the plan"));
    section.verdict(format!("The greatest distance from the plan is {worst:.1} connections."));
    Ok(section)
}

/// Returns the planned number of connections at a share of the stages.
fn planned(mut share: f64) -> f64 {
    for (length, from, to) in STAGES {
        if share < length {
            return f64::from(from) + (f64::from(to) - f64::from(from)) * share / length;
        }
        share -= length;
    }
    0.0
}

/// True if the plan has not changed at once shortly before this share of the stages.
fn is_settled(share: f64, length_s: f64) -> bool {
    let mut border = 0.0;
    STAGES.iter().all(|(length, ..)| {
        let since_s = (share - border) * length_s;
        border += length;
        !(0.0..SETTLING_S).contains(&since_s)
    })
}

/// A reading of nginx's status.
struct Reading {
    unix_ns: u64,
    /// Open connections, without that of the reading itself.
    open: u32,
}

/// Runs weir with these flags, and reads nginx's status meanwhile.
fn poll(
    fixture: &Fixture,
    server: &Server,
    flags: &str,
) -> Result<(weir_result::Document, Vec<Reading>)> {
    let running = fixture.start_weir(flags, &server.url)?;
    let has_ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let reader = scope.spawn(|| -> Result<Vec<Reading>> {
            let mut readings = Vec::new();
            while !has_ended.load(Ordering::Relaxed) {
                let open = server.open_connections()?.saturating_sub(1);
                let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
                readings.push(Reading { unix_ns: now.as_nanos() as u64, open });
                thread::sleep(POLL);
            }
            Ok(readings)
        });
        let document = running.finish();
        has_ended.store(true, Ordering::Relaxed);
        let readings = reader.join().map_err(|_panic| anyhow!("the reader has ended"))??;
        Ok((document?, readings))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_has_its_numbers_and_its_borders() {
        let check = |share, expected: f64| assert!((planned(share) - expected).abs() < 1e-9);
        for (share, expected) in [(0.0, 5.0), (0.2, 52.5), (0.45, 100.0), (0.6, 40.0)] {
            check(share, expected);
        }
        assert!(!is_settled(0.501, 40.0));
        assert!(is_settled(0.51, 40.0) && is_settled(0.499, 40.0));
    }
}
