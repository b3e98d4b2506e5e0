//! What a request costs the server: `weir serve` against nginx, under the same client.

use anyhow::{Result, ensure};

use super::clients;
use super::servers::Server;
use super::stats::{Estimate, median};
use super::table::{self, Table};
use super::{Lab, Section};

/// What a server did in one run of the client.
#[derive(Clone, Copy, Debug)]
struct Served {
    cost_us: f64,
    requests_per_second: f64,
}

pub(super) fn serving(lab: &Lab) -> Result<Section> {
    let servers = [lab.nginx()?, lab.weir_serve()?];
    let mut rounds = Vec::new();
    for number in 1..=lab.options.rounds {
        let (nginx, weir);
        if number.is_multiple_of(2) {
            weir = load(lab, &servers[1])?;
            nginx = load(lab, &servers[0])?;
        } else {
            nginx = load(lab, &servers[0])?;
            weir = load(lab, &servers[1])?;
        }
        eprintln!(
            "bench: serve, round {number}: nginx {:.2} µs, weir serve {:.2} µs",
            nginx.cost_us, weir.cost_us
        );
        rounds.push([nginx, weir]);
    }
    let mut table = Table::new(&[
        "server",
        "requests per CPU-second ÷ nginx's",
        "µs CPU per request",
        "requests/s",
    ]);
    for (at, server) in servers.iter().enumerate() {
        let ratios = rounds.iter().map(|round| round[0].cost_us / round[at].cost_us).collect();
        let column = |of: fn(&Served) -> f64| median(rounds.iter().map(|r| of(&r[at])).collect());
        table.row(&[
            server.name.to_owned(),
            if at == 0 { "1".to_owned() } else { table::estimate(&Estimate::of(ratios)) },
            format!("{:.2}", column(|served| served.cost_us)),
            table::rate(column(|served| served.requests_per_second)),
        ]);
    }
    let text = format!(
        "The server's CPU time under weir's closed loop of 100 connections, one thread on each \
         side, {} rounds of {} s.\n\n{}",
        lab.options.rounds,
        lab.options.seconds,
        table.finish()
    );
    Ok(Section { title: "`weir serve` against nginx", text, failures: Vec::new() })
}

fn load(lab: &Lab, server: &Server) -> Result<Served> {
    let duration = format!("-d{}s", lab.options.seconds);
    let options = ["-t1", "-c100", &duration, "--warmup", "0", "--no-preflight"];
    let before = server.cpu_seconds()?;
    let (run, document) = clients::weir(&lab.weir, lab.placement.client, &options, &server.url)?;
    let cpu_s = server.cpu_seconds()? - before;
    let failures = document.failures()?;
    ensure!(failures == 0, "{failures} requests to {} failed", server.name);
    ensure!(cpu_s > 0.0, "{} used no CPU time that shows; take longer rounds", server.name);
    Ok(Served {
        cost_us: cpu_s * 1e6 / run.requests as f64,
        requests_per_second: run.requests_per_second(),
    })
}
