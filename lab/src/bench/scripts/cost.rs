//! The client's cost of a script: a static one against none, and others against wrk with the same
//! script.

use anyhow::{Result, ensure};

use super::super::paired::Paired;
use super::flag::flag;
use crate::rig::{ClientRun, Fixture, Peer, Section, Server, Table, clients, table};

/// Scripts that both programs run.
const SCRIPTS: [&str; 4] = ["request.lua", "response.lua", "both.lua", "fields.lua"];

/// Flags that send the same request as the static script. Not a POST, to which the flags alone
/// would add a `Content-Length`.
const STATIC: [&str; 4] = ["-X", "OPTIONS", "-H", "X-Kind: static"];

/// Target ratio of requests per CPU-second to wrk's with a request() and a response().
const AIM: f64 = 1.3;

const RATIO: &str = "requests per CPU-second, ratio";

pub(super) fn cost(fixture: &Fixture, section: &mut Section) -> Result<()> {
    let server = fixture.nginx()?;
    let mut table = Table::default();
    let throughput = add_static(fixture, &server, &mut table)?;
    for script in SCRIPTS {
        add_against_wrk(fixture, &server, script, &mut table)?;
    }
    let above = format!(
        "Cost of a script: a closed loop on nginx, `-t2 -c100`, {} rounds of {} s; start and end \
         of the process count. The static script is held to flags that send the same (throughput: \
         {} of theirs), each other script to wrk with that script. {AIM} is aimed at where there \
         are `request()` and `response()`.",
        fixture.options.rounds,
        seconds(fixture),
        throughput
    );
    let own = table.filter("script", &SCRIPTS).filter("client", &["weir"]);
    section.show(own.select(&["script", RATIO]));
    section.table(&above, table);
    Ok(())
}

/// Adds weir without and with a static script; returns the ratio of their throughputs.
fn add_static(fixture: &Fixture, server: &Server, table: &mut Table) -> Result<String> {
    let script = "static.lua";
    let flag = flag(script)?;
    let flags: [Vec<&str>; 2] = [STATIC.to_vec(), flag.split(' ').collect()];
    let names = ["flags", "script"].map(str::to_owned);
    let run = |at: usize| weir(fixture, server, &flags[at]);
    let paired = Paired::run("scripts, static", fixture.options.rounds, &names, run)?;
    for (at, script) in ["none", script].into_iter().enumerate() {
        add(table, &paired, at, "weir", script, &paired.efficiency_cell(at));
    }
    Ok(table::estimate(&paired.throughput(1)))
}

/// Adds wrk, if there is one, and weir with one script.
fn add_against_wrk(
    fixture: &Fixture,
    server: &Server,
    script: &str,
    table: &mut Table,
) -> Result<()> {
    let flag = flag(script)?;
    let flag: Vec<&str> = flag.split(' ').collect();
    let wrk = Peer::Wrk.find();
    let names: Vec<String> = wrk.iter().map(|_| "wrk").chain(["weir"]).map(str::to_owned).collect();
    let run = |at: usize| match &wrk {
        Some(wrk) if at == 0 => {
            let duration = duration(fixture);
            let options = [&["-t2", "-c100", &duration], &flag[..]].concat();
            clients::wrk(wrk, fixture.placement.client, &options, &server.url)
        }
        _ => weir(fixture, server, &flag),
    };
    let paired = Paired::run(&format!("scripts, {script}"), fixture.options.rounds, &names, run)?;
    for (at, name) in names.iter().enumerate() {
        let ratio = match wrk {
            None => "wrk is absent".to_owned(),
            Some(_) => paired.efficiency_cell(at),
        };
        add(table, &paired, at, name, script, &ratio);
    }
    Ok(())
}

fn add(table: &mut Table, paired: &Paired, at: usize, client: &str, script: &str, ratio: &str) {
    table.add(&[
        ("client", &client),
        ("script", &script),
        (RATIO, &ratio),
        ("µs CPU per request", &format!("{:.2}", paired.cost_us(at))),
        ("requests/s", &table::rate(paired.requests_per_second(at))),
    ]);
}

fn weir(fixture: &Fixture, server: &Server, flags: &[&str]) -> Result<ClientRun> {
    let duration = duration(fixture);
    let options = ["-t2", "-c100", &duration, "--warmup", "0", "--no-preflight"];
    let options = [&options[..], flags].concat();
    let (run, document) =
        clients::weir(&fixture.weir, fixture.placement.client, &options, &server.url)?;
    let failures = clients::failures(&document);
    ensure!(failures == 0, "{failures} requests of weir failed");
    Ok(run)
}

fn duration(fixture: &Fixture) -> String {
    format!("-d{}s", seconds(fixture))
}

/// Returns the length of one side of a round. There are many comparisons, and many short rounds are
/// more precise than few long ones if the machine drifts.
fn seconds(fixture: &Fixture) -> u32 {
    fixture.options.seconds.div_ceil(3)
}
