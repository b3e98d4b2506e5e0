//! Very many connections: as many as memory allows, up to a million, from one process, each idle
//! and then used; and forty thousand of them at a constant rate. They use a private network
//! namespace, with more ports and a longer backlog than the default.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context, Result};
use weir_machine::{Root, value};
use weir_result::Document;
use xtask::guard::Guarded;
use xtask::shell::is_root;

use crate::rig::{Fixture, PER_SERVER_THREAD, PER_THREAD, Section, clients, table};

const TITLE: &str = "A million connections";

/// Settings of the namespace, applied before the server starts in it.
const SETTINGS: &str = "\
ip link set lo up && cd /proc/sys/net && echo 1024 65535 >ipv4/ip_local_port_range && \
echo 65535 >core/somaxconn && echo 65535 >ipv4/tcp_max_syn_backlog && exec \"$@\"";

/// Kernel memory of a connection, both ends together, plus the memory of the two programs, in KiB.
const KIB_PER_CONNECTION: u64 = 9;

/// Memory left to the machine, in KiB.
const KIB_LEFT: u64 = 3 << 20;

/// Source addresses. Each has ports for some 60,000 connections, and finds a free one quickly while
/// no more than a quarter are in use.
const SOURCES: &str = "127.1.0.0/26";

/// Largest resident memory of a million connections, and the longest time to open them.
const RESIDENT_MAX_MIB: f64 = 200.0;
const OPEN_MAX_S: f64 = 30.0;

/// A number of connections at which the machine's other work does not affect the rate.
const FEWER: u64 = 40_000;

/// Largest growth of resident memory from a hundred connections to [`FEWER`], and the largest
/// relative error of their rate.
const GROWTH_MAX_MIB: f64 = 64.0;
const RATE_ERROR_MAX: f64 = 0.001;

/// One load: its connections, the threads on either side, its rate and its length.
struct ManyConnections {
    connections: u64,
    threads: u64,
    server_threads: u64,
    rate: u64,
    seconds: u32,
}

const QUESTION: &str = "Does weir open a million connections, and use each?";

pub(super) fn million(fixture: &Fixture) -> Result<Section> {
    if !is_root()? {
        let why = "Not measured: a network namespace takes root.";
        return Ok(Section::new(TITLE, QUESTION, why).reported());
    }
    let method = format!(
        "As many connections as memory allows, up to a million, and 40,000, in an open loop \
         without a warm-up, in which each of them is used; both programs share the machine's CPUs, \
         in a network namespace with ports 1,024 to 65,535. All must open within {OPEN_MAX_S} s \
         and be answered, with at most {RESIDENT_MAX_MIB} MiB resident; 40,000 be sent within \
         {:.1}% of the rate, with at most {GROWTH_MAX_MIB} MiB more than for 100.",
        100.0 * RATE_ERROR_MAX
    );
    let mut section = Section::new(TITLE, QUESTION, method);
    let mut resident = Vec::new();
    for load in loads(fixture)? {
        let ManyConnections { connections, threads, rate, seconds, .. } = load;
        let document = run(fixture, &load)?;
        let mib = clients::resident_mib(&document);
        let open = document.connections.open_at_t0;
        let opened_s = document.connections.setup_ns as f64 / 1e9;
        let sent_rps = document.throughput.sent_rps;
        let planned = document.results.planned;
        let ok = document.results.outcomes.ok;
        section.row(&[
            ("connections", &table::thousands(connections)),
            ("threads", &threads),
            ("rate", &table::thousands(rate)),
            ("seconds", &seconds),
            ("opened in", &table::seconds(opened_s)),
            ("open at t0", &table::thousands(open)),
            ("sent/s", &table::rate(sent_rps)),
            ("answered", &table::thousands(ok)),
            ("not answered", &table::thousands(planned - ok)),
            ("resident MiB", &format!("{mib:.1}")),
        ]);
        let about = format!("{connections} connections");
        section.must(open == connections && ok == planned, || {
            format!("{about}: {open} open, {ok} of {planned} ok")
        });
        let is_off = (sent_rps / rate as f64 - 1.0).abs() > RATE_ERROR_MAX;
        section.must(!is_off || connections > FEWER, || {
            format!("{about}: {sent_rps:.0} of {rate}/s sent")
        });
        section.must(opened_s <= OPEN_MAX_S, || format!("{about} opened in {opened_s:.1} s"));
        resident.push(mib);
    }
    let is_small = resident[0] <= RESIDENT_MAX_MIB && resident[1] - resident[2] <= GROWTH_MAX_MIB;
    section.must(is_small, || format!("too much memory is resident: {resident:?} MiB"));
    let all = section.sum("answered");
    let missing = section.sum("not answered");
    let [all, missing] = [all + missing, missing].map(table::thousands);
    section.verdict(format!("Of {all} requests {missing} were not answered."));
    section.show_columns(&["connections", "opened in", "sent/s", "resident MiB"]);
    Ok(section)
}

/// Returns the loads: very many connections, forty thousand for three minutes, and the hundred that
/// those are compared with.
fn loads(fixture: &Fixture) -> Result<[ManyConnections; 3]> {
    let most = connections()?;
    let seconds = fixture.span(30, 25);
    let many = ManyConnections {
        connections: most,
        threads: most.div_ceil(PER_THREAD.into()),
        server_threads: most.div_ceil(PER_SERVER_THREAD.into()),
        // The connection that has been idle for longest is next, so each is used at least once.
        rate: 5 * most / 4 / u64::from(seconds),
        seconds,
    };
    let few = |connections, seconds| {
        // Two threads lack the descriptors for that many, and the hundred must differ in nothing
        // else.
        let threads = 3;
        let rate = 20_000;
        ManyConnections { connections, threads, server_threads: threads, rate, seconds }
    };
    Ok([many, few(FEWER, fixture.span(180, 25)), few(100, seconds)])
}

/// Returns a million, or as many hundred thousands as memory allows.
fn connections() -> Result<u64> {
    let meminfo = Root::machine().text("proc/meminfo").unwrap_or_default();
    let kib = value(&meminfo, "MemAvailable");
    let room = kib.context("failed to find the memory available")?.saturating_sub(KIB_LEFT);
    Ok((room / KIB_PER_CONNECTION / 100_000 * 100_000).clamp(100_000, 1_000_000))
}

/// Runs one load in a private network namespace and returns its document.
fn run(fixture: &Fixture, load: &ManyConnections) -> Result<Document> {
    let ManyConnections { connections, threads, server_threads, rate, seconds } = load;
    let shell = ["unshare", "--net", "--", "sh", "-c", SETTINGS, "sh"].map(OsString::from);
    let serve =
        format!("serve --listen 127.0.0.1:0 --threads {server_threads} --connections 50000");
    let words = shell.into_iter().chain([fixture.weir.clone().into()]);
    let words = words.chain(serve.split(' ').map(OsString::from));
    let mut server = Guarded::start(&words.collect::<Vec<_>>())?;
    let url = server.listening_url().context("failed to serve in a network namespace")?;
    let namespace = format!("--net=/proc/{}/ns/net", server.pid);
    let flags = format!(
        "-t {threads} -c {connections} -R {rate} -d{seconds}s --warmup 0 --source-ip {SOURCES}"
    );
    let weir = fixture.weir.to_string_lossy();
    let options: Vec<&str> =
        [&namespace, "--", &*weir].into_iter().chain(flags.split(' ')).collect();
    eprintln!("bench: million: {connections} connections, {rate}/s");
    let (_, document) = clients::weir(Path::new("nsenter"), None, &options, &url)?;
    Ok(document)
}
