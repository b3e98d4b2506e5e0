//! weir against one of its peers: the client's cost of a request, by load, server and engine.

use anyhow::Result;

use super::client::Client;
use super::load::Load;
use super::paired::Paired;
use super::peers::Peer;
use super::{Fixture, Section};
use crate::rig::servers::Server;
use crate::rig::table::{self, Table};

const DEPTH: [Load; 4] = [Load::of(1), Load::of(20), Load::of(100), Load::of(1_000)];
const PIPELINING: [Load; 2] = [Load::of(20).pipelined(16), Load::of(20).pipelined(64)];
const BODIES: [Load; 4] = [
    Load::of(20).with_body(1 << 10),
    Load::of(20).with_body(10 << 10),
    Load::of(20).with_body(128 << 10),
    Load::of(20).with_body(1 << 20),
];
const CLOSE: [Load; 1] = [Load::of(50).closing()];

/// All loads, for the peers.
pub(super) const LOADS: [&[Load]; 4] = [&DEPTH, &PIPELINING, &BODIES, &CLOSE];

pub(super) fn depth(fixture: &Fixture) -> Result<Section> {
    let aims = "With 100 connections at least 1.15 is wanted on nginx and 1.4 on `weir serve` \
                with io_uring. With 20, nginx and the kernel are most of it: 1.15 is beyond the \
                limit, and 0.9 of the limit is wanted.";
    section(fixture, "one request at a time", aims, &DEPTH, &[&["--wait", "throughput"]])
}

pub(super) fn pipelining(fixture: &Fixture) -> Result<Section> {
    let aims = "wrk sends the batch as one string of a script. At least 0.85 of the limit is \
                wanted: nginx sends each response by itself, and to receive them is nearly all of \
                the cost.";
    section(fixture, "pipelining", aims, &PIPELINING, &[&["--wait", "throughput"]])
}

pub(super) fn bodies(fixture: &Fixture) -> Result<Section> {
    let aims = "nginx sends files. At least 1.6 is wanted at 128 KiB.";
    section(fixture, "bodies", aims, &BODIES, &[])
}

pub(super) fn close(fixture: &Fixture) -> Result<Section> {
    let aims = "A request asks for `Connection: close`; with `--close client` it does not, and \
                weir closes. At least 1.1 is wanted.";
    section(fixture, "a connection for each request", aims, &CLOSE, &[&["--close", "client"]])
}

/// Makes the tables of these loads, one for each server. `more` are flags with which weir takes
/// part a second time, if it has them.
fn section(
    fixture: &Fixture,
    title: &'static str,
    about: &str,
    loads: &[Load],
    more: &[&'static [&'static str]],
) -> Result<Section> {
    let known = more.iter().filter(|flags| fixture.knows(flags[0]));
    let mut clients = clients(fixture, Peer::Wrk);
    clients.extend(known.map(|flags| Client::Weir(flags)));
    let mut text = format!(
        "A closed loop of one client thread. {} {about} {LIMIT}\n",
        fixture.method(fixture.options.seconds, "weir has no warm-up here")
    );
    for flags in more.iter().filter(|flags| !fixture.knows(flags[0])) {
        text.push_str(&format!("\nNot run: this weir has no `{}`.\n", flags[0]));
    }
    for server in [fixture.nginx()?, fixture.weir_serve()?] {
        text.push_str(&compare(fixture, &server, loads, Peer::Wrk, &clients)?);
    }
    Ok(Section { title, text, failures: Vec::new() })
}

/// Returns the sides of a comparison: the peer, if it is there, and weir on each engine.
pub(super) fn clients(fixture: &Fixture, peer: Peer) -> Vec<Client> {
    let peer = peer.find().map(|_| Client::Peer(peer));
    peer.into_iter().chain(fixture.engines.iter().map(|flags| Client::Weir(flags))).collect()
}

/// Meaning of the tables' column `limit`.
pub(super) const LIMIT: &str = "The limit of a ratio is what it would be if weir's own code took \
    no time: the rest is the kernel's, to send, receive and wait.";

/// Compares clients with the peer, which is the first of them, by each load on one server. Returns
/// the table with its heading.
pub(super) fn compare(
    fixture: &Fixture,
    server: &Server,
    loads: &[Load],
    peer: Peer,
    clients: &[Client],
) -> Result<String> {
    let ratio = format!("requests per CPU-second ÷ {}'s", peer.name());
    let heads =
        ["load", "client", &ratio, "limit", "µs CPU per request", "requests/s", "resident MiB"];
    let mut table = Table::new(&heads);
    for load in loads {
        add(fixture, server, load, clients, &mut table)?;
    }
    Ok(format!("\n### On {}\n\n{}", server.name, table.finish()))
}

fn add(
    fixture: &Fixture,
    server: &Server,
    load: &Load,
    clients: &[Client],
    table: &mut Table,
) -> Result<()> {
    let names: Vec<String> = clients.iter().map(|client| client.name()).collect();
    let run = |at: usize| clients[at].run(fixture, server, load, fixture.options.seconds);
    let paired =
        Paired::run(&format!("{}, {load}", server.name), fixture.options.rounds, &names, run)?;
    for (at, name) in names.into_iter().enumerate() {
        let ratio = match (clients[0], at) {
            (Client::Weir(_), _) => "it is absent".to_owned(),
            (Client::Peer(_), 0) => "1".to_owned(),
            (Client::Peer(_), _) => table::estimate(&paired.efficiency(at)),
        };
        let limit = match clients[at] {
            Client::Weir(_) if at > 0 => format!("{:.2}", paired.efficiency_limit(at)),
            _ => "–".to_owned(),
        };
        table.row(&[
            load.to_string(),
            name,
            ratio,
            limit,
            format!("{:.2}", paired.cost_us(at)),
            table::rate(paired.requests_per_second(at)),
            table::mebibytes(paired.resident_bytes(at)),
        ]);
    }
    Ok(())
}
