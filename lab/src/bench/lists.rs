//! Cost of a list of requests beside a Lua counter in wrk, and memory and start of a list of ten
//! million.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use xtask::shell::root;

use super::paired::Paired;
use crate::rig::{ClientRun, Fixture, Peer, Section, Server, Table, Transport, clients, table};

const METHOD: &str = "A list of a hundred requests, and a file of ten million.";

pub(super) fn lists(fixture: &Fixture) -> Result<Section> {
    let question = "What does a list of requests cost, beside a Lua counter in wrk?";
    let mut section = Section::new("what lists cost", question, METHOD);
    long(fixture, &mut section)?;
    // Its verdict ends with a colon, as its table follows.
    beside_wrk(fixture, &mut section)?;
    Ok(section)
}

/// Requests of the list, as many as the script counts to.
const REQUESTS: u64 = 100;

/// Script for wrk, from the root of the repository.
const SCRIPT: &str = "lab/src/bench/lists/counter.lua";

const LOAD: [&str; 2] = ["-t1", "-c50"];

/// Least ratio of requests per CPU-second, pinned, and of requests per second, unpinned.
const EFFICIENCY_MIN: f64 = 1.2;
const RATE_MIN: f64 = 1.0;

const EFFICIENCY: &str = "requests per CPU-second, ratio";
const RATE: &str = "requests/s, ratio";

/// A list against a script that formats the same requests, pinned and unpinned.
fn beside_wrk(fixture: &Fixture, section: &mut Section) -> Result<()> {
    if Peer::Wrk.find().is_none() {
        section.note("wrk is absent");
        return Ok(());
    }
    let list = fixture.directory.join("list.txt");
    write(&list, 1..=REQUESTS, "/item/")?;
    let script = root()?.join(SCRIPT);
    let unpinned = Server::nginx(Transport::Plain, &fixture.nginx, None, 1)?;
    let mut table = Table::default();
    for (place, server, cpu) in
        [("pinned", fixture.nginx()?, fixture.placement.client), ("unpinned", unpinned, None)]
    {
        let run = |at: usize| match at {
            0 => wrk(fixture, &server, cpu, &script),
            _ => weir(fixture, &server, cpu, &list),
        };
        let names = ["wrk, Lua counter".to_owned(), "weir, list".to_owned()];
        let paired = Paired::run(&format!("lists, {place}"), fixture.options.rounds, &names, run)?;
        for (at, name) in names.iter().enumerate() {
            let rate = match at {
                0 => "1".to_owned(),
                _ => table::estimate(&paired.throughput(at)),
            };
            table.add(&[
                ("client", name),
                ("CPUs", &place),
                (EFFICIENCY, &paired.efficiency_cell(at)),
                (RATE, &rate),
                ("µs CPU per request", &format!("{:.2}", paired.cost_us(at))),
                ("requests/s", &table::rate(paired.requests_per_second(at))),
            ]);
        }
        let efficiency = paired.efficiency(1);
        let rate = paired.throughput(1);
        section.must(place == "unpinned" || efficiency.median >= EFFICIENCY_MIN, || {
            format!("{place}: {} of wrk's requests per CPU-second", table::estimate(&efficiency))
        });
        section.must(place == "pinned" || rate.median >= RATE_MIN, || {
            format!("{place}: {} of wrk's rate", table::estimate(&rate))
        });
    }
    let above = format!(
        "{REQUESTS} requests in turn: a closed loop on nginx with one worker, `{}`, {} rounds of \
         {} s; start and end of the process count. weir sends a list, and wrk what a script \
         formats in `request()`. {EFFICIENCY_MIN} of its requests per CPU-second are aimed at \
         where client and server are pinned, and {RATE_MIN} of its rate where they are not.",
        LOAD.join(" "),
        fixture.options.rounds,
        fixture.options.seconds,
    );
    section.show(table.filter("client", &["weir, list"]).select(&["CPUs", EFFICIENCY, RATE]));
    section.table(&above, table);
    section.verdict("weir's list, divided by wrk's counter:");
    Ok(())
}

fn wrk(fixture: &Fixture, server: &Server, cpu: Option<u32>, script: &Path) -> Result<ClientRun> {
    let duration = format!("-d{}s", fixture.options.seconds);
    let script = script.to_string_lossy();
    clients::wrk(cpu, &[&LOAD[..], &[&duration, "-s", &script]].concat(), &server.url)
}

fn weir(fixture: &Fixture, server: &Server, cpu: Option<u32>, list: &Path) -> Result<ClientRun> {
    let duration = format!("-d{}s", fixture.options.seconds);
    let list = list.to_string_lossy();
    let options = ["--warmup", "0", "--no-preflight", &duration, "--from", &list];
    let options = [&LOAD[..], &options].concat();
    let (run, document) = clients::weir(&fixture.weir, cpu, &options, &server.url)?;
    let failures = clients::failures(&document);
    ensure!(failures == 0, "{failures} requests of weir failed");
    Ok(run)
}

/// Greatest resident memory, and time from the start of the process to the end of its one request.
const RESIDENT_MAX_MIB: f64 = 64.0;
const START_MAX_S: f64 = 2.0;

/// A file of ten million requests: memory under load, and the time of a run of one request.
fn long(fixture: &Fixture, section: &mut Section) -> Result<()> {
    let rows = fixture.span(10_000_000, 1_000_000);
    let server = fixture.weir_serve()?;
    let list = LongFile::of(fixture.directory.join("long.txt"), rows)?;
    let list = list.0.display();
    let one = format!("-t1 -c1 -n1 --no-preflight --witness off --from {list}");
    let (first, _) = fixture.timed_weir(&one, &server.url)?;
    let seconds = fixture.span(6, 3);
    let load = format!("-t1 -c50 -d{seconds}s --warmup 0 --no-preflight --from {list}");
    let (_, document) = fixture.timed_weir(&load, &server.url)?;
    let resident_mib = clients::resident_mib(&document);
    let start_s = first.cost.wall_s;
    let above = format!(
        "A list of {} paths against `weir serve`: the time of a whole run of one request, which \
         contains the first request, and a closed loop of 50 connections for {seconds} s.",
        table::thousands(rows)
    );
    section.begin_table(&above);
    section.row(&[
        ("requests of the list", &table::thousands(rows)),
        ("one request, s", &format!("{start_s:.2}")),
        ("resident MiB", &format!("{resident_mib:.1}")),
        ("sent/s", &table::rate(document.throughput.sent_rps)),
        ("errors", &table::thousands(clients::failures(&document))),
    ]);
    let errors = clients::failures(&document);
    section.must(errors == 0, || format!("{errors} errors with a long list"));
    section.must(resident_mib < RESIDENT_MAX_MIB, || format!("{resident_mib:.1} MiB resident"));
    section.must_if_quiet(start_s <= START_MAX_S, || format!("one request took {start_s:.2} s"));
    section.verdict(format!(
        "With {} requests, weir takes {resident_mib:.1} MiB, and {start_s:.2} s for a run of one.",
        table::thousands(rows)
    ));
    Ok(())
}

/// A long list, removed when it is dropped.
struct LongFile(PathBuf);

impl LongFile {
    fn of(path: PathBuf, rows: u64) -> Result<LongFile> {
        write(&path, 0..=rows - 1, "/catalog/item/")?;
        Ok(LongFile(path))
    }
}

impl Drop for LongFile {
    fn drop(&mut self) {
        fs::remove_file(&self.0).ok();
    }
}

/// Writes a list with a path for each number.
fn write(path: &Path, numbers: impl Iterator<Item = u64>, prefix: &str) -> Result<()> {
    let failed = || format!("failed to write {}", path.display());
    let mut file = BufWriter::new(File::create(path).with_context(failed)?);
    for number in numbers {
        writeln!(file, "{prefix}{number}").with_context(failed)?;
    }
    file.flush().with_context(failed)
}
