//! Thousands of connections, from the fewest threads that support them, in a closed loop and at a
//! constant rate.

use anyhow::{Context, Result, anyhow};

use crate::rig::{
    Fixture, NGINX_CONNECTIONS, PER_SERVER_THREAD, PER_THREAD, Section, Server, clients, table,
};

const CONNECTIONS: [u32; 3] = [1_000, 10_000, 100_000];

/// Largest number of connections from one source address; more would run out of ports.
const ONE_ADDRESS_MAX: u32 = 25_000;

/// Eight source addresses, all of the loopback interface.
const SOURCES: &str = "--source-ip 127.1.0.0/29";

/// Largest resident memory of a client with up to [`ONE_ADDRESS_MAX`] connections.
const MEMORY_MAX_MIB: f64 = 64.0;

/// Maximum of the constant rate; on a slower machine it is half of the closed loop's throughput.
const RATE_MAX: f64 = 20_000.0;

const QUESTION: &str =
    "Does weir hold up to 100,000 connections in a closed loop and at a constant rate?";

pub(super) fn connections(fixture: &Fixture) -> Result<Section> {
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
    for connections in CONNECTIONS {
        let threads = format!("--threads {}", connections.div_ceil(PER_SERVER_THREAD));
        let weir_serve = Server::weir(&fixture.weir, fixture.placement.server, &threads)?;
        for server in [weir_serve, fixture.nginx()?] {
            let name = format!("{} on {}", table::thousands(connections.into()), server.name);
            let added = match server.name == "nginx" && connections > NGINX_CONNECTIONS {
                true => Err(anyhow!("it is set up for {NGINX_CONNECTIONS} connections")),
                false => add(fixture, &server, connections, &mut section),
            };
            match added {
                // Loads that a machine may be unable to carry are reported, not judged.
                Err(error) if connections > ONE_ADDRESS_MAX => {
                    section.note(format!("Not run: {name}: {error:#}."));
                }
                added => added.context(name)?,
            }
        }
    }
    section.verdict(format!("Errors in all loads: {}.", section.sum("errors")));
    section.show_rows(
        &[("server", &["weir serve"])],
        &["connections", "load", "open at t0", "sent/s", "resident MiB"],
    );
    Ok(section)
}

fn seconds(fixture: &Fixture) -> u32 {
    fixture.span(6, 2)
}

/// Adds a closed loop, and then a constant rate that it has shown to be possible.
fn add(fixture: &Fixture, server: &Server, connections: u32, section: &mut Section) -> Result<()> {
    let threads = connections.div_ceil(PER_THREAD);
    let seconds = seconds(fixture);
    let sources = if connections > ONE_ADDRESS_MAX { SOURCES } else { "" };
    let flags = format!("-t{threads} -c{connections} -d{seconds}s --warmup 2s {sources}");
    let mut rate: Option<u64> = None;
    for _ in 0..2 {
        let rate_flag = rate.map_or(String::new(), |rate| format!("-R{rate}"));
        let (run, document) = fixture.timed_weir(&format!("{flags} {rate_flag}"), &server.url)?;
        let load = rate.map_or("closed loop".to_owned(), |rate| table::thousands(rate) + "/s");
        let open = document.connections.open_at_t0;
        let errors = clients::failures(&document);
        let resident_mib = clients::resident_mib(&document);
        let sent_rps = document.throughput.sent_rps;
        let deviation = rate.map(|rate| (sent_rps / rate as f64 - 1.0) * 100.0);
        section.row(&[
            ("connections", &table::thousands(connections.into())),
            ("server", &server.name),
            ("load", &load),
            ("open at t0", &table::thousands(open)),
            ("sent/s", &table::rate(sent_rps)),
            ("off the plan", &deviation.map_or("—".to_owned(), |off| format!("{off:+.3} %"))),
            ("never sent", &table::thousands(document.results.outcomes.never_sent)),
            ("in flight at end", &table::thousands(document.results.outcomes.in_flight_at_end)),
            ("errors", &table::thousands(errors)),
            ("resident MiB", &format!("{resident_mib:.1}")),
            ("client CPU", &run.cpu()),
        ]);
        let about = format!("{connections} connections, {}, {load}", server.name);
        section.must(open == u64::from(connections), || format!("{about}: {open} open at t0"));
        section.must(errors == 0, || format!("{about}: {errors} errors"));
        section.must(connections > ONE_ADDRESS_MAX || resident_mib <= MEMORY_MAX_MIB, || {
            format!("{about}: {resident_mib:.1} MiB resident")
        });
        let carried = (document.results.completed_rps / 2.0).min(RATE_MAX);
        rate = Some((carried / 1_000.0).floor().max(1.0) as u64 * 1_000);
    }
    Ok(())
}
