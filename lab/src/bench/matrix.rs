//! weir against one of its peers: the client's cost of a request, by load, server and engine.

use anyhow::Result;

use super::Fixture;
use super::client::Client;
use super::load::Load;
use super::paired::Paired;
use super::peers::Peer;
use crate::rig::section::Section;
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

/// Texts of a case.
struct About {
    title: &'static str,
    question: &'static str,
    /// Properties of the load, and the aims with their reasons.
    aims: &'static str,
    /// The aims in a few words.
    wanted: &'static str,
}

pub(super) fn depth(fixture: &Fixture) -> Result<Section> {
    let about = About {
        title: "one request at a time",
        question: "What does a request cost in a closed loop, one at a time on each connection?",
        aims: "With 100 connections at least 1.15 is wanted on nginx and 1.4 on `weir serve` with \
               io_uring. With 20, nginx and the kernel are most of it: 1.15 is beyond the limit, \
               and 0.9 of the limit is wanted.",
        wanted: "with 100 connections 1.15 on nginx, 1.4 on `weir serve`",
    };
    section(fixture, &about, &DEPTH, &[&["--wait", "throughput"]])
}

pub(super) fn pipelining(fixture: &Fixture) -> Result<Section> {
    let about = About {
        title: "many requests in flight",
        question: "What does a request cost with 16 or 64 in flight on a connection?",
        aims: "wrk sends the batch as one string of a script. At least 0.85 of the limit is \
               wanted: nginx sends each response by itself, and to receive them is nearly all of \
               the cost.",
        wanted: "0.85 of the limit",
    };
    section(fixture, &about, &PIPELINING, &[&["--wait", "throughput"]])
}

pub(super) fn bodies(fixture: &Fixture) -> Result<Section> {
    let about = About {
        title: "responses with bodies",
        question: "What does a response with a body cost?",
        aims: "nginx sends files. At least 1.6 is wanted at 128 KiB.",
        wanted: "1.6 at 128 KiB",
    };
    section(fixture, &about, &BODIES, &[])
}

pub(super) fn close(fixture: &Fixture) -> Result<Section> {
    let about = About {
        title: "a connection for each request",
        question: "What does a request with a connection of its own cost?",
        aims: "A request asks for `Connection: close`; with `--close client` it does not, and weir \
               closes. At least 1.1 is wanted.",
        wanted: "1.1",
    };
    section(fixture, &about, &CLOSE, &[&["--close", "client"]])
}

/// Makes the tables of these loads, one for each server. `more` are flags with which weir takes
/// part a second time, if it has them.
fn section(
    fixture: &Fixture,
    about: &About,
    loads: &[Load],
    more: &[&'static [&'static str]],
) -> Result<Section> {
    let known = more.iter().filter(|flags| fixture.knows(flags[0]));
    let mut clients = clients(fixture, Peer::Wrk);
    clients.extend(known.map(|flags| Client::Weir(flags)));
    let method = format!(
        "A closed loop of one client thread. {} {} {LIMIT}",
        fixture.method(fixture.options.seconds, "weir has no warm-up here"),
        about.aims
    );
    let mut section = Section::new(about.title, about.question, method).reported();
    for flags in more.iter().filter(|flags| !fixture.knows(flags[0])) {
        section.note(format!("Not run: this weir has no `{}`.", flags[0]));
    }
    let mut tables = Vec::new();
    for server in [fixture.nginx()?, fixture.weir_serve()?] {
        tables.push(compare(fixture, &server, loads, Peer::Wrk, &clients)?);
    }
    add_all(&mut section, tables, Peer::Wrk, &clients, about.wanted);
    Ok(section)
}

/// Adds the tables of several servers, and shows the ratios of weir's first engine.
pub(super) fn add_all(
    section: &mut Section,
    tables: Vec<Table>,
    peer: Peer,
    clients: &[Client],
    wanted: &str,
) {
    let peer_name = peer.name();
    let weir = clients.iter().find(|client| matches!(client, Client::Weir(_)));
    let name = weir.map_or_else(String::new, |weir| weir.name());
    section.verdict(format!(
        "Requests per CPU-second of `{name}`, divided by {peer_name}'s (wanted: {wanted}):"
    ));
    let ratio = ratio_head(peer);
    let mut shown = Table::new(&["server", "load", "ratio", "limit"]);
    for table in &tables {
        let server = table.above["On ".len()..].to_owned();
        for row in table.filter("client", &[&name]).select(&["load", &ratio, "limit"]).rows {
            shown.row(&[&[server.clone()][..], &row].concat());
        }
    }
    section.show(shown);
    for table in tables {
        let above = table.above.clone();
        section.table(&above, table);
    }
}

fn ratio_head(peer: Peer) -> String {
    format!("requests per CPU-second ÷ {}'s", peer.name())
}

/// Returns the sides of a comparison: the peer, if it is there, and weir on each engine.
pub(super) fn clients(fixture: &Fixture, peer: Peer) -> Vec<Client> {
    let peer = peer.find().map(|_| Client::Peer(peer));
    peer.into_iter().chain(fixture.engines.iter().map(|flags| Client::Weir(flags))).collect()
}

/// Meaning of the tables' column `limit`.
pub(super) const LIMIT: &str = "The limit of a ratio is what it would be if weir's own code took \
    no time: the rest is the kernel's, to send, receive and wait.";

/// Compares clients with the peer, which is the first of them, by each load on one server.
pub(super) fn compare(
    fixture: &Fixture,
    server: &Server,
    loads: &[Load],
    peer: Peer,
    clients: &[Client],
) -> Result<Table> {
    let ratio = ratio_head(peer);
    let heads =
        ["load", "client", &ratio, "limit", "µs CPU per request", "requests/s", "resident MiB"];
    let mut table = Table::new(&heads);
    for load in loads {
        add(fixture, server, load, clients, &mut table)?;
    }
    Ok(table.under(&format!("On {}", server.name)))
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
