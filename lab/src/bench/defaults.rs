//! weir with default settings beside other load generators with theirs: bare commands, no pinned
//! CPUs, the server on the same machine. Every program runs once in each round, in random order;
//! the floors are of weir beside wrk.

use anyhow::{Result, ensure};
use xtask::shell::{need_program, root};

use super::bare::{self, PEERS};
use super::floors::{ComparedLoad, SpeedFloor, floors};
use super::paired::{self, Paired};
use crate::rig::{
    ClientRun, Fixture, MedianInterval, Peer, Section, Server, Table, Transport, table, versions,
};

const CONNECTIONS: [u32; 4] = [10, 50, 100, 500];

/// Factor of the number of rounds of a cell that is measured again.
const AGAIN: u32 = 2;

/// The sides of a round: weir, then the other programs. wrk is the second.
const WRK: usize = 1;

/// Servers, in the order of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Served {
    /// nginx with this number of workers.
    Nginx(u32),
    Node,
    Asyncio,
}

const SERVED: [Served; 4] = [Served::Nginx(1), Served::Nginx(2), Served::Node, Served::Asyncio];

pub(super) fn defaults(fixture: &Fixture) -> Result<Section> {
    ensure!(Peer::Wrk.find().is_some(), "failed to find wrk: cargo xtask setup bench");
    let present: Vec<Peer> = PEERS.into_iter().filter(|peer| peer.find().is_some()).collect();
    let rounds = fixture.options.rounds;
    let mut cells = Vec::new();
    let mut tables = Tables::new(&present);
    for served in SERVED {
        let server = served.start(fixture)?;
        for connections in CONNECTIONS {
            let name = format!("{}, {connections} connections", served.name());
            let paired = measure(fixture, &server, &name, connections, &present, rounds)?;
            tables.add(served, connections, &paired);
            let is_nginx = matches!(served, Served::Nginx(_));
            let first = paired.throughput_of_first(WRK);
            let mut cell = ComparedLoad { name: name.clone(), is_nginx, first, second: None };
            if cell.is_doubtful() {
                let sides = &PEERS[..=WRK];
                let paired = measure(fixture, &server, &name, connections, sides, rounds * AGAIN)?;
                cell.second = Some(paired.throughput_of_first(WRK));
            }
            cells.push(cell);
        }
    }
    let floors = floors(&cells);
    let failures = floors.iter().filter(|floor| floor.holds == Some(false));
    let failures: Vec<String> = failures.map(|floor| floor.text.clone()).collect();
    let method = format!("{ABOUT} {rounds} rounds of each cell. {}", versions(&PEERS[WRK..])?);
    let mut section = Section::new("bare commands", QUESTION, method);
    section.fail(failures);
    let floors: Vec<String> = floors.iter().map(line).collect();
    section.verdict(format!("Floors of requests/s beside wrk's: {}.", floors.join("; ")));
    section.verdict("Requests/s, and behind the point weir's divided by the program's:");
    section.show(tables.throughput.filter("connections", &["50"]));
    cells.iter().filter_map(|cell| again(cell, rounds)).for_each(|note| section.note(note));
    section.table(THROUGHPUT, tables.throughput);
    section.table(EFFICIENCY, tables.efficiency);
    Ok(section)
}

const QUESTION: &str =
    "How fast are bare commands: `weir -cM URL` beside `wrk -cM URL` and others?";

/// Lines above the two tables.
const THROUGHPUT: &str = "Requests/s: each program's median; behind the point weir's divided by \
    the program's, with its 95 % interval.";
const EFFICIENCY: &str = "Requests per client CPU-second, in the same form. With a CPU to spare \
    beside a local server, weir busy-polls with it (METHOD 1.8): that buys requests/s with CPU \
    time, and the ratio shows the price.";

const ABOUT: &str = "\
`weir -cM URL` beside `wrk -cM URL`, `ab -k -t 5 -n 99999999 -c M URL`, `oha -z 5s -c M URL` and \
`hey -z 5s -c M URL`. Nothing is pinned, and the server is on the same machine. Each program runs \
once in a round, within a minute of the others, in random order. Requests/s are those that each \
program reports; weir's are of its window of 10 s, after its warm-up. Each program's own count of \
its requests is held against the server's (within 1 %). CPU time is the whole process's, warm-up \
and report included, over all requests that the server counted.";

impl Served {
    fn name(self) -> String {
        match self {
            Served::Nginx(1) => "nginx, 1 worker".to_owned(),
            Served::Nginx(workers) => format!("nginx, {workers} workers"),
            Served::Node => "node".to_owned(),
            Served::Asyncio => "Python asyncio".to_owned(),
        }
    }

    fn start(self, fixture: &Fixture) -> Result<Server> {
        let script = |name: &'static str, program: &str, file: &str| {
            let program = need_program(program, "bench")?;
            let file = root()?.join("lab/src/bench/defaults").join(file);
            Server::script(name, &[program.into(), file.into()])
        };
        match self {
            Served::Nginx(workers) => {
                Server::nginx(Transport::Plain, &fixture.nginx, None, workers)
            }
            Served::Node => script("node", "node", "node.js"),
            Served::Asyncio => script("asyncio", "python3", "python.py"),
        }
    }
}

/// Measures a cell. weir and wrk must succeed; another program that fails has no figures.
fn measure(
    fixture: &Fixture,
    server: &Server,
    name: &str,
    connections: u32,
    peers: &[Peer],
    rounds: u32,
) -> Result<Paired> {
    let names: Vec<String> = peers.iter().map(|peer| peer.name().to_owned()).collect();
    Paired::run_in(paired::at_random, name, rounds, &names, |at| {
        let run = || bare::run(fixture, server, peers[at], connections);
        // A single disturbed run must not cost an hour's runs.
        let run = run().or_else(|error| {
            eprintln!("bench: {name}: once more, since {error:#}");
            run()
        });
        match run {
            Err(error) if at > WRK => {
                eprintln!("bench: {name}: {} fails: {error:#}", names[at]);
                Ok(ClientRun::FAILED)
            }
            run => run,
        }
    })
}

/// The two tables of the section, a row for each cell: requests/s, and requests per client
/// CPU-second. The table in README.md is made of both, in this order.
struct Tables {
    throughput: Table,
    efficiency: Table,
}

impl Tables {
    fn new(peers: &[Peer]) -> Tables {
        let mut heads = vec!["server", "connections"];
        heads.extend(peers.iter().map(|peer| peer.name()));
        Tables { throughput: Table::new(&heads), efficiency: Table::new(&heads) }
    }

    /// Adds a cell, and prints its requests/s: a run takes an hour, and may end early.
    fn add(&mut self, served: Served, connections: u32, paired: &Paired) {
        let first = [served.name(), connections.to_string()];
        let row = |own: &dyn Fn(usize) -> String, ratio: &dyn Fn(usize) -> MedianInterval| {
            let weir = own(0);
            let peers = (1..paired.sides()).map(|at| peer_cell(paired, at, &own(at), &ratio(at)));
            first.iter().cloned().chain([weir]).chain(peers).collect::<Vec<_>>()
        };
        let rps = |at| table::rate(paired.requests_per_second(at));
        let throughput = row(&rps, &|at| paired.throughput_of_first(at));
        eprintln!("bench: {}", throughput.join(" | "));
        self.throughput.row(&throughput);
        let per_cpu_second = |at| table::rate(1e6 / paired.cost_us(at));
        self.efficiency.row(&row(&per_cpu_second, &|at| paired.efficiency_of_first(at)));
    }
}

/// Formats a program's figure, with the ratio of weir to it.
fn peer_cell(paired: &Paired, at: usize, own: &str, ratio: &MedianInterval) -> String {
    match (paired.failures(at), paired.rounds()) {
        (0, _) => format!("{own} · {}", table::estimate(ratio)),
        (failures, rounds) if failures == rounds => "failed".to_owned(),
        (failures, rounds) => {
            format!("{own} · {}, failed {failures} of {rounds}", table::estimate(ratio))
        }
    }
}

/// Formats the second measurement of a cell, if there was one.
fn again(cell: &ComparedLoad, rounds: u32) -> Option<String> {
    let second = cell.second.as_ref()?;
    Some(format!(
        "{}, measured again beside wrk with {} rounds, since the first interval is wholly below \
         the floor: requests/s {}.",
        cell.name,
        rounds * AGAIN,
        table::estimate(second)
    ))
}

/// Formats a floor for the verdict.
fn line(floor: &SpeedFloor) -> String {
    let holds = match floor.holds {
        Some(true) => "holds",
        Some(false) => "fails",
        None => "not judged (too few rounds)",
    };
    format!("{}, {holds}", floor.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_have_figures_and_ratios() {
        let names = ["weir", "wrk", "ab"].map(str::to_owned);
        let paired = Paired::run("test", 6, &names, |at| {
            let good = ClientRun {
                requests: 1_000,
                cpu_s: 1.0,
                wall_s: 1.0,
                rps: 0.0,
                ..ClientRun::FAILED
            };
            Ok(match at {
                0 => ClientRun { rps: 66_000.0, cpu_s: 0.5, ..good },
                1 => ClientRun { rps: 60_000.0, ..good },
                _ => ClientRun::FAILED,
            })
        });
        let mut tables = Tables::new(&PEERS[..3]);
        tables.add(Served::Nginx(1), 50, &paired.expect("no run fails"));
        let own = ["66,000", "60,000 · **1.10** (1.10–1.10)", "failed"];
        assert_eq!(tables.throughput.rows, [[&["nginx, 1 worker", "50"][..], &own].concat()]);
        let own = ["2,000", "1,000 · **2.00** (2.00–2.00)", "failed"];
        assert_eq!(tables.efficiency.rows, [[&["nginx, 1 worker", "50"][..], &own].concat()]);
    }

    #[test]
    fn floors_are_reported() {
        let floor = |holds| line(&SpeedFloor { text: "mean".to_owned(), holds });
        assert_eq!(floor(Some(true)), "mean, holds");
        assert_eq!(floor(Some(false)), "mean, fails");
        assert!(floor(None).contains("not judged"));
    }
}
