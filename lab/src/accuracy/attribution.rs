//! V28: the line `Limit` for runs whose limit is known.

use std::ffi::OsString;

use anyhow::{Context, Result};
use weir_result::document::{Limit, LimitedBy};
use xtask::guard::Guarded;

use super::link::{self, NetworkLink, SERVER_ADDRESS, Slowness};
use crate::rig::{Fixture, Section, answers, clients, free_address, pinned, python, timed};

/// Runs of each scenario, and the number of them that must name the right limit.
const RUNS: usize = 20;
const RIGHT_LEAST: usize = 19;

/// A run whose limit is known.
struct Scenario {
    name: &'static str,
    /// Limit that the document must name.
    limit: LimitedBy,
    load: &'static str,
    /// Flags of `weir serve`; none for a server that uses all of its CPU.
    server: Option<&'static str>,
    slowness: Option<Slowness>,
    /// Spinners on the client's CPU.
    spinners: usize,
}

const SCENARIOS: [Scenario; 8] = [
    // Enough spinners that the client is the limit even if the server loses CPU time to others.
    Scenario {
        spinners: 3,
        ..scenario("a quarter of a CPU for the client", LimitedBy::ClientCpu, "-t1 -c100", "")
    },
    scenario(
        "2,000/s over 50 connections, 101 ms each",
        LimitedBy::Connections,
        "-t1 -c50 -R2000",
        "--delay 101ms",
    ),
    scenario(
        "closed loop, 50 connections, 101 ms each",
        LimitedBy::Connections,
        "-t1 -c50",
        "--delay 101ms",
    ),
    scenario("1,000/s of a server that can do more", LimitedBy::Rate, "-t1 -c50 -R1000", ""),
    FIFO,
    Scenario {
        server: None,
        ..scenario("a server that uses all of its CPU", LimitedBy::Server, "-t1 -c20", "")
    },
    Scenario {
        slowness: Some(Slowness::Delay(10)),
        ..scenario("a link of 20 ms round trip", LimitedBy::Network, "-t1 -c10", "")
    },
    Scenario {
        slowness: Some(Slowness::Bandwidth(20)),
        ..scenario(
            "a link of 20 Mbit/s, 10 kB bodies",
            LimitedBy::Network,
            "-t1 -c50",
            "--size 10k",
        )
    },
];

const FIFO: Scenario = scenario(
    "one request after the other, 2 ms each",
    LimitedBy::Server,
    "-t1 -c20",
    "--delay 2ms --mode fifo",
);

const fn scenario(
    name: &'static str,
    limit: LimitedBy,
    load: &'static str,
    server: &'static str,
) -> Scenario {
    Scenario { name, limit, load, server: Some(server), slowness: None, spinners: 0 }
}

/// Runs case V28 of METHOD 2.1.
pub(super) fn attribution(fixture: &Fixture) -> Result<Section> {
    let runs = fixture.runs(RUNS, 2);
    let least = runs * RIGHT_LEAST / RUNS;
    let mut section = Section::new(
        "what limited the throughput",
        "Does the line `Limit` name what limited the throughput?",
        format!(
            "Of {runs} runs of each scenario at least {least} name the right limit, and none names \
             a wrong one; `unknown` is not wrong."
        ),
    );
    for scenario in &SCENARIOS {
        let mut reported = Vec::new();
        for _ in 0..runs {
            reported.push(run(fixture, scenario)?);
        }
        judge(&mut section, scenario, &reported, least);
    }
    section.verdict(format!(
        "Of {} runs {} name the right limit, {} none and {} a wrong one.",
        runs * SCENARIOS.len(),
        section.sum("right"),
        section.sum("unknown"),
        section.sum("wrong")
    ));
    Ok(section)
}

fn judge(section: &mut Section, scenario: &Scenario, reported: &[Limit], least: usize) {
    let count = |limit| reported.iter().filter(|reported| reported.by == limit).count();
    let right = count(scenario.limit);
    let unknown = count(LimitedBy::Unknown);
    let wrong = reported.len() - right - unknown;
    let last = reported.last().map_or("", |reported| reported.text.as_str());
    section.row(&[
        ("scenario", &scenario.name),
        ("limit", &scenario.limit.in_words()),
        ("right", &right),
        ("unknown", &unknown),
        ("wrong", &wrong),
        ("last said", &last),
    ]);
    let others = reported.iter().map(|reported| reported.by);
    let others = others.filter(|by| ![scenario.limit, LimitedBy::Unknown].contains(by));
    let others: Vec<&str> = others.map(LimitedBy::in_words).collect();
    section.must_if_quiet(wrong == 0, || format!("{}: {}", scenario.name, others.join(", ")));
    section.must_if_quiet(right >= least, || {
        format!("{}: {right} of {} are right", scenario.name, reported.len())
    });
}

/// Runs a scenario once and returns the limit that the document names.
fn run(fixture: &Fixture, scenario: &Scenario) -> Result<Limit> {
    let link = scenario.slowness.map(NetworkLink::new).transpose()?;
    let (server, url) = serve(fixture, scenario)?;
    let spinners: Vec<Guarded> =
        (0..scenario.spinners).map(|_| fixture.spin(1.0)).collect::<Result<_>>()?;
    let mut words = if link.is_some() { link::within(link::CLIENT)? } else { Vec::new() };
    words.extend(pinned(fixture.placement.client, &fixture.weir));
    let window_s = fixture.span(3.0, 2.0);
    let flags = format!("{} -d{window_s}s --warmup 500ms --format json", scenario.load);
    eprintln!("accuracy: weir {flags} # {}", scenario.name);
    words.extend(flags.split_whitespace().chain([&*url]).map(OsString::from));
    let stdout = timed(&words, &[0, 1])?.stdout;
    drop((spinners, server, link));
    Ok(clients::document(&stdout)?.verdict.limit)
}

/// Starts the scenario's server and returns it with its URL.
fn serve(fixture: &Fixture, scenario: &Scenario) -> Result<(Guarded, String)> {
    let cpu = fixture.placement.server;
    let Some(flags) = scenario.server else {
        let address = free_address()?;
        let port = address.port().to_string();
        let server = python(cpu, "accuracy/attribution/busy.py", &[&port])?;
        answers(address).context("failed to start the busy server")?;
        return Ok((server, format!("http://{address}/")));
    };
    let is_far = scenario.slowness.is_some();
    let mut words = if is_far { link::within(link::SERVER)? } else { Vec::new() };
    words.extend(pinned(cpu, &fixture.weir));
    let host = if is_far { SERVER_ADDRESS } else { "127.0.0.1" };
    let flags = format!("serve --threads 1 --listen {host}:0 {flags}");
    words.extend(flags.split_whitespace().map(OsString::from));
    let mut server = Guarded::start(&words)?;
    let url = server.listening_url()?;
    Ok((server, url))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_is_neither_right_nor_wrong() {
        let failures_of = |limits: [LimitedBy; 3]| {
            let mut section = Section::new("limits", "It tells.", "words");
            let reported = limits.map(|by| Limit { by, text: String::new() });
            judge(&mut section, &FIFO, &reported, 2);
            section.settle(true);
            section.failures().len()
        };
        let right = LimitedBy::Server;
        let unknown = LimitedBy::Unknown;
        assert_eq!(failures_of([right, right, unknown]), 0);
        assert_eq!(failures_of([right, unknown, unknown]), 1);
        assert_eq!(failures_of([right, right, LimitedBy::Network]), 1);
        assert_eq!(failures_of([right, LimitedBy::Rate, LimitedBy::Network]), 2);
    }
}
