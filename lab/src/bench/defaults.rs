//! weir with default settings beside other load generators with theirs: bare commands, no pinned
//! CPUs, the server on the same machine. Every program runs once in each round, in random order;
//! the floors are of weir beside wrk.

use std::ffi::OsString;
use weir_result::Document;

use anyhow::{Context, Result, ensure};
use xtask::shell::{need_program, root};

use super::paired::{self, Paired};
use crate::rig::{
    ClientRun, Fixture, MedianInterval, Peer, Section, Server, Table, Transport, failures, show,
    table, timed, versions,
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
            if is_low(&cell.first) {
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
        let run = || run_bare(fixture, server, peers[at], connections);
        // A single disturbed run must not cost those of an hour.
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

/// Largest relative difference of a client's own count from the server's: requests in flight at the
/// end.
const MISCOUNT_MAX: f64 = 0.01;

/// All programs, in the order of the columns. The second is the one of the floors.
const PEERS: [Peer; 5] = [Peer::Weir, Peer::Wrk, Peer::Ab, Peer::Oha, Peer::Hey];

/// Runs a program once. The rate of weir is that of its window, and its count covers the warm-up
/// too.
fn run_bare(fixture: &Fixture, server: &Server, peer: Peer, connections: u32) -> Result<ClientRun> {
    let name = peer.name();
    let program = peer.find().with_context(|| format!("failed to find {name}"))?;
    let place = fixture.directory.join("defaults.json");
    let mut words = vec![program.into_os_string()];
    words.extend(flags(peer, connections, fixture.options.is_quick).split(' ').map(OsString::from));
    if peer == Peer::Weir {
        words.extend(["-o".into(), place.clone().into()]);
    }
    words.push(OsString::from(&server.url));
    let before = server.counts()?;
    let timed = timed(&words, if peer == Peer::Weir { &[0, 3] } else { &[0] })?;
    let counted = server.counts_since(before)?.requests;
    ensure!(counted > 0, "{} has seen no request: {}", server.name, show(&words));
    let (reported, rps) = if peer == Peer::Weir {
        let document = Document::load(&place).context("failed to read weir's document")?;
        let failures = failures(&document);
        ensure!(failures == 0, "{failures} requests failed: {}", show(&words));
        (document.accounting.sent.total, document.results.completed_rps)
    } else {
        let reported = reported(peer, &timed.stdout);
        reported.with_context(|| format!("failed to read what {name} printed"))?
    };
    check_count(reported, counted, &words)?;
    Ok(ClientRun { rps, ..ClientRun::of(counted, &timed) })
}

/// Returns the flags of a program; a quick run takes a second at most.
fn flags(peer: Peer, connections: u32, is_quick: bool) -> String {
    let seconds = if is_quick { 1 } else { 5 };
    match peer {
        Peer::Weir if is_quick => format!("-c{connections} -d300ms --warmup 0"),
        Peer::Wrk if is_quick => format!("-c{connections} -d1s"),
        Peer::Weir | Peer::Wrk => format!("-c{connections}"),
        // The flag `-t` alone limits ab to 50,000 requests.
        Peer::Ab => format!("-k -t {seconds} -n 99999999 -c {connections}"),
        _ => format!("-z {seconds}s -c {connections}"),
    }
}

/// Returns a program's count of good responses, and its requests per second.
fn reported(peer: Peer, stdout: &str) -> Option<(u64, f64)> {
    let printed = peer.read(stdout);
    let is_bad = match peer {
        Peer::Wrk => has_failed(stdout),
        Peer::Ab => printed.errors != Some(0),
        _ => false,
    };
    printed.requests.zip(printed.rate_rps).filter(|_| !is_bad)
}

/// True if wrk met errors other than its timeouts. It still awaits and counts a response that is
/// later than its timeout.
fn has_failed(stdout: &str) -> bool {
    let errors = stdout.split_once("errors: ").map(|(_, errors)| errors);
    errors.is_some_and(|errors| !errors.starts_with("connect 0, read 0, write 0, timeout "))
}

fn check_count(reported: u64, counted: u64, words: &[OsString]) -> Result<()> {
    // A small count may differ by the requests in flight.
    let most = (counted as f64 * MISCOUNT_MAX).max(600.0);
    let is_right = (reported as f64 - counted as f64).abs() <= most;
    ensure!(is_right, "{}: it says {reported} requests, the server {counted}", show(words));
    Ok(())
}

/// Least ratio of requests/s that an interval must reach.
///
/// Requests per client CPU-second have no floor: with a CPU to spare beside a local server, weir
/// busy-polls, so its CPU time says nothing about the cost of a request.
const THROUGHPUT_MIN: f64 = 1.0;

/// Least geometric means of requests/s: on nginx, which is fast enough for the client to be the
/// limit, and on the other servers.
const NGINX_MEAN_MIN: f64 = 1.05;
const OTHERS_MEAN_MIN: f64 = 1.0;

/// One load on one server, with ratios of requests/s of weir to wrk from paired rounds.
struct ComparedLoad {
    name: String,
    is_nginx: bool,
    first: MedianInterval,
    /// Second measurement, made if the first was too low.
    second: Option<MedianInterval>,
}

/// A condition and its result; `None` with too few rounds.
struct SpeedFloor {
    text: String,
    holds: Option<bool>,
}

impl ComparedLoad {
    /// True if the ratio is too low in both measurements.
    fn is_slow(&self) -> bool {
        is_low(&self.first) && self.second.as_ref().is_some_and(is_low)
    }
}

/// True if the whole interval lies below the floor. False without an interval.
fn is_low(ratio: &MedianInterval) -> bool {
    ratio.interval.is_some_and(|(_, high)| high < THROUGHPUT_MIN)
}

/// Evaluates all cells. The means use the first measurements only: repeating just the doubtful
/// cells tends to give higher values and would bias the means.
fn floors(cells: &[ComparedLoad]) -> Vec<SpeedFloor> {
    let has_intervals = cells.iter().all(|cell| cell.first.interval.is_some());
    let slow = cells.iter().filter(|cell| cell.is_slow());
    let slow: Vec<&str> = slow.map(|cell| cell.name.as_str()).collect();
    let mean = |servers: &str, is_nginx: bool, least: f64| {
        let meant = cells.iter().filter(|cell| cell.is_nginx == is_nginx);
        let mean = geometric_mean(&meant.map(|cell| cell.first.median).collect::<Vec<_>>());
        SpeedFloor {
            text: format!("geometric mean on {servers}: {mean:.3} (floor {least:.2})"),
            holds: has_intervals.then_some(mean >= least),
        }
    };
    vec![
        SpeedFloor {
            text: match slow.as_slice() {
                [] => "no cell is wholly below 1.0 in two measurements".to_owned(),
                slow => format!("wholly below 1.0 in both: {}", slow.join("; ")),
            },
            holds: has_intervals.then_some(slow.is_empty()),
        },
        mean("nginx", true, NGINX_MEAN_MIN),
        mean("the other servers", false, OTHERS_MEAN_MIN),
    ]
}

/// Returns the geometric mean; 1 for no values.
fn geometric_mean(values: &[f64]) -> f64 {
    let logarithms: f64 = values.iter().map(|value| value.ln()).sum();
    (logarithms / values.len().max(1) as f64).exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::Cost;

    #[test]
    fn cells_have_figures_and_ratios() {
        let names = ["weir", "wrk", "ab"].map(str::to_owned);
        let paired = Paired::run("test", 6, &names, |at| {
            let good = |cpu_s, rps| {
                let cost = Cost { cpu_s, kernel_s: 0.0, wall_s: 1.0, resident_bytes: None };
                ClientRun { requests: 1_000, cost, rps }
            };
            Ok(match at {
                0 => good(0.5, 66_000.0),
                1 => good(1.0, 60_000.0),
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

    #[test]
    fn commands_are_bare() {
        let check = |is_quick, expected: [&str; 5]| {
            assert_eq!(PEERS.map(|peer| flags(peer, 50, is_quick)), expected);
        };
        let ab = "-k -t 5 -n 99999999 -c 50";
        check(false, ["-c50", "-c50", ab, "-z 5s -c 50", "-z 5s -c 50"]);
        let weir = "-c50 -d300ms --warmup 0";
        let ab = "-k -t 1 -n 99999999 -c 50";
        check(true, [weir, "-c50 -d1s", ab, "-z 1s -c 50", "-z 1s -c 50"]);
    }

    #[test]
    fn figures_of_each_program_are_read() {
        let check = |peer, stdout: &str, expected| assert_eq!(reported(peer, stdout), expected);
        check(
            Peer::Wrk,
            "  98 requests in 3.00s, 1.00MB read\nRequests/sec: 32.7",
            Some((98, 32.7)),
        );
        let with_errors = |errors| {
            format!("  98 requests in 3.00s\n  Socket errors: {errors}\nRequests/sec: 32.7")
        };
        check(Peer::Wrk, &with_errors("connect 0, read 1, write 0, timeout 0"), None);
        let late = with_errors("connect 0, read 0, write 0, timeout 7");
        check(Peer::Wrk, &late, Some((98, 32.7)));
        let ab = "Complete requests:      500\nFailed requests:        0\n\
                  Requests per second:    100.25 [#/sec] (mean)\n";
        check(Peer::Ab, ab, Some((500, 100.25)));
        check(Peer::Ab, &ab.replace("  0\n", "  7\n"), None);
        let oha = "Summary:\n  Success rate: 100.00%\n  Requests/sec:\t64020.5\n\n\
                   Status code distribution:\n  [200] 320103 responses\n";
        check(Peer::Oha, oha, Some((320_103, 64_020.5)));
        let hey = "  Requests/sec:\t28674.1\n\nStatus code distribution:\n  \
                   [200]\t143371 responses\n";
        check(Peer::Hey, hey, Some((143_371, 28_674.1)));
        check(Peer::Hey, "", None);
    }

    #[test]
    fn a_client_that_miscounts_is_found() {
        assert!(check_count(100_000, 100_900, &[]).is_ok());
        assert!(check_count(1_000, 1_500, &[]).is_ok());
        assert!(check_count(100_000, 110_000, &[]).is_err());
        assert!(check_count(0, 1_000, &[]).is_err());
    }

    fn ratio(low: f64, median: f64, high: f64) -> MedianInterval {
        MedianInterval { median, interval: Some((low, high)) }
    }

    fn good() -> MedianInterval {
        ratio(1.0, 1.05, 1.1)
    }

    fn slow() -> MedianInterval {
        ratio(0.90, 0.95, 0.99)
    }

    fn cell(name: &str, first: MedianInterval, second: Option<MedianInterval>) -> ComparedLoad {
        ComparedLoad { name: name.to_owned(), is_nginx: true, first, second }
    }

    fn held(cells: &[ComparedLoad]) -> Vec<Option<bool>> {
        floors(cells).into_iter().map(|floor| floor.holds).collect()
    }

    #[test]
    fn all_floors_hold() {
        assert_eq!(held(&[cell("a", good(), None), cell("b", good(), None)]), [Some(true); 3]);
    }

    #[test]
    fn a_cell_fails_only_if_it_is_too_low_twice() {
        assert!(!is_low(&cell("a", good(), None).first));
        assert!(is_low(&cell("a", slow(), None).first));
        let check = |second, expected| {
            let cells = [cell("a", slow(), second), cell("b", good(), None)];
            assert_eq!(held(&cells)[0], Some(expected));
        };
        check(None, true);
        check(Some(good()), true);
        check(Some(slow()), false);
        assert!(floors(&[cell("a", slow(), Some(slow()))])[0].text.ends_with("in both: a"));
    }

    #[test]
    fn nginx_and_the_others_have_means_of_their_own() {
        let with = |median| ratio(0.9, median, 1.2);
        let node = |median| ComparedLoad { is_nginx: false, ..cell("node", with(median), None) };
        let check = |nginx, other, expected: [bool; 2]| {
            let held = held(&[cell("nginx", with(nginx), None), node(other)]);
            assert_eq!([held[1], held[2]], expected.map(Some));
        };
        check(1.06, 1.0, [true, true]);
        check(1.04, 1.0, [false, true]);
        check(1.06, 0.99, [true, false]);
    }

    #[test]
    fn means_are_geometric_and_of_the_first() {
        let with = |median| ratio(0.5, median, 2.5);
        // 0.55 × 2 = 1.1, a mean of 1.049; the arithmetic mean would be 1.275.
        let check = |first, second, expected: bool| {
            let held = held(&[cell("a", with(first), second), cell("b", with(2.0), None)]);
            assert_eq!(held[1], Some(expected));
        };
        check(0.55, None, false);
        check(0.56, None, true);
        check(0.55, Some(with(2.0)), false);
        assert_eq!(geometric_mean(&[]), 1.0);
    }

    #[test]
    fn without_intervals_nothing_is_judged() {
        let cells = [cell("a", MedianInterval { median: 0.1, interval: None }, None)];
        assert!(!is_low(&cells[0].first));
        assert_eq!(held(&cells), [None; 3]);
    }
}
