//! Thousands of connections, from the fewest threads that support them, in a closed loop and at a
//! constant rate.

use anyhow::Result;
use weir_result::Document;

use super::Fixture;
use crate::rig::clients::{self, Run};
use crate::rig::section::Section;
use crate::rig::servers::{NGINX_CONNECTIONS, PER_SERVER_THREAD, PER_THREAD, Server};
use crate::rig::table::{self, Table};

const CONNECTIONS: [u32; 3] = [1_000, 10_000, 100_000];

/// Largest number of connections from one source address; more would run out of ports.
const ONE_ADDRESS_MAX: u32 = 25_000;

/// Eight source addresses, all of the loopback interface.
const SOURCES: [&str; 2] = ["--source-ip", "127.1.0.0/29"];

/// Largest resident memory of a client with up to [`ONE_ADDRESS_MAX`] connections.
const MEMORY_MAX_MIB: f64 = 64.0;

/// Maximum of the constant rate; on a slower machine it is half of the closed loop's throughput.
const RATE_MAX: f64 = 20_000.0;

const HEADS: [&str; 11] = [
    "connections",
    "server",
    "load",
    "open at t0",
    "sent/s",
    "off the plan",
    "never sent",
    "in flight at end",
    "errors",
    "resident MiB",
    "client CPU",
];

const QUESTION: &str =
    "Does weir hold up to 100,000 connections in a closed loop and at a constant rate?";

pub(super) fn connections(fixture: &Fixture) -> Result<Section> {
    let mut table = Table::new(&HEADS);
    let (mut failures, mut notes) = (Vec::new(), Vec::new());
    for connections in CONNECTIONS {
        let threads = connections.div_ceil(PER_SERVER_THREAD);
        let weir_serve = Server::weir(&fixture.weir, fixture.placement.server, threads)?;
        for server in [weir_serve, fixture.nginx()?] {
            let name = format!("{} on {}", table::thousands(connections.into()), server.name);
            let added = match cannot(fixture, &server, connections) {
                Some(reason) => Err(anyhow::anyhow!(reason)),
                None => add(fixture, &server, connections, &mut table),
            };
            match added {
                Ok(more) => failures.extend(more),
                // Loads that a machine may be unable to carry are reported, not judged.
                Err(error) if connections > ONE_ADDRESS_MAX => {
                    notes.push(format!("Not run: {name}: {error:#}."));
                }
                Err(error) => return Err(error.context(name)),
            }
        }
    }
    let method = format!(
        "One client thread for every {} connections, all on one CPU; {} s after 2 s of warm-up. \
         The rate is {}/s, or half of what the closed loop reached. Each may be off the plan by \
         0.1 %, and must have every connection open, no error and, up to {} connections, at most \
         {MEMORY_MAX_MIB} MiB.",
        table::thousands(PER_THREAD.into()),
        seconds(fixture),
        table::rate(RATE_MAX),
        table::thousands(ONE_ADDRESS_MAX.into())
    );
    let mut section = Section::new("thousands of connections", QUESTION, method);
    section.fail(failures);
    notes.into_iter().for_each(|note| section.note(note));
    section.verdict(format!("Errors in all loads: {}.", table.sum("errors")));
    let open = table.filter("server", &["weir serve"]);
    section.show(open.select(&["connections", "load", "open at t0", "sent/s", "resident MiB"]));
    section.table("", table);
    Ok(section)
}

fn seconds(fixture: &Fixture) -> u32 {
    fixture.options.span(6, 2)
}

/// Returns the reason not to try this number of connections.
fn cannot(fixture: &Fixture, server: &Server, connections: u32) -> Option<String> {
    if connections > ONE_ADDRESS_MAX && !fixture.knows(SOURCES[0]) {
        return Some(format!("this weir has no `{}`", SOURCES[0]));
    }
    let is_too_many = server.name == "nginx" && connections > NGINX_CONNECTIONS;
    is_too_many.then(|| format!("it is set up for {NGINX_CONNECTIONS} connections"))
}

/// Adds both loads; returns the failures.
fn add(
    fixture: &Fixture,
    server: &Server,
    connections: u32,
    table: &mut Table,
) -> Result<Vec<String>> {
    let (run, closed) = load(fixture, server, connections, None)?;
    let mut failures = row(table, server, (connections, "closed loop"), None, &run, &closed);
    let carried = (closed.throughput.completed_rps / 2.0).min(RATE_MAX);
    let rate = (carried / 1_000.0).floor().max(1.0) as u64 * 1_000;
    let (run, open) = load(fixture, server, connections, Some(rate))?;
    let name = format!("{}/s", table::thousands(rate));
    failures.extend(row(table, server, (connections, &name), Some(rate), &run, &open));
    Ok(failures)
}

fn load(
    fixture: &Fixture,
    server: &Server,
    connections: u32,
    rate: Option<u64>,
) -> Result<(Run, Document)> {
    let (count, seconds) = (format!("-c{connections}"), format!("-d{}s", seconds(fixture)));
    let threads = format!("-t{}", connections.div_ceil(PER_THREAD));
    let rate = rate.map(|rate| format!("-R{rate}"));
    let mut options = vec![threads.as_str(), &count, &seconds, "--warmup", "2s"];
    options.extend(rate.as_deref());
    if connections > ONE_ADDRESS_MAX {
        options.extend(SOURCES);
    }
    eprintln!("bench: connections, {}: {}", server.name, options.join(" "));
    clients::weir(&fixture.weir, fixture.placement.client, &options, &server.url)
}

/// Adds a row; returns the failures.
fn row(
    table: &mut Table,
    server: &Server,
    (connections, load): (u32, &str),
    rate: Option<u64>,
    run: &Run,
    document: &Document,
) -> Vec<String> {
    let open = document.connections.open_at_t0;
    let errors = clients::failures(document);
    let resident_mib = document.run.client.max_resident_bytes as f64 / f64::from(1 << 20);
    let sent_rps = document.throughput.sent_rps;
    let deviation = rate.map(|rate| (sent_rps / rate as f64 - 1.0) * 100.0);
    table.row(&[
        table::thousands(connections.into()),
        server.name.to_owned(),
        load.to_owned(),
        table::thousands(open),
        table::rate(sent_rps),
        deviation.map_or("—".to_owned(), |percent| format!("{percent:+.3} %")),
        table::thousands(document.accounting.never_sent),
        table::thousands(document.accounting.in_flight_at_end),
        table::thousands(errors),
        format!("{resident_mib:.1}"),
        format!("{:.0} %", 100.0 * run.cpu_s / run.wall_s),
    ]);
    let what = |complaint: String| {
        format!("{connections} connections, {}, {load}: {complaint}", server.name)
    };
    let mut failures = Vec::new();
    if open != u64::from(connections) {
        failures.push(what(format!("{open} open at t0")));
    }
    if errors > 0 {
        failures.push(what(format!("{errors} errors")));
    }
    if connections <= ONE_ADDRESS_MAX && resident_mib > MEMORY_MAX_MIB {
        failures.push(what(format!("{resident_mib:.1} MiB resident")));
    }
    failures
}
