//! A thousand threads with a script each: the memory of a state.

use anyhow::{Context, Result};
use weir_result::Document;

use super::super::Fixture;
use super::flag;
use crate::rig::clients;
use crate::rig::section::Section;
use crate::rig::servers::Server;
use crate::rig::table::{self, Table};

const THREADS: u64 = 1_000;

const SCRIPT: &str = "both.lua";

/// Largest memory that a state without data may hold, and add to the process. Every state may use
/// at least this much, however many share the machine.
const STATE_MAX_KIB: f64 = 4_096.0;

pub(super) fn states(fixture: &Fixture, section: &mut Section) -> Result<()> {
    let server = fixture.weir_serve()?;
    let bare = load(fixture, &server, &[])?;
    let flag = flag(SCRIPT)?;
    let scripted = load(fixture, &server, &flag.each_ref().map(String::as_str))?;
    let usage = scripted.script.as_ref().context("weir ran no script")?;
    let states = u64::from(usage.states);
    let largest_kib = usage.memory_max_bytes as f64 / 1_024.0;
    let more_kib = (resident_kib(&scripted) - resident_kib(&bare)) / THREADS as f64;
    let mut table = Table::new(&[
        "script",
        "states",
        "largest state KiB",
        "resident MiB",
        "resident per state KiB",
        "sent/s",
        "errors",
    ]);
    let [largest, more] = [largest_kib, more_kib].map(|kib| format!("{kib:.0}"));
    let lines = [
        (&bare, "none".to_owned(), 0, "—".to_owned(), "—".to_owned()),
        (&scripted, SCRIPT.to_owned(), states, largest, more),
    ];
    for (document, script, states, largest, more) in lines {
        table.row(&[
            script,
            table::thousands(states),
            largest,
            format!("{:.1}", resident_kib(document) / 1_024.0),
            more,
            table::rate(document.throughput.sent_rps),
            table::thousands(clients::failures(document)),
        ]);
    }
    let mut failures = Vec::new();
    if states != THREADS {
        failures.push(format!("{states} of {THREADS} states"));
    }
    if largest_kib.max(more_kib) > STATE_MAX_KIB {
        failures.push(format!("a state takes {:.0} KiB", largest_kib.max(more_kib)));
    }
    let errors = clients::failures(&scripted);
    if errors > 0 {
        failures.push(format!("{errors} errors with {THREADS} states"));
    }
    let above = format!(
        "A thousand states: {} threads with a connection and a state each, a closed loop on \
         `weir serve` for {} s. At most {} KiB may be held by a state, and be resident for it.",
        table::thousands(THREADS),
        seconds(fixture),
        table::rate(STATE_MAX_KIB)
    );
    section.fail(failures);
    section.verdict(format!(
        "A state takes {:.0} KiB (limit: {}).",
        largest_kib.max(more_kib),
        table::rate(STATE_MAX_KIB)
    ));
    section.table(&above, table);
    Ok(())
}

fn seconds(fixture: &Fixture) -> u32 {
    fixture.options.span(3, 2)
}

fn load(fixture: &Fixture, server: &Server, script: &[&str]) -> Result<Document> {
    let (threads, connections) = (format!("-t{THREADS}"), format!("-c{THREADS}"));
    let duration = format!("-d{}s", seconds(fixture));
    let options = [threads.as_str(), &connections, &duration, "--warmup", "0", "--no-preflight"];
    let options = [&options[..], script].concat();
    eprintln!("bench: scripts, {}", options.join(" "));
    let (_, document) =
        clients::weir(&fixture.weir, fixture.placement.client, &options, &server.url)?;
    Ok(document)
}

fn resident_kib(document: &Document) -> f64 {
    document.run.client.max_resident_bytes as f64 / 1_024.0
}
