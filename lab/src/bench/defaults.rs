//! weir with default settings, beside wrk: default flags, no pinned CPUs, the server on the same
//! machine. Pairs of runs in random order, and floors that the page itself checks.

use std::ffi::OsString;
use std::path::Path;
use std::thread;

use anyhow::{Context, Result, ensure};
use weir_result::Document;
use xtask::shell::{find_program, root};

use super::floors::{Cell, Floor, Ratios, THROUGHPUT_MIN, THROUGHPUT_MIN_BOUND, floors};
use super::load::Load;
use super::paired::{self, Paired};
use super::peers::{OTHERS, Peer};
use super::{Fixture, Section};
use crate::rig::clients::{Run, failures, wrk_rate};
use crate::rig::servers::Server;
use crate::rig::table::{self, Table};
use crate::rig::timed::{Timed, show, timed};

const CONNECTIONS: [u32; 4] = [10, 50, 100, 500];

/// Connections of the loads that the other programs run too.
const OTHERS_CONNECTIONS: u32 = 50;

/// Pairs of a cell, and of one that is measured again.
const PAIRS: u32 = 10;
const PAIRS_AGAIN: u32 = 20;

/// Rounds with the other programs.
const ROUNDS_OTHERS: u32 = 3;

/// Largest relative difference of a client's own count from the server's: requests in flight at the
/// end.
const MISCOUNT_MAX: f64 = 0.01;

const HEADS: [&str; 9] = [
    "server",
    "threads",
    "connections",
    "wrk requests/s",
    "weir requests/s",
    "requests/s ÷ wrk's",
    "again",
    "requests per CPU-second ÷ wrk's",
    "again",
];

/// Servers, in the order of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Served {
    /// nginx with this number of workers.
    Nginx(u32),
    Node,
    Asyncio,
}

const SERVED: [Served; 4] = [Served::Nginx(1), Served::Nginx(2), Served::Node, Served::Asyncio];

/// Usual choices of the number of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Threads {
    One,
    /// weir's default, one per CPU; wrk gets the same number by flag.
    PerCpu(usize),
}

/// A command line for both programs.
#[derive(Clone, Copy, Debug)]
struct Typed {
    threads: Threads,
    connections: u32,
    is_quick: bool,
}

pub(super) fn defaults(fixture: &Fixture) -> Result<Section> {
    ensure!(Peer::Wrk.find().is_some(), "failed to find wrk: cargo xtask setup bench");
    let cpus = thread::available_parallelism().context("failed to count the CPUs")?.get();
    let (pairs, pairs_again, rounds) =
        if fixture.options.is_quick { (1, 1, 1) } else { (PAIRS, PAIRS_AGAIN, ROUNDS_OTHERS) };
    let mut cells = Vec::new();
    let mut table = Table::new(&HEADS);
    let mut others = Others::new();
    for served in SERVED {
        let server = served.start(fixture)?;
        for threads in [Threads::One, Threads::PerCpu(cpus)] {
            for connections in CONNECTIONS {
                let typed = Typed { threads, connections, is_quick: fixture.options.is_quick };
                let name = format!("{}, {}, -c{connections}", served.name(), threads.name());
                let measure = |pairs| pair(fixture, &server, &typed, &name, pairs);
                let paired = measure(pairs)?;
                let (throughput_min, first) = (served.throughput_min(), ratios(&paired));
                let mut cell = Cell { name: name.clone(), throughput_min, first, second: None };
                if cell.is_doubtful() {
                    cell.second = Some(ratios(&measure(pairs_again)?));
                }
                add(&mut table, served, &typed, &paired, &cell);
                cells.push(cell);
            }
        }
        others.add(fixture, served, &server, rounds)?;
    }
    let floors = floors(&cells);
    let failures = floors.iter().filter(|floor| floor.holds == Some(false));
    let failures = failures.map(|floor| floor.text.clone()).collect();
    let text = format!(
        "{ABOUT}\n\n{pairs} pairs of each cell.\n\n{}\nFloors:\n\n{}\n### Other programs\n\n\
         {OTHERS_ABOUT}\n\n{}",
        table.finish(),
        floors.iter().map(line).collect::<String>(),
        others.table.finish()
    );
    Ok(Section { title: "as people run it", text, failures })
}

const ABOUT: &str = "\
`weir -cM -d2s URL` (with `-t1`, or without `-t`: one thread per CPU) beside \
`wrk -tN -cM -d2s URL` with as many threads. Nothing is pinned, and the server is on the same \
machine. Both sides of a pair run within seconds of each other, in random order. Requests/s are \
those that each program reports for its own 2 s: weir's begin after its default warm-up of 2 s, \
wrk's with its first connection. What each says it sent is held against the server's own count \
(within 1 %). CPU time is the whole process's, warm-up, preflight and report included, over all \
requests that the server counted. \"Again\" is a second measurement with 20 pairs, where the first \
lies wholly below a floor.";

const OTHERS_ABOUT: &str = "\
50 connections and each program's default threads, 3 rounds of 2 s in random order: requests/s, \
and in brackets requests per client CPU-second in thousands. weir's are of its window; the others' \
are the server's count over the program's run time. \"Failed\": it ended with an error twice \
in a row; the figures are of the other rounds.";

impl Served {
    fn name(self) -> String {
        match self {
            Served::Nginx(1) => "nginx, 1 worker".to_owned(),
            Served::Nginx(workers) => format!("nginx, {workers} workers"),
            Served::Node => "node".to_owned(),
            Served::Asyncio => "Python asyncio".to_owned(),
        }
    }

    fn throughput_min(self) -> f64 {
        match self {
            Served::Nginx(_) => THROUGHPUT_MIN,
            Served::Node | Served::Asyncio => THROUGHPUT_MIN_BOUND,
        }
    }

    fn start(self, fixture: &Fixture) -> Result<Server> {
        let script = |name: &'static str, program: &str, file: &str| {
            let advice = || format!("failed to find {program}: cargo xtask setup bench");
            let program = find_program(program).with_context(advice)?;
            let file = root()?.join("lab/src/bench/defaults").join(file);
            Server::script(name, &[program.into(), file.into()])
        };
        match self {
            Served::Nginx(workers) => Server::nginx(&fixture.nginx, None, workers),
            Served::Node => script("node", "node", "node.js"),
            Served::Asyncio => script("asyncio", "python3", "python.py"),
        }
    }
}

impl Threads {
    fn name(self) -> &'static str {
        match self {
            Threads::One => "-t1",
            Threads::PerCpu(_) => "default -t",
        }
    }
}

impl Typed {
    fn weir(&self, program: &Path, document: &Path, url: &str) -> Vec<OsString> {
        let mut words = vec![OsString::from(program)];
        if self.threads == Threads::One {
            words.push("-t1".into());
        }
        words.push(format!("-c{}", self.connections).into());
        let rest: &[&str] = match self.is_quick {
            true => &["-d300ms", "--warmup", "0"],
            false => &["-d2s"],
        };
        words.extend(rest.iter().map(OsString::from));
        words.extend(["-o".into(), document.into(), url.into()]);
        words
    }

    fn wrk(&self, program: &Path, url: &str) -> Vec<OsString> {
        let threads = match self.threads {
            Threads::One => 1,
            // wrk rejects more threads than connections.
            Threads::PerCpu(cpus) => cpus.min(self.connections as usize),
        };
        // wrk accepts whole seconds only.
        let seconds = if self.is_quick { 1 } else { 2 };
        let options = format!("-t{threads} -c{} -d{seconds}s", self.connections);
        let mut words = vec![OsString::from(program)];
        words.extend(options.split(' ').map(OsString::from));
        words.push(url.into());
        words
    }
}

/// Measures a cell: wrk is the first side, weir the second.
fn pair(
    fixture: &Fixture,
    server: &Server,
    typed: &Typed,
    name: &str,
    pairs: u32,
) -> Result<Paired> {
    let sides = ["wrk".to_owned(), "weir".to_owned()];
    Paired::run_in(paired::at_random, name, pairs, &sides, |at| {
        let run = || {
            if at == 0 { run_wrk(fixture, server, typed) } else { run_weir(fixture, server, typed) }
        };
        // A single disturbed run must not cost those of half an hour.
        run().or_else(|error| {
            eprintln!("bench: {name}: once more, since {error:#}");
            run()
        })
    })
}

fn ratios(paired: &Paired) -> Ratios {
    Ratios { throughput: paired.throughput(1), efficiency: paired.efficiency(1) }
}

fn run_weir(fixture: &Fixture, server: &Server, typed: &Typed) -> Result<Run> {
    let place = fixture.directory.join("defaults.json");
    let words = typed.weir(&fixture.weir, &place, &server.url);
    let (requests, timed) = counted(server, &words, &[0, 3])?;
    let document = Document::load(&place).context("failed to read weir's document")?;
    let failures = failures(&document);
    ensure!(failures == 0, "{failures} requests failed: {}", show(&words));
    check_count(document.accounting.sent.total, requests, &words)?;
    let rps = document.throughput.completed_rps;
    Ok(Run { rps, ..Run::of(requests, &timed) })
}

fn run_wrk(fixture: &Fixture, server: &Server, typed: &Typed) -> Result<Run> {
    let program = fixture.wrk.as_ref().context("failed to find wrk: cargo xtask setup bench")?;
    let words = typed.wrk(program, &server.url);
    let (requests, timed) = counted(server, &words, &[0])?;
    ensure!(!timed.stdout.contains("errors"), "wrk met errors:\n{}", timed.stdout);
    let (completed, rps) = wrk_rate(&timed.stdout).context("failed to read what wrk printed")?;
    check_count(completed, requests, &words)?;
    Ok(Run { rps, ..Run::of(requests, &timed) })
}

/// Runs this command line; returns the server's count of its requests.
fn counted(server: &Server, words: &[OsString], good: &[i32]) -> Result<(u64, Timed)> {
    let before = server.counts()?;
    let timed = timed(words, good)?;
    let requests = server.counts_since(before)?.requests;
    ensure!(requests > 0, "{} has seen no request: {}", server.name, show(words));
    Ok((requests, timed))
}

fn check_count(said: u64, counted: u64, words: &[OsString]) -> Result<()> {
    // A small count may differ by the requests in flight.
    let most = (counted as f64 * MISCOUNT_MAX).max(600.0);
    let is_right = (said as f64 - counted as f64).abs() <= most;
    ensure!(is_right, "{}: it says {said} requests, the server {counted}", show(words));
    Ok(())
}

fn add(table: &mut Table, served: Served, typed: &Typed, paired: &Paired, cell: &Cell) {
    let again = |of: fn(&Ratios) -> String| cell.second.as_ref().map_or(String::new(), of);
    let throughput = |ratios: &Ratios| table::estimate(&ratios.throughput);
    let efficiency = |ratios: &Ratios| table::estimate(&ratios.efficiency);
    table.row(&[
        served.name(),
        match typed.threads {
            Threads::One => "1".to_owned(),
            Threads::PerCpu(cpus) => format!("default ({cpus})"),
        },
        typed.connections.to_string(),
        table::rate(paired.requests_per_second(0)),
        table::rate(paired.requests_per_second(1)),
        throughput(&cell.first),
        again(throughput),
        efficiency(&cell.first),
        again(efficiency),
    ]);
}

/// Formats a floor as an item of a list.
fn line(floor: &Floor) -> String {
    let holds = match floor.holds {
        Some(true) => "holds",
        Some(false) => "**fails**",
        None => "not judged (too few pairs)",
    };
    format!("- {holds}: {}\n", floor.text)
}

/// The table of the other programs, a row for each server.
struct Others {
    present: Vec<Peer>,
    table: Table,
}

impl Others {
    fn new() -> Others {
        let mut present: Vec<Peer> =
            OTHERS.into_iter().filter(|peer| peer.find().is_some()).collect();
        present.truncate(4);
        let mut heads = vec!["server", "weir"];
        heads.extend(present.iter().map(|peer| peer.name()));
        let table = Table::new(&heads);
        Others { present, table }
    }

    fn add(
        &mut self,
        fixture: &Fixture,
        served: Served,
        server: &Server,
        rounds: u32,
    ) -> Result<()> {
        let cpus = thread::available_parallelism().context("failed to count the CPUs")?.get();
        let typed = Typed {
            threads: Threads::PerCpu(cpus),
            connections: OTHERS_CONNECTIONS,
            is_quick: fixture.options.is_quick,
        };
        let mut names = vec!["weir".to_owned()];
        names.extend(self.present.iter().map(|peer| peer.name().to_owned()));
        let seconds = if fixture.options.is_quick { 1 } else { 2 };
        let what = format!("{}, others", served.name());
        let paired = Paired::run_in(paired::at_random, &what, rounds, &names, |at| {
            let Some(peer) = at.checked_sub(1).map(|at| self.present[at]) else {
                return run_weir(fixture, server, &typed);
            };
            Ok(run_peer_or_not(fixture, server, peer, seconds))
        })?;
        let mut row = vec![served.name()];
        row.extend((0..names.len()).map(|at| {
            let (rps, cost_us) = (paired.requests_per_second(at), paired.cost_us(at));
            let figures = format!("{} ({:.0}k)", table::rate(rps), 1e3 / cost_us);
            match paired.failures(at) {
                0 => figures,
                failures if failures == rounds as usize => "failed".to_owned(),
                failures => format!("{figures}, failed {failures} of {rounds}"),
            }
        }));
        self.table.row(&row);
        Ok(())
    }
}

/// Runs another program, twice if the first attempt fails. If both do, the run has no figures: a
/// program that fails must not cost the comparison with wrk.
fn run_peer_or_not(fixture: &Fixture, server: &Server, peer: Peer, seconds: u32) -> Run {
    let run = || run_peer(fixture, server, peer, seconds);
    run().or_else(|_| run()).unwrap_or_else(|error| {
        eprintln!("bench: {} fails on {}: {error:#}", peer.name(), server.name);
        Run::FAILED
    })
}

fn run_peer(fixture: &Fixture, server: &Server, peer: Peer, seconds: u32) -> Result<Run> {
    let program = peer.find().with_context(|| format!("failed to find {}", peer.name()))?;
    let load = Load::of(OTHERS_CONNECTIONS);
    let options = peer.words(&load, seconds, &server.url, &fixture.directory)?;
    let options = options.with_context(|| format!("{} cannot do {load}", peer.name()))?;
    let words = [vec![program.into()], options].concat();
    let (requests, timed) = counted(server, &words, &[0])?;
    Ok(Run::of(requests, &timed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_programs_are_told_the_same() {
        let check = |threads, connections, weir: &str, wrk: &str| {
            let typed = Typed { threads, connections, is_quick: false };
            let words = typed.weir(Path::new("weir"), Path::new("FILE"), "URL");
            assert_eq!(show(&words).to_string(), weir);
            assert_eq!(show(&typed.wrk(Path::new("wrk"), "URL")).to_string(), wrk);
        };
        check(Threads::One, 50, "weir -t1 -c50 -d2s -o FILE URL", "wrk -t1 -c50 -d2s URL");
        check(Threads::PerCpu(2), 10, "weir -c10 -d2s -o FILE URL", "wrk -t2 -c10 -d2s URL");
        check(Threads::PerCpu(64), 10, "weir -c10 -d2s -o FILE URL", "wrk -t10 -c10 -d2s URL");
    }

    #[test]
    fn a_client_that_miscounts_is_found() {
        assert!(check_count(100_000, 100_900, &[]).is_ok());
        assert!(check_count(1_000, 1_500, &[]).is_ok());
        assert!(check_count(100_000, 110_000, &[]).is_err());
        assert!(check_count(0, 1_000, &[]).is_err());
    }

    #[test]
    fn floors_are_told() {
        let floor = |holds| line(&Floor { text: "mean".to_owned(), holds });
        assert_eq!(floor(Some(true)), "- holds: mean\n");
        assert_eq!(floor(Some(false)), "- **fails**: mean\n");
        assert!(floor(None).contains("not judged"));
    }
}
