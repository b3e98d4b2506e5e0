//! What a request costs the client: weir against wrk, on the same nginx, at depth 1.

use anyhow::{Result, ensure};

use super::clients::{self, Run};
use super::servers::Server;
use super::stats::{Estimate, median};
use super::table::{self, Table};
use super::{Lab, Section};

const CONNECTIONS: [u32; 2] = [20, 100];

/// A client in the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Client {
    Wrk,
    Weir { io: &'static str },
}

pub(super) fn cost(lab: &Lab) -> Result<Section> {
    let server = lab.nginx()?;
    let mut clients: Vec<Client> = lab.engines.iter().map(|io| Client::Weir { io }).collect();
    if lab.wrk.is_some() {
        clients.insert(0, Client::Wrk);
    }
    let mut table = Table::new(&[
        "client",
        "connections",
        "requests per CPU-second ÷ wrk's",
        "µs CPU per request",
        "requests/s",
    ]);
    for connections in CONNECTIONS {
        let rounds = rounds(lab, &server, &clients, connections)?;
        for (at, client) in clients.iter().enumerate() {
            let runs: Vec<Run> = rounds.iter().map(|round| round[at]).collect();
            let ratio = match (&clients[0], client) {
                (Client::Wrk, Client::Weir { .. }) => {
                    let ratios = rounds.iter().map(|r| r[0].cost_us() / r[at].cost_us()).collect();
                    table::estimate(&Estimate::of(ratios))
                }
                (Client::Wrk, Client::Wrk) => "1".to_owned(),
                _ => "wrk is absent".to_owned(),
            };
            table.row(&[
                client.name(),
                connections.to_string(),
                ratio,
                format!("{:.2}", median(runs.iter().map(Run::cost_us).collect())),
                table::rate(median(runs.iter().map(Run::requests_per_second).collect())),
            ]);
        }
    }
    let text = format!(
        "A closed loop on nginx (1 worker, 14 bytes of body), one client thread, {} rounds of {} s \
         for each number of connections. No warm-up on either side; start and end of the process \
         count.\n\n{}",
        lab.options.rounds,
        lab.options.seconds,
        table.finish()
    );
    Ok(Section { title: "Cost of a request, against wrk", text, failures: Vec::new() })
}

/// For each round, the runs in the order of `clients`.
fn rounds(
    lab: &Lab,
    server: &Server,
    clients: &[Client],
    connections: u32,
) -> Result<Vec<Vec<Run>>> {
    let mut rounds = Vec::new();
    for number in 1..=lab.options.rounds {
        let mut order: Vec<usize> = (0..clients.len()).collect();
        if number.is_multiple_of(2) {
            order.reverse();
        }
        let mut runs = vec![None; clients.len()];
        for at in order {
            runs[at] = Some(clients[at].run(lab, server, connections)?);
        }
        let runs: Vec<Run> = runs.into_iter().flatten().collect();
        let costs = clients.iter().zip(&runs);
        let costs = costs.map(|(client, run)| format!("{} {:.2} µs", client.name(), run.cost_us()));
        let costs = costs.collect::<Vec<_>>().join(", ");
        eprintln!("bench: cost, {connections} connections, round {number}: {costs}");
        rounds.push(runs);
    }
    Ok(rounds)
}

impl Client {
    fn name(self) -> String {
        match self {
            Client::Wrk => "wrk".to_owned(),
            Client::Weir { io } => format!("weir --io {io}"),
        }
    }

    fn run(self, lab: &Lab, server: &Server, connections: u32) -> Result<Run> {
        let (cpu, seconds) = (lab.placement.client, lab.options.seconds);
        match (self, &lab.wrk) {
            (Client::Wrk, Some(wrk)) => clients::wrk(wrk, cpu, connections, seconds, &server.url),
            (Client::Weir { io }, _) => {
                let (connections, seconds) = (format!("-c{connections}"), format!("-d{seconds}s"));
                let options = ["-t1", &connections, &seconds, "--warmup", "0", "--no-preflight"];
                let options = [&options[..], &["--io", io]].concat();
                let (run, document) = clients::weir(&lab.weir, cpu, &options, &server.url)?;
                let failures = document.failures()?;
                ensure!(failures == 0, "{failures} requests of weir failed");
                Ok(run)
            }
            (Client::Wrk, None) => unreachable!("it only takes part where it is installed"),
        }
    }
}
