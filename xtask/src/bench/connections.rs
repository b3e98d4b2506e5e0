//! Ten thousand connections from one thread, in a closed loop and at a constant rate.

use anyhow::Result;

use super::{Lab, Section};
use crate::rig::clients::{self, Document, Run};
use crate::rig::servers::Server;
use crate::rig::table::{self, Table};

const CONNECTIONS: u64 = 10_000;

/// Most resident memory a client with so many connections may take.
const MEMORY_MAX_MIB: f64 = 64.0;

/// The constant rate: this, or half of what the closed loop reached on a slower machine.
const RATE_MAX: f64 = 20_000.0;

pub(super) fn connections(lab: &Lab) -> Result<Section> {
    let mut table = Table::new(&[
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
    ]);
    let mut failures = Vec::new();
    for server in [lab.weir_serve()?, lab.nginx()?] {
        let (run, closed) = load(lab, &server, None)?;
        failures.extend(row(&mut table, &server, "closed loop", None, &run, &closed)?);
        let carried = (closed.number("throughput/completed_rps")? / 2.0).min(RATE_MAX);
        let rate = (carried / 1_000.0).floor().max(1.0) as u64 * 1_000;
        let (run, open) = load(lab, &server, Some(rate))?;
        let name = format!("{}/s", table::thousands(rate));
        failures.extend(row(&mut table, &server, &name, Some(rate), &run, &open)?);
    }
    let text = format!(
        "{} connections, one client thread, {} s after 2 s of warm-up. The rate is {}/s, or half \
         of what the closed loop reached. Each may be off the plan by 0.1 %, and must have every \
         connection open, no error and at most {MEMORY_MAX_MIB} MiB.\n\n{}",
        table::thousands(CONNECTIONS),
        seconds(lab),
        table::rate(RATE_MAX),
        table.finish()
    );
    Ok(Section { title: "Ten thousand connections", text, failures })
}

fn seconds(lab: &Lab) -> u32 {
    lab.options.span(30, 3)
}

fn load(lab: &Lab, server: &Server, rate: Option<u64>) -> Result<(Run, Document)> {
    let (connections, seconds) = (format!("-c{CONNECTIONS}"), format!("-d{}s", seconds(lab)));
    let rate = rate.map(|rate| format!("-R{rate}"));
    let mut options = vec!["-t1", &connections, &seconds, "--warmup", "2s"];
    options.extend(rate.as_deref());
    eprintln!("bench: connections, {}: {}", server.name, options.join(" "));
    clients::weir(&lab.weir, lab.placement.client, &options, &server.url)
}

/// Adds a row; returns what must not be.
fn row(
    table: &mut Table,
    server: &Server,
    load: &str,
    rate: Option<u64>,
    run: &Run,
    document: &Document,
) -> Result<Vec<String>> {
    let open = document.count("connections/open_at_t0")?;
    let errors = document.failures()?;
    let resident_mib = document.number("run/client/max_resident_bytes")? / f64::from(1 << 20);
    let sent_rps = document.number("throughput/sent_rps")?;
    let deviation = rate.map(|rate| (sent_rps / rate as f64 - 1.0) * 100.0);
    table.row(&[
        server.name.to_owned(),
        load.to_owned(),
        table::thousands(open),
        table::rate(sent_rps),
        deviation.map_or("—".to_owned(), |percent| format!("{percent:+.3} %")),
        table::thousands(document.count("accounting/never_sent")?),
        table::thousands(document.count("accounting/in_flight_at_end")?),
        table::thousands(errors),
        format!("{resident_mib:.1}"),
        format!("{:.0} %", 100.0 * run.cpu_s / run.wall_s),
    ]);
    let what = |complaint: String| format!("{}, {load}: {complaint}", server.name);
    let mut failures = Vec::new();
    if open != CONNECTIONS {
        failures.push(what(format!("{open} of {CONNECTIONS} connections open at t0")));
    }
    if errors > 0 {
        failures.push(what(format!("{errors} errors")));
    }
    if resident_mib > MEMORY_MAX_MIB {
        failures.push(what(format!("{resident_mib:.1} MiB resident")));
    }
    Ok(failures)
}
