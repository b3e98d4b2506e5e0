//! Very many WebSockets that are only held: their memory, and how many are lost.

use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use weir_machine::{Root, peak_memory_bytes, value};

use crate::rig::{Fixture, Section, Server, clients, table};

const CONNECTIONS: u32 = 15_000;

/// Time from one Ping of the server to the next on a connection, in seconds.
const PING_S: u32 = 10;

/// Time before the end at which memory is read, in seconds.
const BEFORE_END_S: u32 = 2;

/// Greatest resident memory of each program, for each connection, in KiB.
const EACH_MAX_KIB: f64 = 4.0;

pub(super) fn held(fixture: &Fixture) -> Result<Section> {
    let seconds = fixture.span(300, 25);
    let mut section = Section::new(
        "Held WebSockets",
        "Does one process hold 15,000 idle WebSockets, and in how much memory?",
        format!(
            "`weir --ws-idle` with one thread opens them to a `weir serve` with one thread, which \
             sends a Ping each {PING_S} s on each. None may be lost, and all Pings but those on \
             their way must be answered. Memory: the greatest resident memory of each program, at \
             most {EACH_MAX_KIB} KiB for each connection, and the growth of the kernel's slabs, \
             with both ends of each connection, {BEFORE_END_S} s before the end."
        ),
    );
    let flags = format!("--threads 1 --ws-ping {PING_S}s");
    let server = Server::weir(&fixture.weir, fixture.placement.server, &flags)?;
    let url = server.url.replace("http://", "ws://");
    let slabs = slab_bytes()?;
    let flags = format!("-t1 -c{CONNECTIONS} --ws-idle -d{seconds}s --warmup 1s");
    let running = fixture.start_weir(&flags, &url)?;
    thread::sleep(Duration::from_secs(u64::from(seconds - BEFORE_END_S)));
    let of_kernel = slab_bytes()?.saturating_sub(slabs);
    let [pings, pongs] = [server.counter("ws_pings")?, server.counter("ws_pongs")?];
    let document = running.finish()?;
    let status = Root::machine().text(&format!("proc/{}/status", server.worker)).ok();
    let of_server = status.and_then(|status| peak_memory_bytes(&status));
    let of_server = of_server.context("the server has ended")?;
    let connections = &document.connections;
    let of_weir = document.run.client.max_resident_bytes;
    let held = u64::from(CONNECTIONS);
    for (place, bytes) in [("weir", of_weir), ("weir serve", of_server), ("kernel", of_kernel)] {
        let each_kib = bytes as f64 / 1024.0 / held as f64;
        section.row(&[
            ("memory of", &place),
            ("MiB", &format!("{:.1}", clients::mib(bytes))),
            ("KiB each", &format!("{each_kib:.2}")),
        ]);
        section.must(place == "kernel" || each_kib <= EACH_MAX_KIB, || {
            format!("{place}: {each_kib:.2} KiB for each connection")
        });
    }
    let open = connections.open_at_t0;
    let lost = connections.lost();
    section.must(open == held && lost == 0, || format!("{open} opened, {lost} lost"));
    let sent_least = held * u64::from(seconds / PING_S - 1);
    section.must(pings >= sent_least && pings.saturating_sub(pongs) <= held / 100, || {
        format!("{pongs} of {pings} Pings answered, {sent_least} Pings wanted at least")
    });
    section.verdict(format!(
        "{} of {} WebSockets were open for {seconds} s, {lost} were lost, and {} of {} Pings were \
         answered.",
        table::thousands(open),
        table::thousands(held),
        table::thousands(pongs),
        table::thousands(pings)
    ));
    section.show_columns(&["memory of", "MiB", "KiB each"]);
    Ok(section)
}

/// Returns the memory of the kernel's slabs.
fn slab_bytes() -> Result<u64> {
    let meminfo = Root::machine().text("proc/meminfo").unwrap_or_default();
    let kib = value(&meminfo, "Slab").context("failed to find the memory of the slabs")?;
    Ok(kib * 1024)
}
