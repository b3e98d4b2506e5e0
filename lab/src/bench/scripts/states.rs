//! A thousand threads with a script each: the memory of a state.

use anyhow::{Context, Result};
use weir_result::Document;

use super::flag::flag;
use crate::rig::{Fixture, Section, clients, table};

const THREADS: u64 = 1_000;

const SCRIPT: &str = "both.lua";

/// Largest memory that a state without data may hold, and add to the process. Every state may use
/// at least this much, however many share the machine.
const STATE_MAX_KIB: f64 = 4_096.0;

pub(super) fn states(fixture: &Fixture, section: &mut Section) -> Result<()> {
    let server = fixture.weir_serve()?;
    let seconds = fixture.span(3, 2);
    let load = |script: &str| -> Result<Document> {
        let load = format!("-t{THREADS} -c{THREADS} -d{seconds}s --warmup 0 --no-preflight");
        Ok(fixture.timed_weir(&format!("{load} {script}"), &server.url)?.1)
    };
    let (bare, scripted) = (load("")?, load(&flag(SCRIPT)?)?);
    let usage = scripted.script.as_ref().context("weir ran no script")?;
    let states = u64::from(usage.states);
    let largest_kib = usage.memory_max_bytes as f64 / 1_024.0;
    let [before_kib, after_kib] =
        [&bare, &scripted].map(|document| clients::resident_mib(document) * 1_024.0);
    let more_kib = (after_kib - before_kib) / THREADS as f64;
    let [largest, more] = [largest_kib, more_kib].map(|kib| format!("{kib:.0}"));
    let limit = table::rate(STATE_MAX_KIB);
    let above = format!(
        "A thousand states: {} threads with a connection and a state each, a closed loop on \
         `weir serve` for {seconds} s. At most {limit} KiB may be held by a state, and be resident \
         for it.",
        table::thousands(THREADS)
    );
    section.begin_table(&above);
    let lines = [
        (&bare, "none", 0, "—".to_owned(), "—".to_owned()),
        (&scripted, SCRIPT, states, largest, more),
    ];
    for (document, script, states, largest, more) in lines {
        section.row(&[
            ("script", &script),
            ("states", &table::thousands(states)),
            ("largest state KiB", &largest),
            ("resident MiB", &format!("{:.1}", clients::resident_mib(document))),
            ("resident per state KiB", &more),
            ("sent/s", &table::rate(document.throughput.sent_rps)),
            ("errors", &table::thousands(clients::failures(document))),
        ]);
    }
    let most_kib = largest_kib.max(more_kib);
    section.must(states == THREADS, || format!("{states} of {THREADS} states"));
    section.must(most_kib <= STATE_MAX_KIB, || format!("a state takes {most_kib:.0} KiB"));
    let errors = clients::failures(&scripted);
    section.must(errors == 0, || format!("{errors} errors with {THREADS} states"));
    section.verdict(format!("A state takes {most_kib:.0} KiB (limit: {limit})."));
    Ok(())
}
