//! What a request costs the client: weir against wrk, on the same nginx, at depth 1.

use anyhow::{Result, ensure};

use super::paired::Paired;
use super::{Lab, Section};
use crate::rig::clients::{self, Run};
use crate::rig::servers::Server;
use crate::rig::table::{self, Table};

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
    let names: Vec<String> = clients.iter().map(|client| client.name()).collect();
    for connections in CONNECTIONS {
        let what = format!("cost, {connections} connections");
        let run = |at: usize| clients[at].run(lab, &server, connections);
        let paired = Paired::run(&what, lab.options.rounds, &names, run)?;
        for (at, client) in clients.iter().enumerate() {
            let ratio = match (clients[0], client) {
                (Client::Wrk, Client::Weir { .. }) => table::estimate(&paired.efficiency(at)),
                (Client::Wrk, Client::Wrk) => "1".to_owned(),
                _ => "wrk is absent".to_owned(),
            };
            table.row(&[
                client.name(),
                connections.to_string(),
                ratio,
                format!("{:.2}", paired.cost_us(at)),
                table::rate(paired.requests_per_second(at)),
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

impl Client {
    fn name(self) -> String {
        match self {
            Client::Wrk => "wrk".to_owned(),
            Client::Weir { io } => format!("weir --io {io}"),
        }
    }

    fn run(self, lab: &Lab, server: &Server, connections: u32) -> Result<Run> {
        let cpu = lab.placement.client;
        let (connections, seconds) =
            (format!("-c{connections}"), format!("-d{}s", lab.options.seconds));
        let options = ["-t1", &connections, &seconds];
        match (self, &lab.wrk) {
            (Client::Wrk, Some(wrk)) => clients::wrk(wrk, cpu, &options, &server.url),
            (Client::Weir { io }, _) => {
                let more = ["--warmup", "0", "--no-preflight", "--io", io];
                let options = [&options[..], &more].concat();
                let (run, document) = clients::weir(&lab.weir, cpu, &options, &server.url)?;
                let failures = document.failures()?;
                ensure!(failures == 0, "{failures} requests of weir failed");
                Ok(run)
            }
            (Client::Wrk, None) => unreachable!("it only takes part where it is installed"),
        }
    }
}
