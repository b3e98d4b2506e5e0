//! Loads at the ends of what is usual: thousands of threads, and half an hour at one rate.

use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use weir_machine::{Root, resident_bytes};
use weir_result::Document;

use crate::rig::{Fixture, Section, Server, clients, table};

const TITLE: &str = "Thousands of threads, and half an hour";

const QUESTION: &str = "Does weir keep its window and its memory with 4,000 threads, and for long?";

/// Greatest relative error of a window's length.
const WINDOW_ERROR_MAX: f64 = 0.01;

/// Greatest resident memory of half an hour, its growth after the first ten minutes, which is the
/// limit of a time series' buckets (METHOD 1.7), and memory of each of thousands of threads, in
/// MiB.
const LONG_MAX_MIB: f64 = 64.0;
const GROWTH_MAX_MIB: f64 = 8.0;
const THREAD_MAX_MIB: f64 = 0.25;

/// Time before the end at which the memory is read a second time, in seconds.
const BEFORE_END_S: u32 = 1;

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
             that ends it; at most {:.0}%. The resident memory is read after a third of the window \
             and {BEFORE_END_S} s before its end. In half an hour at most {GROWTH_MAX_MIB} MiB may \
             come between, the limit of the time series. The greatest value includes the document, \
             which is put together after the load: at most {LONG_MAX_MIB} MiB, or \
             {THREAD_MAX_MIB} MiB for each of thousands of threads.",
            100.0 * WINDOW_ERROR_MAX
        ),
    );
    let server = Server::weir(&fixture.weir, fixture.placement.server, "--connections 20000")?;
    let loads = [
        (4_000, 10_000, fixture.span(60, 6), 4_000.0 * THREAD_MAX_MIB),
        (1, 100, fixture.span(1_800, 9), LONG_MAX_MIB),
    ];
    for (threads, connections, seconds, resident_max_mib) in loads {
        let load = LongLoad { threads, connections, seconds, resident_max_mib };
        add(fixture, &server, &load, &mut section)?;
    }
    let lost = section.sum("not answered");
    section.verdict(format!("{} requests were not answered.", table::thousands(lost)));
    section.show_columns(&["threads", "connections", "seconds", "window error", "resident MiB"]);
    Ok(section)
}

/// Adds a load's row.
fn add(fixture: &Fixture, server: &Server, load: &LongLoad, section: &mut Section) -> Result<()> {
    let LongLoad { threads, connections, seconds, resident_max_mib } = load;
    let flags = format!("-t{threads} -c{connections} -R5000 -d{seconds}s --warmup 2s");
    let running = fixture.start_weir(&flags, &server.url)?;
    let resident = |after_s: u32| {
        thread::sleep(Duration::from_secs(u64::from(after_s)));
        let status = Root::machine().text(&format!("proc/{}/status", running.pid())).ok();
        let bytes = status.and_then(|status| resident_bytes(&status));
        bytes.map(clients::mib).context("weir ended before its time")
    };
    let third = resident(seconds / 3)?;
    let last = resident(seconds - seconds / 3 - BEFORE_END_S)?;
    let document = running.finish()?;
    let error = window_error(&document, f64::from(*seconds))?;
    let most = clients::resident_mib(&document);
    let planned = document.results.planned;
    let ok = document.results.outcomes.ok;
    section.row(&[
        ("threads", &table::thousands(u64::from(*threads))),
        ("connections", &table::thousands(u64::from(*connections))),
        ("seconds", &table::thousands(u64::from(*seconds))),
        ("answered", &table::thousands(ok)),
        ("not answered", &table::thousands(planned - ok)),
        ("window error", &format!("{:+.4} %", 100.0 * error)),
        ("MiB after a third", &format!("{third:.1}")),
        ("MiB before the end", &format!("{last:.1}")),
        ("resident MiB", &format!("{most:.1}")),
    ]);
    let about = format!("{threads} threads, {seconds} s");
    let open = document.connections.open_at_t0;
    section.must(ok == planned && open == u64::from(*connections), || {
        format!("{about}: {ok} of {planned} ok, {open} open")
    });
    section.must(error.abs() <= WINDOW_ERROR_MAX, || format!("{about}: window error {error}"));
    section.must(most <= *resident_max_mib, || format!("{about}: {most:.1} MiB resident"));
    section.must(*threads > 1 || last <= third + GROWTH_MAX_MIB, || {
        format!("{about}: {third:.1} MiB after a third, {last:.1} before the end")
    });
    Ok(())
}

/// Returns by how much the window was longer than planned, as the workers observed it.
fn window_error(document: &Document, planned_s: f64) -> Result<f64> {
    let begins = document.phases.iter().map(|worker| worker.t0_ns);
    let ends = document.phases.iter().map(|worker| worker.t1_ns);
    let first = begins.min();
    let last = ends.max();
    let (first, last) = first.zip(last).context("the document has no worker")?;
    Ok(last.saturating_sub(first) as f64 / 1e9 / planned_s - 1.0)
}
