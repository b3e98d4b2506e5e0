//! V28: the line `Limit` for runs whose limit is known.

use std::ffi::OsString;
use std::fs;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use weir_result::document::{Limit, LimitedBy};
use xtask::guard::Guarded;
use xtask::shell::find_program;

use super::link::{Link, SERVER_ADDRESS, Slowness};
use crate::rig::fixture::Fixture;
use crate::rig::section::Section;
use crate::rig::servers::{answers, free_address, pinned};
use crate::rig::table::Table;

/// Runs of each scenario, and the number of them that must name the right limit.
const RUNS: usize = 20;
const RIGHT_LEAST: usize = 19;

/// A single-threaded server that uses up its CPU long before the client does.
const PYTHON_SERVER: &str = r#"
import asyncio, sys
async def handle(reader, writer):
    try:
        while True:
            await reader.readuntil(b"\r\n\r\n")
            sum(range(2000))
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()
async def main():
    server = await asyncio.start_server(handle, "127.0.0.1", int(sys.argv[1]), backlog=4096)
    async with server:
        await server.serve_forever()
asyncio.run(main())
"#;

/// A run whose limit is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scenario {
    ClientCpu,
    ConnectionsOpen,
    ConnectionsClosed,
    Rate,
    ServerFifo,
    ServerBusy,
    NetworkDelay,
    NetworkBandwidth,
}

impl Scenario {
    const ALL: [Scenario; 8] = [
        Scenario::ClientCpu,
        Scenario::ConnectionsOpen,
        Scenario::ConnectionsClosed,
        Scenario::Rate,
        Scenario::ServerFifo,
        Scenario::ServerBusy,
        Scenario::NetworkDelay,
        Scenario::NetworkBandwidth,
    ];

    fn name(self) -> &'static str {
        match self {
            Scenario::ClientCpu => "a quarter of a CPU for the client",
            Scenario::ConnectionsOpen => "2,000/s over 50 connections, 101 ms each",
            Scenario::ConnectionsClosed => "closed loop, 50 connections, 101 ms each",
            Scenario::Rate => "1,000/s of a server that can do more",
            Scenario::ServerFifo => "one request after the other, 2 ms each",
            Scenario::ServerBusy => "a server that uses all of its CPU",
            Scenario::NetworkDelay => "a link of 20 ms round trip",
            Scenario::NetworkBandwidth => "a link of 20 Mbit/s, 10 kB bodies",
        }
    }

    /// Returns the limit that the document must name.
    fn limit(self) -> LimitedBy {
        match self {
            Scenario::ClientCpu => LimitedBy::ClientCpu,
            Scenario::ConnectionsOpen | Scenario::ConnectionsClosed => LimitedBy::Connections,
            Scenario::Rate => LimitedBy::Rate,
            Scenario::ServerFifo | Scenario::ServerBusy => LimitedBy::Server,
            Scenario::NetworkDelay | Scenario::NetworkBandwidth => LimitedBy::Network,
        }
    }

    fn load(self) -> &'static str {
        match self {
            Scenario::ClientCpu => "-t1 -c100",
            Scenario::ConnectionsOpen => "-t1 -c50 -R2000",
            Scenario::ConnectionsClosed => "-t1 -c50",
            Scenario::Rate => "-t1 -c50 -R1000",
            Scenario::ServerFifo | Scenario::ServerBusy => "-t1 -c20",
            Scenario::NetworkDelay => "-t1 -c10",
            Scenario::NetworkBandwidth => "-t1 -c50",
        }
    }

    fn server_flags(self) -> &'static str {
        match self {
            Scenario::ConnectionsOpen | Scenario::ConnectionsClosed => "--delay 101ms",
            Scenario::ServerFifo => "--delay 2ms --mode fifo",
            Scenario::NetworkBandwidth => "--size 10k",
            _ => "",
        }
    }

    fn slowness(self) -> Option<Slowness> {
        match self {
            Scenario::NetworkDelay => Some(Slowness::Delay(10)),
            Scenario::NetworkBandwidth => Some(Slowness::Bandwidth(20)),
            _ => None,
        }
    }
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
    let mut table = Table::new(&["scenario", "limit", "right", "unknown", "wrong", "last said"]);
    for scenario in Scenario::ALL {
        let mut told = Vec::new();
        for _ in 0..runs {
            told.push(run(fixture, scenario)?);
        }
        judge(&mut section, &mut table, scenario, &told, least);
    }
    section.verdict(format!(
        "Of {} runs {} name the right limit, {} none and {} a wrong one.",
        runs * Scenario::ALL.len(),
        table.sum("right"),
        table.sum("unknown"),
        table.sum("wrong")
    ));
    section.table("", table);
    Ok(section)
}

fn judge(
    section: &mut Section,
    table: &mut Table,
    scenario: Scenario,
    told: &[Limit],
    least: usize,
) {
    let count = |limit| told.iter().filter(|told| told.by == limit).count();
    let (right, unknown) = (count(scenario.limit()), count(LimitedBy::Unknown));
    let wrong = told.len() - right - unknown;
    let last = told.last().map_or("", |told| told.text.as_str());
    table.row(&[
        scenario.name().to_owned(),
        scenario.limit().in_words().to_owned(),
        right.to_string(),
        unknown.to_string(),
        wrong.to_string(),
        last.to_owned(),
    ]);
    let others = told.iter().map(|told| told.by);
    let others = others.filter(|by| ![scenario.limit(), LimitedBy::Unknown].contains(by));
    let others: Vec<&str> = others.map(LimitedBy::in_words).collect();
    section.must_if_quiet(wrong == 0, || format!("{}: {}", scenario.name(), others.join(", ")));
    section.must_if_quiet(right >= least, || {
        format!("{}: {right} of {} are right", scenario.name(), told.len())
    });
}

/// Runs a scenario once and returns the limit that the document names.
fn run(fixture: &Fixture, scenario: Scenario) -> Result<Limit> {
    let link = scenario.slowness().map(Link::new).transpose()?;
    let (server, url) = serve(fixture, scenario)?;
    // Enough spinners that the client is the limit even if the server loses CPU time to others.
    let spinners = if scenario == Scenario::ClientCpu { 3 } else { 0 };
    let spinners: Vec<Guarded> = (0..spinners).map(|_| fixture.spin(1.0)).collect::<Result<_>>()?;
    let mut words = if link.is_some() { Link::at_client()? } else { Vec::new() };
    words.extend(pinned(fixture.placement.client, &fixture.weir));
    let window_s = fixture.span(3.0, 2.0);
    let flags = format!("{} -d{window_s}s --warmup 500ms --format json", scenario.load());
    eprintln!("accuracy: weir {flags} # {}", scenario.name());
    words.extend(flags.split_whitespace().map(OsString::from));
    words.push(url.into());
    let output = Command::new(&words[0])
        .args(&words[1..])
        .stderr(Stdio::null())
        .output()
        .context("failed to start weir")?;
    drop((spinners, server, link));
    if !matches!(output.status.code(), Some(0 | 1)) {
        bail!("weir ended with {}", output.status);
    }
    let document =
        weir_verdict::from_json(&output.stdout).context("failed to read weir's document")?;
    Ok(document.verdict.limit)
}

/// Starts the scenario's server and returns it with its URL.
fn serve(fixture: &Fixture, scenario: Scenario) -> Result<(Guarded, String)> {
    if scenario == Scenario::ServerBusy {
        return busy_server(fixture);
    }
    let is_far = scenario.slowness().is_some();
    let mut words = if is_far { Link::at_server()? } else { Vec::new() };
    words.extend(pinned(fixture.placement.server, &fixture.weir));
    let host = if is_far { SERVER_ADDRESS } else { "127.0.0.1" };
    let listen = format!("{host}:0");
    words.extend(["serve", "--threads", "1", "--listen", &listen].map(OsString::from));
    words.extend(scenario.server_flags().split_whitespace().map(OsString::from));
    let mut server = Guarded::start(&words)?;
    let url = server.listening_url()?;
    Ok((server, url))
}

fn busy_server(fixture: &Fixture) -> Result<(Guarded, String)> {
    let python =
        find_program("python3").context("failed to find python3: cargo xtask setup accuracy")?;
    let script = fixture.directory.join("busy.py");
    fs::write(&script, PYTHON_SERVER).context("failed to write the busy server")?;
    let address = free_address()?;
    let mut words = pinned(fixture.placement.server, &python);
    words.extend([script.into_os_string(), address.port().to_string().into()]);
    let server = Guarded::start(&words)?;
    answers(address).context("failed to start the busy server")?;
    Ok((server, format!("http://{address}/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_is_neither_right_nor_wrong() {
        let failures_of = |limits: [LimitedBy; 3]| {
            let mut section = Section::new("limits", "It tells.", "words");
            let mut table = Table::new(&["", "", "", "", "", ""]);
            let told = limits.map(|by| Limit { by, text: String::new() });
            judge(&mut section, &mut table, Scenario::ServerFifo, &told, 2);
            section.settle(true);
            section.failures().len()
        };
        let (right, unknown) = (LimitedBy::Server, LimitedBy::Unknown);
        assert_eq!(failures_of([right, right, unknown]), 0);
        assert_eq!(failures_of([right, unknown, unknown]), 1);
        assert_eq!(failures_of([right, right, LimitedBy::Network]), 1);
        assert_eq!(failures_of([right, LimitedBy::Rate, LimitedBy::Network]), 2);
    }
}
