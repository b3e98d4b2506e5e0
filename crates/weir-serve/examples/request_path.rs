//! Cost of a request in the server itself: its own loop on a backend in memory, without kernel or
//! client. `cargo xtask instructions` counts its instructions, and decision 0025 has its figures.
//!
//! `list` prints the names of the scenarios. `count SCENARIO TIMES` serves `TIMES` times 1,000
//! rounds of one, and prints their number.

use std::env;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use weir_io::{
    Backend, Close, ConnId, Endpoint, Event, EventKind, Listener, Nanos, PooledId, Segment,
    SocketOptions, Submitted, TemplateId, WaitPolicy,
};
use weir_serve::{Behaviour, Server, Shared};

/// Rounds of the shortest run: a multiple of the pieces of every scenario.
const ROUNDS: u64 = 1_000;

const GET: &str = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// Bytes of a large upload's body, and pieces that it arrives in.
const UPLOAD_BYTES: usize = 192 * 1024;
const UPLOAD_PIECES: usize = 4;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["list"] => scenarios().iter().for_each(|(name, _)| println!("{name}")),
        ["count", name, times] => {
            let scenario = scenarios().into_iter().find(|(other, _)| *other == name);
            let (_, pieces) = scenario.expect("`list` prints the names of scenarios");
            let rounds = ROUNDS * times.parse::<u64>().expect("a number of times");
            serve(pieces, rounds);
            println!("{rounds}");
        }
        _ => panic!("`list` or `count SCENARIO TIMES`"),
    }
}

/// Returns each scenario's name and the bytes of its rounds, which arrive in turns.
fn scenarios() -> Vec<(&'static str, Vec<Vec<u8>>)> {
    let in_turns = |of: &dyn Fn(u32) -> String| (0..2).map(|turn| of(turn).into_bytes()).collect();
    let slot = |turn| format!("GET / HTTP/1.1\r\nHost: localhost\r\nx-slot: {turn:06}\r\n\r\n");
    let nine = |turn| {
        format!(
            "GET /index.html?page={turn} HTTP/1.1\r\nHost: localhost:8080\r\n\
             User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101\r\n\
             Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n\
             Accept-Language: en-US,en;q=0.5\r\nAccept-Encoding: gzip, deflate, br\r\n\
             Referer: http://localhost:8080/start\r\nCookie: session=0123456789abcdef\r\n\
             Cache-Control: no-cache\r\nX-Request-Id: {turn:032}\r\n\r\n"
        )
    };
    let post = |fields: &str, body: &str| {
        format!("POST / HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n\r\n{body}").into_bytes()
    };
    let body = "x".repeat(100);
    let upload = post(&format!("Content-Length: {UPLOAD_BYTES}"), &"x".repeat(UPLOAD_BYTES));
    let (head, tail) = GET.split_at(GET.len() / 2);
    vec![
        ("serve-same", vec![GET.into()]),
        ("serve-same-16", vec![GET.repeat(16).into()]),
        ("serve-two-in-turns", in_turns(&|turn| GET.replacen('/', &format!("/{turn}"), 1))),
        ("serve-slot", in_turns(&slot)),
        ("serve-nine-fields", in_turns(&nine)),
        ("serve-post", vec![post("Content-Length: 100", &body)]),
        (
            "serve-post-chunked",
            vec![post("Transfer-Encoding: chunked", &format!("64\r\n{body}\r\n0\r\n\r\n"))],
        ),
        ("serve-split", vec![head.into(), tail.into()]),
        (
            "serve-upload",
            upload.chunks(upload.len().div_ceil(UPLOAD_PIECES)).map(<[u8]>::to_vec).collect(),
        ),
    ]
}

/// Serves `rounds` rounds of `pieces`.
fn serve(pieces: Vec<Vec<u8>>, rounds: u64) {
    let stop = Arc::new(AtomicBool::new(false));
    let memory = Memory {
        now: Nanos::ZERO,
        pieces,
        rounds_left: rounds,
        is_accepted: false,
        has_arrived: false,
        stop: Arc::clone(&stop),
    };
    let shared = Shared::new(Behaviour::default(), 0, 1);
    let mut server = Server::new(memory, Arc::clone(&shared), 0, WaitPolicy::Hybrid);
    server.run(&stop).expect("memory does not fail");
    let stats = shared.stats();
    assert_eq!(stats.requests.bad, 0);
    assert!(
        stats.requests.received > 0 && stats.requests.answered == stats.requests.received,
        "{stats:?}"
    );
}

/// The backend in memory: a piece arrives in each turn on the only connection.
#[derive(Debug)]
struct Memory {
    now: Nanos,
    pieces: Vec<Vec<u8>>,
    rounds_left: u64,
    is_accepted: bool,
    /// True if the next piece has arrived and is not read.
    has_arrived: bool,
    /// Set after the last round.
    stop: Arc<AtomicBool>,
}

impl Backend for Memory {
    fn now(&mut self) -> Nanos {
        self.now
    }

    fn template(&mut self, _: Arc<[u8]>) -> TemplateId {
        TemplateId(0)
    }

    fn pool(&mut self, _: &[u8]) -> PooledId {
        PooledId(0)
    }

    fn connect(&mut self, _: ConnId, _: &Endpoint, _: SocketOptions) {
        panic!("a server does not connect");
    }

    fn listen(&mut self, _: Listener) -> io::Result<()> {
        Ok(())
    }

    fn send(&mut self, _: ConnId, _: &[Segment]) {}

    fn discard(&mut self, _: ConnId, _: u64) {}

    fn close(&mut self, _: ConnId, _: Close) {
        panic!("no scenario closes the connection");
    }

    fn submit(&mut self) -> Submitted {
        Submitted { before: self.now, after: self.now }
    }

    fn wait(&mut self, _: Nanos, _: WaitPolicy) -> io::Result<()> {
        self.now = self.now.after(1_000);
        self.has_arrived = self.is_accepted;
        Ok(())
    }

    fn next(&mut self) -> Option<Event<&mut [u8]>> {
        let conn = ConnId(0);
        let at = self.now;
        if !self.is_accepted {
            self.is_accepted = true;
            return Some(Event { conn, generation: 0, at, kind: EventKind::Accepted });
        }
        if !std::mem::take(&mut self.has_arrived) {
            return None;
        }
        self.rounds_left -= 1;
        if self.rounds_left == 0 {
            self.stop.store(true, Ordering::Release);
        }
        let turn = self.rounds_left % self.pieces.len() as u64;
        let piece = self.pieces.len() - 1 - turn as usize;
        let kind = EventKind::Received { bytes: &mut self.pieces[piece][..], rx_at: None };
        Some(Event { conn, generation: 0, at, kind })
    }
}
