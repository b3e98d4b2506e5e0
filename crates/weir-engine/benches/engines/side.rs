//! The sides of a comparison, the assignment of their turns, and the results.

use std::error::Error;
use std::fmt;
use std::io;
use std::str::FromStr;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use weir_http::Prepared;
use weir_io::{Backend, BackendOptions, Clock, Endpoint, Epoll, Uring};
use weir_machine::sys;
use weir_result::StampChoice;

use crate::server::ServerProcess;
use crate::stats::median;
use crate::turns::{Seat, Turn, Turning};
use crate::{null, whole};

/// Rounds before those that count: they open connections and fill caches.
const WARM_UP_ROUNDS: usize = 6;

/// Least body length for discarding it unread.
const LARGE_BYTES: u32 = 16_384;

/// A closed loop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) connections: u32,
    /// Requests in flight on each connection.
    pub(crate) depth: u16,
    pub(crate) body_bytes: Option<u32>,
}

impl Load {
    pub(crate) fn discards(self) -> bool {
        self.depth == 1 && self.body_bytes.is_some_and(|bytes| bytes >= LARGE_BYTES)
    }
}

/// An engine, and the client on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SideKind {
    Uring,
    Epoll,
    UringUnstamped,
    EpollUnstamped,
    UringNull,
    EpollNull,
}

const NAMES: [(SideKind, &str); 6] = [
    (SideKind::Uring, "uring"),
    (SideKind::Epoll, "epoll"),
    (SideKind::UringUnstamped, "uring-unstamped"),
    (SideKind::EpollUnstamped, "epoll-unstamped"),
    (SideKind::UringNull, "uring-null"),
    (SideKind::EpollNull, "epoll-null"),
];

impl fmt::Display for SideKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(kind, _)| kind == self).map(|(_, name)| name);
        f.pad(name.expect("every kind has a name"))
    }
}

impl FromStr for SideKind {
    type Err = String;
    fn from_str(text: &str) -> Result<SideKind, String> {
        let found = NAMES.iter().find(|(_, name)| *name == text).map(|(kind, _)| *kind);
        found.ok_or_else(|| format!("no side {text}"))
    }
}

/// The load, target and request of every side.
#[derive(Clone)]
struct Task {
    load: Load,
    endpoint: Endpoint,
    request: Prepared,
    response_bytes: u64,
}

/// The sides with their threads.
pub(crate) struct Fleet {
    load: Load,
    sides: Vec<Side>,
}

/// One side, as the benchmark's main thread controls it.
struct Side {
    kind: SideKind,
    grant: Sender<()>,
    done: Receiver<Turn>,
    thread: JoinHandle<io::Result<()>>,
    turns: Vec<Turn>,
}

impl Fleet {
    pub(crate) fn start(
        kinds: &[SideKind],
        load: Load,
        server: &ServerProcess,
        turn_ms: u64,
    ) -> Result<Fleet, Box<dyn Error>> {
        let target = load.body_bytes.map_or("/".to_owned(), |bytes| format!("/?size={bytes}"));
        let request = Prepared::http1("GET", &target, &server.address.to_string(), &[], None)?;
        let response_bytes = server.response_bytes(request.bytes())?;
        let endpoint = Endpoint::Tcp(server.address);
        let task = Task { load, endpoint, request, response_bytes };
        let sides = kinds.iter().map(|kind| Side::start(*kind, task.clone(), turn_ms));
        Ok(Fleet { load, sides: sides.collect() })
    }

    /// Assigns the turns and prints the results.
    pub(crate) fn compare(mut self, rounds: usize) -> Result<(), Box<dyn Error>> {
        for round in 0..WARM_UP_ROUNDS + rounds {
            let mut order: Vec<usize> = (0..self.sides.len()).collect();
            if round % 2 == 1 {
                order.reverse();
            }
            for at in order {
                if !self.sides[at].take_turn(round >= WARM_UP_ROUNDS) {
                    return Err(self.sides.swap_remove(at).failure());
                }
            }
        }
        let Load { connections, depth, body_bytes } = self.load;
        let body = body_bytes.map_or(String::new(), |bytes| format!(", bodies of {bytes} bytes"));
        println!("\n{connections} connections, {depth} in flight on each{body}");
        for side in &self.sides {
            side.print(&self.sides[0].turns);
        }
        Ok(())
    }
}

impl Side {
    fn start(kind: SideKind, task: Task, turn_ms: u64) -> Side {
        let (grant, granted) = mpsc::channel();
        let (sender, done) = mpsc::channel();
        let request_bytes = task.request.bytes().len().try_into().expect("a short request");
        let seat = Seat { granted, done: sender, turn_ns: turn_ms * 1_000_000, request_bytes };
        let thread = thread::spawn(move || run(kind, &task, seat));
        Side { kind, grant, done, thread, turns: Vec::new() }
    }

    /// Runs one turn. Returns true if the side is still running.
    fn take_turn(&mut self, counts: bool) -> bool {
        let turn = self.grant.send(()).ok().and_then(|()| self.done.recv().ok());
        self.turns.extend(turn.filter(|_| counts));
        turn.is_some()
    }

    /// Returns the reason why the side is no longer running.
    fn failure(self) -> Box<dyn Error> {
        let kind = self.kind;
        match self.thread.join() {
            Ok(Err(error)) => format!("{kind} failed: {error}").into(),
            _ => format!("{kind} ended early").into(),
        }
    }

    fn print(&self, reference: &[Turn]) {
        let cost = |turn: &Turn| turn.cpu_ns as f64 / turn.requests as f64 / 1e3;
        let pairs = self.turns.iter().zip(reference);
        let (ratio, interval) = median(pairs.map(|(own, other)| cost(own) / cost(other)).collect());
        let (cost_us, _) = median(self.turns.iter().map(cost).collect());
        let rate = |turn: &Turn| turn.requests as f64 * 1e9 / turn.wall_ns as f64;
        let (rate_rps, _) = median(self.turns.iter().map(rate).collect());
        let interval = interval.map_or(String::new(), |(low, high)| format!("{low:.3}–{high:.3}"));
        println!(
            "  {:16} {cost_us:8.3} µs   ratio {ratio:.3} ({interval})   {rate_rps:9.0} requests/s",
            self.kind
        );
    }
}

fn run(kind: SideKind, task: &Task, seat: Seat) -> io::Result<()> {
    sys::set_timer_slack(1)?;
    let options = BackendOptions {
        clock: Clock::start(),
        connections: task.load.connections,
        backends: 1,
        waker: None,
    };
    match kind {
        SideKind::Uring | SideKind::UringUnstamped | SideKind::UringNull => {
            drive(kind, Turning::new(Uring::new(options)?, seat), task)
        }
        SideKind::Epoll | SideKind::EpollUnstamped | SideKind::EpollNull => {
            drive(kind, Turning::new(Epoll::new(options)?, seat), task)
        }
    }
}

fn drive<B: Backend>(kind: SideKind, backend: B, task: &Task) -> io::Result<()> {
    let Task { load, endpoint, request, response_bytes } = task;
    let stamps = match kind {
        SideKind::UringNull | SideKind::EpollNull => {
            return null::run(backend, *load, endpoint, request.bytes(), *response_bytes);
        }
        SideKind::Uring | SideKind::Epoll => StampChoice::Sample,
        SideKind::UringUnstamped | SideKind::EpollUnstamped => StampChoice::None,
    };
    whole::run(backend, *load, endpoint, request, stamps)
}
