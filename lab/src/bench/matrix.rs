//! weir against one of its peers: the client's cost of a request, by load, server and engine.

use anyhow::Result;

use super::client::Client;
use super::load::ClosedLoad;
use super::paired::{self, Paired};
use crate::rig::{Fixture, Peer, Section, Server, Table, table};

/// A case: its texts and loads.
pub(super) struct CostCase {
    title: &'static str,
    question: &'static str,
    /// Properties of the load, and the aims with their reasons.
    aims: &'static str,
    /// The aims in a few words.
    wanted: &'static str,
    loads: &'static [ClosedLoad],
    /// Flags with which weir takes part a second time.
    more: Option<&'static [&'static str]>,
}

pub(super) const DEPTH: CostCase = CostCase {
    title: "one request at a time",
    question: "What does a request cost in a closed loop, one at a time on each connection?",
    aims: "With 100 connections at least 1.15 is wanted on nginx and 1.4 on `weir serve` with \
           io_uring. With 20, nginx and the kernel are most of it: 1.15 is beyond the limit, and \
           0.9 of the limit is wanted.",
    wanted: "with 100 connections 1.15 on nginx, 1.4 on `weir serve`",
    loads: &[ClosedLoad::of(1), ClosedLoad::of(20), ClosedLoad::of(100), ClosedLoad::of(1_000)],
    more: Some(&["--wait", "throughput"]),
};

pub(super) const PIPELINING: CostCase = CostCase {
    title: "many requests in flight",
    question: "What does a request cost with 16 or 64 in flight on a connection?",
    aims: "wrk sends the batch as one string of a script. At least 0.85 of the limit is wanted: \
           nginx sends each response by itself, and to receive them is nearly all of the cost.",
    wanted: "0.85 of the limit",
    loads: &[ClosedLoad::of(20).pipelined(16), ClosedLoad::of(20).pipelined(64)],
    more: Some(&["--wait", "throughput"]),
};

pub(super) const BODIES: CostCase = CostCase {
    title: "responses with bodies",
    question: "What does a response with a body cost?",
    aims: "nginx sends files. At least 1.6 is wanted at 128 KiB.",
    wanted: "1.6 at 128 KiB",
    loads: &[
        ClosedLoad::of(20).with_body(1 << 10),
        ClosedLoad::of(20).with_body(10 << 10),
        ClosedLoad::of(20).with_body(128 << 10),
        ClosedLoad::of(20).with_body(1 << 20),
    ],
    more: None,
};

pub(super) const CLOSE: CostCase = CostCase {
    title: "a connection for each request",
    question: "What does a request with a connection of its own cost?",
    aims: "A request asks for `Connection: close`; with `--close client` it does not, and weir \
           closes. At least 1.1 is wanted.",
    wanted: "1.1",
    loads: &[ClosedLoad::of(50).closing()],
    more: Some(&["--close", "client"]),
};

/// Makes the tables of a case, one for each server.
pub(super) fn section(fixture: &Fixture, case: &CostCase) -> Result<Section> {
    let mut clients = clients(fixture, Peer::Wrk)?;
    clients.extend(case.more.map(Client::Weir));
    let method = format!(
        "A closed loop of one client thread. {} {} {LIMIT}",
        paired::method(fixture),
        case.aims
    );
    let mut section = Section::new(case.title, case.question, method).reported();
    let servers = [fixture.nginx()?, fixture.weir_serve()?];
    let all = servers.each_ref().map(|server| (server, case.loads));
    compare_all(fixture, &mut section, &all, Peer::Wrk, &clients, case.wanted)?;
    Ok(section)
}

/// Compares clients with the peer, which is the first of them, on several servers by the loads of
/// each. Adds the tables, and shows the ratios of weir's first engine.
pub(super) fn compare_all(
    fixture: &Fixture,
    section: &mut Section,
    servers: &[(&Server, &[ClosedLoad])],
    peer: Peer,
    clients: &[Client],
    wanted: &str,
) -> Result<()> {
    let peer_name = peer.name();
    let weir = clients.iter().find(|client| matches!(client, Client::Weir(_)));
    let name = weir.map_or_else(String::new, |weir| weir.name());
    section.verdict(format!(
        "Requests per CPU-second of `{name}`, divided by {peer_name}'s (wanted: {wanted}):"
    ));
    let ratio = ratio_head(peer);
    let mut shown = Table::new(&["server", "load", "ratio", "limit"]);
    for (server, loads) in servers {
        let table = compare(fixture, server, loads, peer, clients)?;
        for row in table.filter("client", &[&name]).select(&["load", &ratio, "limit"]).rows {
            shown.row(&[&[server.name.to_owned()][..], &row].concat());
        }
        section.table(&format!("On {}", server.name), table);
    }
    section.show(shown);
    Ok(())
}

fn ratio_head(peer: Peer) -> String {
    format!("requests per CPU-second ÷ {}'s", peer.name())
}

/// Returns the sides of a comparison: the peer, if it is there, and weir on each engine.
pub(super) fn clients(fixture: &Fixture, peer: Peer) -> Result<Vec<Client>> {
    let peer = peer.find().map(|_| Client::Peer(peer));
    Ok(peer.into_iter().chain(fixture.engines()?.into_iter().map(Client::Weir)).collect())
}

/// Meaning of the tables' column `limit`.
pub(super) const LIMIT: &str = "The limit of a ratio is what it would be if weir's own code took \
    no time: the rest is the kernel's, to send, receive and wait.";

/// Compares clients with the peer by each load on one server.
fn compare(
    fixture: &Fixture,
    server: &Server,
    loads: &[ClosedLoad],
    peer: Peer,
    clients: &[Client],
) -> Result<Table> {
    let ratio_head = ratio_head(peer);
    let mut table = Table::default();
    let names: Vec<String> = clients.iter().map(|client| client.name()).collect();
    for load in loads {
        let run = |at: usize| clients[at].run(fixture, server, load, fixture.options.seconds);
        let paired =
            Paired::run(&format!("{}, {load}", server.name), fixture.options.rounds, &names, run)?;
        for (at, name) in names.iter().enumerate() {
            let ratio = match (clients[0], at) {
                (Client::Weir(_), _) => "it is absent".to_owned(),
                (Client::Peer(_), _) => paired.efficiency_cell(at),
            };
            let limit = match clients[at] {
                Client::Weir(_) if at > 0 => format!("{:.2}", paired.efficiency_limit(at)),
                _ => "–".to_owned(),
            };
            table.add(&[
                ("load", load),
                ("client", name),
                (&ratio_head, &ratio),
                ("limit", &limit),
                ("µs CPU per request", &format!("{:.2}", paired.cost_us(at))),
                ("requests/s", &table::rate(paired.requests_per_second(at))),
                ("resident MiB", &table::mebibytes(paired.resident_bytes(at))),
            ]);
        }
    }
    Ok(table)
}
