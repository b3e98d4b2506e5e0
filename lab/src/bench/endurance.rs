//! Loads at the ends of what is usual: thousands of threads, and half an hour at one rate, beside
//! ten minutes of it.

use anyhow::{Context, Result};
use weir_result::Document;

use crate::rig::{Fixture, Section, Server, clients, table};

const TITLE: &str = "Thousands of threads, and half an hour";

const QUESTION: &str = "Does weir keep its window and its memory with 4,000 threads, and for long?";

/// Greatest relative error of a window's length.
const WINDOW_ERROR_MAX: f64 = 0.01;

/// Greatest resident memory of ten minutes, growth from there to half an hour, and memory of each
/// of thousands of threads, in MiB. The document, put together after the load, has three times as
/// many intervals.
const LONG_MAX_MIB: f64 = 64.0;
const GROWTH_MAX_MIB: f64 = 16.0;
const THREAD_MAX_MIB: f64 = 0.25;

/// One load, at 5,000/s.
struct LongLoad {
    threads: u32,
    connections: u32,
    seconds: u32,
    resident_max_mib: f64,
}

pub(super) fn endurance(fixture: &Fixture) -> Result<Section> {
    let mut section = Section::new(
        TITLE,
        QUESTION,
        format!(
            "5,000/s after 2 s of warm-up; every request must be answered. Window error: how much \
             longer than planned it is from the first worker that begins the window to the last \
             that ends it; at most {:.0}%. At most {LONG_MAX_MIB} MiB may be resident after ten \
             minutes, {GROWTH_MAX_MIB} MiB more after half an hour, and {THREAD_MAX_MIB} MiB for \
             each of thousands of threads.",
            100.0 * WINDOW_ERROR_MAX
        ),
    );
    let server = Server::weir(&fixture.weir, fixture.placement.server, "--connections 20000")?;
    let loads = [
        (4_000, 10_000, fixture.span(60, 4), 4_000.0 * THREAD_MAX_MIB),
        (1, 100, fixture.span(600, 4), LONG_MAX_MIB),
        (1, 100, fixture.span(1_800, 8), LONG_MAX_MIB),
    ];
    let mut resident = Vec::new();
    for (threads, connections, seconds, resident_max_mib) in loads {
        let load = LongLoad { threads, connections, seconds, resident_max_mib };
        resident.push(add(fixture, &server, &load, &mut section)?);
    }
    section.must(resident[2] <= resident[1] + GROWTH_MAX_MIB, || {
        format!("half an hour takes more memory than ten minutes: {resident:?} MiB")
    });
    let lost = section.sum("not answered");
    section.verdict(format!("{} requests were not answered.", table::thousands(lost)));
    section.show_columns(&["threads", "connections", "seconds", "window error", "resident MiB"]);
    Ok(section)
}

/// Adds a load's row, and returns its resident memory in MiB.
fn add(fixture: &Fixture, server: &Server, load: &LongLoad, section: &mut Section) -> Result<f64> {
    let LongLoad { threads, connections, seconds, resident_max_mib } = load;
    let flags = format!("-t{threads} -c{connections} -R5000 -d{seconds}s --warmup 2s");
    let (run, document) = fixture.timed_weir(&flags, &server.url)?;
    let error = window_error(&document, f64::from(*seconds))?;
    let mib = clients::resident_mib(&document);
    let (planned, ok) = (document.accounting.planned, document.accounting.ok);
    section.row(&[
        ("threads", &table::thousands(u64::from(*threads))),
        ("connections", &table::thousands(u64::from(*connections))),
        ("seconds", &table::thousands(u64::from(*seconds))),
        ("answered", &table::thousands(ok)),
        ("not answered", &table::thousands(planned - ok)),
        ("window error", &format!("{:+.4} %", 100.0 * error)),
        ("resident MiB", &format!("{mib:.1}")),
        ("client CPU", &run.cpu()),
    ]);
    let about = format!("{threads} threads, {seconds} s");
    let open = document.connections.open_at_t0;
    section.must(ok == planned && open == u64::from(*connections), || {
        format!("{about}: {ok} of {planned} ok, {open} open")
    });
    section.must(error.abs() <= WINDOW_ERROR_MAX, || format!("{about}: window error {error}"));
    section.must(mib <= *resident_max_mib, || format!("{about}: {mib:.1} MiB resident"));
    Ok(mib)
}

/// Returns by how much the window was longer than planned, as the workers observed it.
fn window_error(document: &Document, planned_s: f64) -> Result<f64> {
    let begins = document.phases.iter().map(|worker| worker.t0_ns);
    let ends = document.phases.iter().map(|worker| worker.t1_ns);
    let (first, last) = (begins.min(), ends.max());
    let (first, last) = first.zip(last).context("the document has no worker")?;
    Ok(last.saturating_sub(first) as f64 / 1e9 / planned_s - 1.0)
}
