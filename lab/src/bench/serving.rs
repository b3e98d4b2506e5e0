//! Cost of a request in the server: `weir serve` against nginx, under the same client.

use anyhow::{Result, ensure};

use super::paired::Paired;
use crate::rig::{ClientRun, Cost, Fixture, Section, Server, clients, table};

const QUESTION: &str = "What does a request cost `weir serve`, beside nginx?";

pub(super) fn serving(fixture: &Fixture) -> Result<Section> {
    let servers = [fixture.nginx()?, fixture.weir_serve()?];
    let names = servers.each_ref().map(|server| server.name.to_owned());
    let run = |at: usize| load(fixture, &servers[at]);
    let paired = Paired::run("serve", fixture.options.rounds, &names, run)?;
    let method = format!(
        "The server's CPU time under weir's closed loop of 100 connections, one thread on each \
         side, {} rounds of {} s.",
        fixture.options.rounds, fixture.options.seconds
    );
    let mut section = Section::new("`weir serve` against nginx", QUESTION, method).reported();
    for (at, name) in names.iter().enumerate() {
        section.row(&[
            ("server", name),
            ("requests per CPU-second ÷ nginx's", &paired.efficiency_cell(at)),
            ("µs CPU per request", &format!("{:.2}", paired.cost_us(at))),
            ("requests/s", &table::rate(paired.requests_per_second(at))),
        ]);
    }
    section.verdict(format!(
        "It completes {} times nginx's requests per CPU-second.",
        table::estimate(&paired.efficiency(1))
    ));
    Ok(section)
}

/// Runs the client and returns its requests with the CPU time that the server needed for them.
fn load(fixture: &Fixture, server: &Server) -> Result<ClientRun> {
    let seconds = fixture.options.seconds;
    let flags = format!("-t1 -c100 -d{seconds}s --warmup 0 --no-preflight");
    let before = server.cpu_seconds()?;
    let (run, document) = fixture.timed_weir(&flags, &server.url)?;
    let cpu_s = server.cpu_seconds()? - before;
    let failures = clients::failures(&document);
    ensure!(failures == 0, "{failures} requests to {} failed", server.name);
    ensure!(cpu_s > 0.0, "{} used no CPU time that shows; take longer rounds", server.name);
    Ok(ClientRun { cost: Cost { cpu_s, ..run.cost }, ..run })
}
