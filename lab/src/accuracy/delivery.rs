//! V2: reported times minus true times by the server's own time stamps, request by request.

use anyhow::Result;

use super::distribution::{self, Distribution};
use super::peers::RatedLoad;
use super::rows::{self, Pair};
use crate::rig::{
    CaseTransport, Fixture, Peer, Pressure, Record, Section, run_delay, seconds, thousands,
};

/// Targets over the clean rounds, in which no other process used the threads' CPUs.
const P50_AIM_NS: f64 = 15_000.0;
const P99_AIM_NS: f64 = 60_000.0;

/// Maximum number of rounds of a setting with a target, if few are clean.
const ROUNDS_MAX: usize = 12;

/// Length of wrk2's calibration, which its report excludes.
const CALIBRATION_S: u32 = 11;

/// Settings of the client.
#[derive(Clone, Copy, Debug)]
struct Setting {
    rate_rps: u32,
    connections: u32,
    pacing: &'static str,
    io: &'static str,
}

impl Setting {
    /// True if the setting has a target.
    fn is_aimed_at(self) -> bool {
        self.pacing == "hybrid" && self.connections == 1
    }
}

/// Times of one round, in nanoseconds.
struct Round {
    /// Te − T0 less the true (server's send time stamp − T0): the delay until weir recorded the
    /// response.
    late_ns: Vec<f64>,
    /// Te − T0 less the server's own time, from read to send: both deliveries and the send lag.
    around_ns: Vec<f64>,
    /// Te − Ke, of the requests whose response has a kernel time stamp: the client's part of
    /// `late_ns`.
    own_ns: Vec<f64>,
    /// True if neither other threads nor the hypervisor took the CPU of the client's thread.
    is_clean: bool,
}

/// Runs case V2 of METHOD 2.1.
pub(super) fn delivery(fixture: &Fixture) -> Result<Section> {
    let least = fixture.span(3.0, 1.0) as usize;
    let mut section = Section::new(
        "reported minus true",
        "How many µs is a reported response time above the true one? The server stamps each \
         response just before it sends it, with the same clock.",
        format!(
            "Never negative. Aimed at, in the rounds in which the client's thread waited for its \
             CPU for less than 0.5% of the time and the hypervisor took less than 1%, \
             for hybrid pacing over one connection: half of the requests within {}, \
             99% within {}. Other rounds are shown too; for this aim there are more of them, up to \
             {ROUNDS_MAX}, until {least} are clean.",
            seconds(P50_AIM_NS / 1e9),
            seconds(P99_AIM_NS / 1e9)
        ),
    );
    let mut judged = 0;
    let mut reached = 0;
    let mut all = Vec::new();
    for setting in settings(fixture) {
        let found = rounds(fixture, setting, least)?;
        let is_reached = judge(&mut section, setting, &found);
        judged += usize::from(is_reached.is_some());
        reached += usize::from(is_reached == Some(true));
        all.push((setting, found));
    }
    section.verdict(format!(
        "The aim (p50 {}, p99 {}) is reached in {reached} of {judged} settings with clean rounds.",
        seconds(P50_AIM_NS / 1e9),
        seconds(P99_AIM_NS / 1e9)
    ));
    for (above, times) in TABLES {
        section.begin_table(above);
        all.iter().for_each(|(setting, found)| add(&mut section, *setting, found, times));
        let shown = ["rate", "engine", "clean", "p50", "p99"];
        section.show_rows(&[("pacing", &["hybrid"]), ("conn.", &["1"])], &shown);
    }
    if fixture.over == CaseTransport::Http1 {
        compare(fixture, &mut section)?;
    }
    section.note(format!("{least} rounds or more, of {} s each.", fixture.span(3.0, 2.0)));
    Ok(section)
}

/// Times of a round.
type TimesOf = fn(&Round) -> &Vec<f64>;

/// The tables: the line above each, and its times. The first is shown.
const TABLES: [(&str, TimesOf); 3] = [
    (
        "Reported response time minus the true one, all of it after the server's send stamp (µs). \
         Clean rounds first; the last three columns are of all rounds:",
        |round| &round.late_ns,
    ),
    (
        "Of that the client's part: from when the kernel had the answer until weir had read it and \
         its clock (µs), of the requests that the kernel stamped:",
        |round| &round.own_ns,
    ),
    (
        "Reported response time minus the server's own time from read to send (µs): the way there \
         and lateness in sending are in it too:",
        |round| &round.around_ns,
    ),
];

fn settings(fixture: &Fixture) -> Vec<Setting> {
    let rates: &[u32] = if fixture.options.is_quick { &[1_000] } else { &[1_000, 10_000] };
    // Pacing comes before the protocol and is the same for all: the others have the default.
    let pacings: &[&'static str] =
        if fixture.options.is_quick || fixture.over != CaseTransport::Http1 {
            &["hybrid"]
        } else {
            &["sleep", "hybrid", "spin"]
        };
    let mut settings = Vec::new();
    for &rate_rps in rates {
        for connections in [1, 10] {
            for &pacing in pacings {
                for io in ["epoll", "uring"] {
                    settings.push(Setting { rate_rps, connections, pacing, io });
                }
            }
        }
    }
    settings
}

/// Makes at least `least` rounds, and more, up to the maximum, until as many of them are clean if
/// the setting has a target.
fn rounds(fixture: &Fixture, setting: Setting, least: usize) -> Result<Vec<Round>> {
    let most = if setting.is_aimed_at() { ROUNDS_MAX } else { least };
    let mut rounds: Vec<Round> = Vec::new();
    while rounds.len() < least
        || (rounds.len() < most && rounds.iter().filter(|round| round.is_clean).count() < least)
    {
        rounds.push(round(fixture, setting)?);
    }
    Ok(rounds)
}

fn round(fixture: &Fixture, setting: Setting) -> Result<Round> {
    let Setting { rate_rps, connections, pacing, io } = setting;
    let pressure = Pressure::now();
    let flags = format!(
        "-t1 -c{connections} -R{rate_rps} -d{}s --warmup 1s --pacing {pacing} --io {io}",
        fixture.span(3.0, 2.0)
    );
    let (document, rows, log) = rows::run(fixture, "--spin", &flags)?;
    let has_no_steal = pressure.taken().has_no_steal();
    let waited = run_delay(&document);
    let mut pairs = rows::join(&rows.list, &log)?;
    pairs.retain(|pair| pair.row.is_measured && pair.row.has_response());
    let of = |time: fn(&Pair) -> Option<f64>| {
        let mut times: Vec<f64> = pairs.iter().filter_map(time).collect();
        times.sort_by(f64::total_cmp);
        times
    };
    Ok(Round {
        late_ns: of(|pair| Some(difference(pair.row.ended_at, sent_ns(pair.record)))),
        around_ns: of(|pair| {
            let reported_ns = difference(pair.row.ended_at, pair.row.intended_at);
            Some(reported_ns - difference(sent_ns(pair.record), pair.record.received_ns))
        }),
        own_ns: of(|pair| Some(difference(pair.row.ended_at, pair.row.rx_at?))),
        is_clean: has_no_steal && waited <= 0.005,
    })
}

fn sent_ns(record: &Record) -> u64 {
    record.sent_ns.unwrap_or(u64::MAX)
}

fn difference(later_ns: u64, earlier_ns: u64) -> f64 {
    later_ns as f64 - earlier_ns as f64
}

/// Judges a setting. Returns true if it reaches the aim; none if it is not aimed at, or no round
/// was clean.
fn judge(section: &mut Section, setting: Setting, rounds: &[Round]) -> Option<bool> {
    let least = |times: &[f64]| times.first().copied().unwrap_or(0.0);
    for round in rounds {
        for times in [&round.late_ns, &round.around_ns] {
            section.must(least(times) >= 0.0, || {
                format!("{setting:?}: a time is {} less than the true one", -least(times))
            });
        }
    }
    let clean = merged(rounds, true, |round| &round.late_ns);
    let place = || format!("{}/s on {}", thousands(setting.rate_rps.into()), setting.io);
    section.must_if_quiet(!setting.is_aimed_at() || !clean.is_empty(), || {
        format!("no round was clean at {}", place())
    });
    if setting.is_aimed_at() && !clean.is_empty() {
        let [p50, p99] = [0.5, 0.99].map(|p| distribution::quantile(&clean, p));
        let is_reached = p50 <= P50_AIM_NS && p99 <= P99_AIM_NS;
        let outcome = if is_reached { "reached" } else { "missed" };
        section.note(format!(
            "The aim is {outcome} at {}: p50 {}, p99 {}.",
            place(),
            seconds(p50 / 1e9),
            seconds(p99 / 1e9)
        ));
        return Some(is_reached);
    }
    None
}

/// Returns the times of all rounds or of the clean ones, sorted.
fn merged(rounds: &[Round], clean_only: bool, times: TimesOf) -> Vec<f64> {
    let rounds = rounds.iter().filter(|round| round.is_clean || !clean_only);
    let mut merged: Vec<f64> = rounds.flat_map(|round| times(round).iter().copied()).collect();
    merged.sort_by(f64::total_cmp);
    merged
}

fn add(section: &mut Section, setting: Setting, rounds: &[Round], times: TimesOf) {
    let Setting { rate_rps, connections, pacing, io } = setting;
    let clean = rounds.iter().filter(|round| round.is_clean).count();
    let quantile = |clean_only, p| match merged(rounds, clean_only, times).as_slice() {
        [] => "–".to_owned(),
        times => format!("{:.1}", distribution::quantile(times, p) / 1e3),
    };
    section.row(&[
        ("rate", &format!("{}/s", thousands(rate_rps.into()))),
        ("conn.", &connections),
        ("pacing", &pacing),
        ("engine", &io),
        ("clean", &format!("{clean} of {}", rounds.len())),
        ("min", &quantile(true, 0.0)),
        ("p50", &quantile(true, 0.5)),
        ("p90", &quantile(true, 0.9)),
        ("p99", &quantile(true, 0.99)),
        ("max", &quantile(true, 1.0)),
        ("all: p50", &quantile(false, 0.5)),
        ("p99", &quantile(false, 0.99)),
        ("max", &quantile(false, 1.0)),
    ]);
}

/// Compares weir with wrk2, which reports no times of single requests: percentiles minus
/// percentiles.
fn compare(fixture: &Fixture, section: &mut Section) -> Result<()> {
    if Peer::Wrk2.find().is_none() || fixture.options.is_quick {
        section.note("wrk2 is not on PATH, or the run is a quick one: it is not compared.");
        return Ok(());
    }
    let duration_s = CALIBRATION_S + 10;
    section.begin_table(
        "Percentile as reported minus the same percentile of the server's own times from read to \
         send (µs); weir as it comes (hybrid pacing):",
    );
    for (rate_rps, connections) in [(1_000, 1), (1_000, 10), (10_000, 10)] {
        let load = RatedLoad { connections, duration_s, rate_rps, timeout_s: 10 };
        let mut add = |name: &str, reported_ns: [Option<f64>; 2], log: &[Record]| {
            let own = own_times_ns(log, CALIBRATION_S);
            let [p50, p99] = [0.5, 0.99].map(|p| distribution::quantile(&own, p));
            let more = |reported_ns: Option<f64>, own_ns| {
                let more_us = reported_ns.map(|ns| format!("{:.1}", (ns - own_ns) / 1e3));
                more_us.unwrap_or_else(|| "–".to_owned())
            };
            section.row(&[
                ("", &name),
                ("rate", &format!("{}/s", thousands(rate_rps.into()))),
                ("conn.", &connections),
                ("p50", &more(reported_ns[0], p50)),
                ("p99", &more(reported_ns[1], p99)),
            ]);
        };
        let flags = format!("-t1 -c{connections} -R{rate_rps} -d10s --warmup {CALIBRATION_S}s");
        let (document, log) = fixture.run("--spin", &flags)?;
        let times = Distribution::responses(&document)?;
        add("weir", [0.5, 0.99].map(|p| Some(times.quantile_ns(p))), &log);
        let server = fixture.serve("--spin")?;
        let printed = Peer::Wrk2.run(fixture, load, &server.url)?;
        let reported = [printed.p50, printed.p99].map(|time| time.map(|time| time.ns));
        add("wrk2", reported, &server.finish()?);
    }
    Ok(())
}

/// Returns the times from read to send, sorted, of requests that arrived at least `skip_s` after
/// the first one.
fn own_times_ns(log: &[Record], skip_s: u32) -> Vec<f64> {
    let from_ns =
        log.first().map_or(0, |first| first.received_ns) + u64::from(skip_s) * 1_000_000_000;
    let late = log.iter().filter(|record| record.received_ns >= from_ns);
    let mut times: Vec<f64> =
        late.filter_map(|record| Some(difference(record.sent_ns?, record.received_ns))).collect();
    times.sort_by(f64::total_cmp);
    times
}
