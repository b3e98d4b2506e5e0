//! V31: stops of the client of 5 ms and more, wherever they touch the window or delay its requests:
//! each is found, and what it moved is printed as a bound. Without stops nothing is found.

use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Result;
use weir_result::Document;
use weir_result::document::RuleOutcome;
use weir_result::quantile::Bound;

use crate::rig::{Fixture, Pressure, Section, freeze, seconds};

const WARMUP_S: f64 = 0.8;
const WINDOW_S: f64 = 1.5;

/// A stop is found less up to one beat of 2.5 ms, and the time for which the heartbeat's thread
/// ran.
const LESS_S: f64 = 0.003;

/// Least overlap with the span in which a stop counts, in seconds: clocks are read between signals.
const TOUCH_S: f64 = 0.001;

/// A percentile above this multiple of the greatest one without stops was moved.
const MOVED: f64 = 1.5;

/// Percentiles that every report prints.
const PERCENTILES: [f64; 4] = [50.0, 90.0, 99.0, 99.9];

/// Place of stops: its name, and their begins in seconds from the start of the warm-up, for stops
/// of this length.
type StopPlace = (&'static str, fn(f64) -> Vec<f64>);

const DRAIN: &str = "in the drain";

const PLACES: [StopPlace; 6] = [
    ("in the warm-up", |length_s| vec![(WARMUP_S - length_s).max(0.1) * 0.8]),
    ("over the window's begin", |length_s| vec![(WARMUP_S - length_s / 2.0).max(0.0)]),
    ("in the window", |_| vec![WARMUP_S + 0.3]),
    ("over the window's end", |length_s| vec![WARMUP_S + WINDOW_S - length_s / 2.0]),
    (DRAIN, |_| vec![WARMUP_S + WINDOW_S + 0.02]),
    ("two in the window", |length_s| vec![WARMUP_S + 0.1, WARMUP_S + 0.2 + length_s]),
];

/// Loads, with the flags of their servers: slow responses, many of them awaited in the drain; a
/// queue at 80% of its capacity; connections in use for 60% of the time; a closed loop.
const LOADS: [(&str, &str); 4] = [
    ("-t1 -c200 -R300", "--delay 200ms"),
    ("-t1 -c100 -R200", "--mode fifo --delay 4ms"),
    ("-t1 -c2 -R300", "--delay 4ms"),
    ("-t1 -c4", "--delay 1ms"),
];

/// One run with its stops.
struct Seen {
    /// Stops that touched the window or the time in which its requests were resolved, in seconds.
    touching_s: Vec<f64>,
    document: Document,
}

/// Runs case V31 of METHOD 2.1.
pub(super) fn stops(fixture: &Fixture) -> Result<Section> {
    let runs = fixture.runs(20, 6);
    let undisturbed = fixture.runs(50, 6).next_multiple_of(LOADS.len());
    let mut section = Section::new(
        "stops of the client, wherever they are",
        "The client is stopped for 5 ms to 1 s. Is each stop found, and what it moved printed \
         as a bound?",
        format!(
            "In each of {runs} runs with stops of 5 ms to 1 s, `client-stopped` finds all that \
             touch the window or delay its requests, each to 3 ms. No percentile above {MOVED} \
             times the greatest of {undisturbed} runs without stops is printed as a value. In \
             those `client-stopped` finds nothing."
        ),
    );
    let mut greatest = Vec::new();
    let mut findings = 0;
    for (flags, server) in LOADS {
        let mut all = Vec::new();
        for _ in 0..undisturbed / LOADS.len() {
            let pressure = Pressure::now();
            let seen = stopped_run(fixture, flags, server, &[], 0.0)?;
            // Time that the hypervisor took looks like a stop.
            let is_quiet = pressure.taken().has_no_steal();
            findings += usize::from(is_quiet && has_finding(&seen.document));
            all.push(values(&seen.document));
        }
        let most = |index: usize| all.iter().map(|values| values[index]).fold(0.0, f64::max);
        greatest.push([0, 1, 2, 3].map(most));
    }
    section.must_if_quiet(findings == 0, || format!("{findings} runs without a stop have one"));
    section.verdict(format!("{findings} of {undisturbed} runs without stops have a finding."));

    section.begin_table("Each run:");
    let mut complete = 0;
    for index in 0..runs {
        let (place, begins_s) = PLACES[index % PLACES.len()];
        let load = (index + index / PLACES.len()) % LOADS.len();
        let load = if place == DRAIN { 0 } else { load };
        // Lengths from 5 ms to 1 s, each the same multiple of the last.
        let length_s = 0.005 * 200f64.powf(index as f64 / (runs - 1).max(1) as f64);
        let (flags, server) = LOADS[load];
        let seen = stopped_run(fixture, flags, server, &begins_s(length_s), length_s)?;
        let greatest_s = greatest[load];
        let is_complete = judge(&mut section, &seen, place, length_s, greatest_s, flags);
        complete += usize::from(is_complete);
    }
    section.verdict(format!(
        "In {complete} of {runs} runs all stops that touched the window or delayed its requests \
         were found."
    ));
    Ok(section)
}

/// Makes a run with stops of this length at these times.
fn stopped_run(
    fixture: &Fixture,
    flags: &str,
    server: &str,
    begins_s: &[f64],
    length_s: f64,
) -> Result<Seen> {
    let server = fixture.serve(&format!("{server} --log-max 1"))?;
    let flags = format!("{flags} --warmup {WARMUP_S}s -d {WINDOW_S}s");
    let client = fixture.start_weir(&flags, &server.url)?;
    let mut now_s = 0.0;
    let mut stops = Vec::new();
    for begin_s in begins_s {
        thread::sleep(Duration::from_secs_f64((begin_s - now_s).max(0.0)));
        let from = unix_s()?;
        let (least_s, _) = freeze(client.pid(), Duration::from_secs_f64(length_s))?;
        // The program is stopped by the time at which `kill` has ended.
        let until = unix_s()?;
        stops.push((from.max(until - least_s), least_s));
        now_s = begin_s + length_s;
    }
    let document = client.finish()?;
    let (t0_s, resolved_s) = span_s(&document);
    let touches = |(from_s, length_s): &(f64, f64)| {
        from_s + length_s > t0_s + TOUCH_S && from_s + TOUCH_S < resolved_s
    };
    let touching_s = stops.iter().filter(|stop| touches(stop)).map(|stop| stop.1).collect();
    Ok(Seen { touching_s, document })
}

/// Returns t0 and the end of the window's last request, in seconds since 1970.
fn span_s(document: &Document) -> (f64, f64) {
    let at_s = |ns: u64| (document.run.epoch_unix_ns + ns) as f64 / 1e9;
    let workers = &document.phases;
    let t0 = workers.iter().map(|phases| phases.start_ns + document.plan.load.warmup.span_ns).min();
    let resolved = workers.iter().map(|phases| phases.resolved_ns).max();
    (at_s(t0.unwrap_or(0)), at_s(resolved.unwrap_or(0)))
}

fn unix_s() -> Result<f64> {
    Ok(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs_f64())
}

fn has_finding(document: &Document) -> bool {
    let mut rules = document.verdict.rules.iter();
    rules.any(|rule| rule.id == "client-stopped" && rule.outcome >= RuleOutcome::Finding)
}

/// Returns the printed percentiles in seconds, 0 for one that is not listed.
fn values(document: &Document) -> [f64; 4] {
    let headline = document.results.response_time.headline();
    PERCENTILES.map(|p| headline.percentile(p).map_or(0.0, |value| value.ns as f64 / 1e9))
}

/// Judges a run and adds its row. Returns true if all of its stops were found.
fn judge(
    section: &mut Section,
    seen: &Seen,
    place: &str,
    length_s: f64,
    greatest_s: [f64; 4],
    flags: &str,
) -> bool {
    let Seen { touching_s, document } = seen;
    let about = format!("{} {}, {flags}", seconds(length_s), place);
    let found = document.health.and_then(|health| health.stops).unwrap_or_default();
    let longest_s = found.longest_ns as f64 / 1e9;
    let is_complete = found.count as usize >= touching_s.len();
    section.must(is_complete, || {
        format!("{about}: {} of {} stops are found", found.count, touching_s.len())
    });
    let length_s = touching_s.iter().copied().fold(0.0, f64::max);
    section.must(longest_s + LESS_S >= length_s, || {
        format!("{about}: {} of {}", seconds(longest_s), seconds(length_s))
    });
    section.must(touching_s.is_empty() || has_finding(document), || format!("{about}: no finding"));
    let headline = document.results.response_time.headline();
    for (p, greatest_s) in PERCENTILES.into_iter().zip(greatest_s) {
        let Some(value) = headline.percentile(p) else { continue };
        let is_moved = value.ns as f64 / 1e9 > MOVED * greatest_s && !touching_s.is_empty();
        section.must_if_quiet(!is_moved || value.bound == Bound::Upper, || {
            format!("{about}: p{p} {} is printed as a value", seconds(value.ns as f64 / 1e9))
        });
    }
    let if_any = |length_s: f64| if length_s > 0.0 { seconds(length_s) } else { "–".to_owned() };
    section.row(&[
        ("stop", &place),
        ("load", &flags),
        ("touching", &touching_s.len().to_string()),
        ("longest", &if_any(length_s)),
        ("found", &found.count),
        ("longest found", &if_any(longest_s)),
        ("grade", &document.verdict.grade.in_words()),
    ]);
    is_complete
}
