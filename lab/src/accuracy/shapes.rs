//! V35: a ramp of the rate beside the server's log. V36: connections that come and leave, beside
//! the number that nginx has open.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

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
    let ramp = Ramp { length_s: fixture.span(10.0, 2.0) };
    let Ramp { length_s } = ramp;
    let mut section = Section::new(
        "a ramp beside the server's log",
        "Are as many requests at the server at each time as the ramp says?",
        format!(
            "A ramp from 0 to 5,000/s in {length_s} s. No request is at the server before its \
             time: the log is never more than one slot ahead of the curve. 99% of the requests are \
             at most one slot behind it. For comparison, without load: threads that do nothing but \
             sleep until each slot's time, one for each CPU. No request is further behind than \
             twice the latest of these."
        ),
    );
    let mut stops = ramp.stops()?;
    let stop = stops.add_row("sleeping threads", &mut section);
    let mut behind_most = 0.0_f64;
    for threads in [1, 2] {
        let flags = format!("-t{threads} -c50 --stages {length_s}s@0..5k --drain 1s");
        let (_, rows, log) = rows::run(fixture, "", &flags)?;
        let mut received: Vec<u64> = log.iter().map(|record| record.received_ns).collect();
        received.sort_unstable();
        section.must(received.len() >= ramp.slots(), || {
            format!("of {} requests {} reached the server", ramp.slots(), received.len())
        });
        // Slots behind the window are sent at the last rate.
        let after_s = received.iter().take(ramp.slots());
        let after_s = after_s.map(|at_ns| (*at_ns as f64 - rows.t0_at as f64) / 1e9);
        let mut distances = Distances::of(&ramp, after_s);
        let behind = distances.add_row(&format!("{threads} workers"), &mut section);
        behind_most = behind_most.max(behind.p99);
        let ahead = behind.ahead;
        section.must(ahead <= 1.0, || format!("{threads} workers: {ahead:.2} slots ahead"));
        let is_near = behind.p99 <= 1.0 && behind.most <= 1.0_f64.max(2.0 * stop.most);
        let Behind { p99, most, .. } = behind;
        section.must_if_quiet(is_near, || {
            format!("{threads} workers: {p99:.2} slots behind, {most:.1} at most")
        });
    }
    section.verdict(format!(
        "99% of the requests are at most {behind_most:.2} slots behind. This machine's stops delay \
         a sleeping thread by up to {:.1} slots.",
        stop.most
    ));
    Ok(section)
}

/// A ramp of the rate from 0 to [`RAMP_RPS`].
#[derive(Clone, Copy)]
struct Ramp {
    length_s: f64,
}

impl Ramp {
    fn slots(&self) -> usize {
        (RAMP_RPS * self.length_s / 2.0) as usize
    }

    /// Returns the number of slots that are due until this time.
    fn due(&self, after_s: f64) -> f64 {
        RAMP_RPS * self.length_s / 2.0 * (after_s / self.length_s).max(0.0).powi(2)
    }

    /// Returns when a slot is due, in seconds after the begin.
    fn time_s(&self, slot: usize) -> f64 {
        self.length_s * ((slot as f64 + 0.5) / (RAMP_RPS * self.length_s / 2.0)).sqrt()
    }

    /// Sleeps until each slot's time in as many threads as there are CPUs. Returns how late they
    /// woke.
    fn stops(self) -> Result<Distances> {
        let sleepers: Vec<_> = (0..thread::available_parallelism()?.get())
            .map(|_| {
                thread::spawn(move || {
                    let begin = Instant::now();
                    let wake = |slot| {
                        let due = Duration::from_secs_f64(self.time_s(slot));
                        thread::sleep(due.saturating_sub(begin.elapsed()));
                        begin.elapsed().as_secs_f64()
                    };
                    Distances::of(&self, (0..self.slots()).map(wake))
                })
            })
            .collect();
        let mut all = Distances(Vec::new());
        for sleeper in sleepers {
            let distances = sleeper.join().map_err(|_panic| anyhow!("a sleeper has ended"))?;
            all.0.extend(distances.0);
        }
        Ok(all)
    }
}

/// By how many slots each event is behind the curve of a ramp.
struct Distances(Vec<f64>);

/// Extremes and percentiles of [`Distances`], in slots.
struct Behind {
    ahead: f64,
    p99: f64,
    most: f64,
}

impl Distances {
    /// Returns the distances of events that happened at these times, in order.
    fn of(ramp: &Ramp, after_s: impl Iterator<Item = f64>) -> Distances {
        let distances = after_s.enumerate().map(|(slot, s)| ramp.due(s) - (slot as f64 + 0.5));
        Distances(distances.collect())
    }

    /// Adds a row about these distances to the section.
    fn add_row(&mut self, about: &str, section: &mut Section) -> Behind {
        self.0.sort_unstable_by(f64::total_cmp);
        let ahead = -self.0.first().copied().unwrap_or(f64::NAN);
        let [p50, p99, most] = [0.5, 0.99, 1.0].map(|p| quantile(&self.0, p));
        section.row(&[
            ("by", &about),
            ("slots", &thousands(self.0.len() as u64)),
            ("ahead at most, in slots", &format!("{ahead:.2}")),
            ("behind, p50", &format!("{p50:.2}")),
            ("p99", &format!("{p99:.2}")),
            ("max", &format!("{most:.1}")),
            ("more than one", &self.0.iter().filter(|behind| **behind > 1.0).count()),
        ]);
        Behind { ahead, p99, most }
    }
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
        let at = |reading: &OpenCount| (reading.unix_ns as f64 - t0_ns as f64) / 1e9;
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
struct OpenCount {
    unix_ns: u64,
    /// Open connections, without that of the reading itself.
    open: u32,
}

/// Runs weir with these flags, and reads nginx's status meanwhile.
fn poll(
    fixture: &Fixture,
    server: &Server,
    flags: &str,
) -> Result<(weir_result::Document, Vec<OpenCount>)> {
    let running = fixture.start_weir(flags, &server.url)?;
    let has_ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let reader = scope.spawn(|| -> Result<Vec<OpenCount>> {
            let mut readings = Vec::new();
            while !has_ended.load(Ordering::Relaxed) {
                let open = server.open_connections()?.saturating_sub(1);
                let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
                readings.push(OpenCount { unix_ns: now.as_nanos() as u64, open });
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
    fn slots_are_due_at_their_times() {
        let ramp = Ramp { length_s: 10.0 };
        assert_eq!(ramp.slots(), 25_000);
        for slot in [0, 1, 12_345, 24_999] {
            assert!((ramp.due(ramp.time_s(slot)) - (slot as f64 + 0.5)).abs() < 1e-9);
        }
        let distances = Distances::of(&ramp, [ramp.time_s(0), ramp.time_s(3)].into_iter());
        assert!((distances.0[0]).abs() < 1e-9 && (distances.0[1] - 2.0).abs() < 1e-9);
    }

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
