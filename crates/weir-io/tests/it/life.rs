//! Random sequences of calls over whole connections. In any order of calls, each socket's events
//! are its own, in order, and its bytes are those it sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use weir_io::{
    Backend, Close, ConnId, Endpoint, Epoll, EventKind, ListenOptions, Listener, Nanos, Segment,
    SocketOptions, StampRequest, TemplateId, WaitPolicy, Waker,
};

use crate::driver::{Driver, Machine, Seen, SeenKind, byte_at, bytes_at, unique};

const CONNS: u32 = 24;
const TURNS: u32 = 3_000;

/// xorshift64*: sufficient for random choices.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % limit
    }
}

/// Observed state of a connection.
#[derive(Clone, Copy, Default)]
struct Life {
    generation: Option<u16>,
    is_open: bool,
    /// True if the socket has not failed and this side has not closed it.
    is_alive: bool,
    has_ended: bool,
    sent: u64,
    received: u64,
}

/// Echoes everything, and occasionally closes a connection in either way.
fn echo(mut server: Driver<Epoll>, mut dice: Dice, stop: &AtomicBool) {
    while !stop.load(Ordering::Acquire) {
        server.backend.wait(Nanos::MAX, WaitPolicy::Sleep).expect("wait");
        while let Some(event) = server.backend.next() {
            let conn = event.conn;
            let bytes = match event.kind {
                EventKind::Received { bytes, .. } => bytes.to_vec(),
                EventKind::Closed => {
                    server.backend.close(conn, Close::Graceful);
                    continue;
                }
                _ => continue,
            };
            let id = server.backend.pool(&bytes);
            server.backend.send(conn, &[Segment::Pooled(id)]);
            match dice.below(400) {
                0 => server.backend.close(conn, Close::Reset),
                1 => server.backend.close(conn, Close::Graceful),
                _ => {}
            }
        }
    }
}

struct Client<B> {
    driver: Driver<B>,
    lives: Vec<Life>,
    template: TemplateId,
    endpoint: Endpoint,
}

const TEMPLATE_BYTES: u64 = 100_000;

impl<B: Machine> Client<B> {
    fn new(endpoint: Endpoint) -> Client<B> {
        let mut driver = Driver::<B>::with(None, CONNS);
        let template = driver.template(&bytes_at(0, TEMPLATE_BYTES as usize));
        Client { driver, lives: vec![Life::default(); CONNS as usize], template, endpoint }
    }

    fn connect(&mut self, conn: u32, dice: &mut Dice) {
        let requests = [StampRequest::None, StampRequest::Sample, StampRequest::All];
        let options = SocketOptions {
            stamps: requests[dice.below(3) as usize],
            discard: dice.below(3) == 0,
            source: None,
        };
        self.driver.backend.connect(ConnId(conn), &self.endpoint, options);
        let life = &mut self.lives[conn as usize];
        let generation = life.generation.map_or(0, |generation| generation.wrapping_add(1));
        *life = Life { generation: Some(generation), is_alive: true, ..Life::default() };
    }

    fn close(&mut self, conn: u32, how: Close) {
        self.driver.backend.close(ConnId(conn), how);
        self.lives[conn as usize].is_alive = false;
    }

    /// Sends the next bytes of the connection's stream, the first ones from the template.
    fn send(&mut self, conn: u32, bytes: u64) {
        let sent = self.lives[conn as usize].sent;
        let segment = if sent == 0 {
            let bytes = bytes.min(TEMPLATE_BYTES);
            self.lives[conn as usize].sent = bytes;
            Segment::Template { id: self.template, bytes: bytes as u32 }
        } else {
            self.lives[conn as usize].sent += bytes;
            Segment::Pooled(self.driver.backend.pool(&bytes_at(sent, bytes as usize)))
        };
        self.driver.backend.send(ConnId(conn), &[segment]);
    }

    fn act(&mut self, dice: &mut Dice) {
        let conn = dice.below(u64::from(CONNS)) as u32;
        let life = self.lives[conn as usize];
        if !life.is_alive {
            return self.connect(conn, dice);
        }
        match dice.below(40) {
            0 => self.close(conn, Close::Graceful),
            1 => self.close(conn, Close::Reset),
            2 => {
                self.close(conn, Close::Graceful);
                self.connect(conn, dice);
            }
            3 => self.driver.backend.discard(ConnId(conn), dice.below(300_000)),
            4 => self.send(conn, 1 + dice.below(500_000)),
            5..30 => self.send(conn, 1 + dice.below(300)),
            _ => {}
        }
    }

    fn check(&mut self, seen: Seen) {
        let Seen { conn, generation, kind, .. } = seen;
        let life = &mut self.lives[conn.index()];
        assert!(life.is_alive && life.generation == Some(generation), "{conn:?} {generation}");
        assert!(!life.is_open || kind != SeenKind::Connected);
        match kind {
            SeenKind::Connected => life.is_open = true,
            SeenKind::Received(bytes) => {
                assert!(life.is_open && !life.has_ended);
                for byte in bytes {
                    assert_eq!(byte, byte_at(life.received), "{conn:?} at {}", life.received);
                    life.received += 1;
                }
            }
            SeenKind::Discarded(bytes) => {
                assert!(life.is_open && !life.has_ended);
                life.received += bytes;
            }
            SeenKind::Transmitted => assert!(life.is_open && life.sent > 0),
            SeenKind::Closed => {
                assert!(life.is_open && !std::mem::replace(&mut life.has_ended, true))
            }
            SeenKind::Failed(_) => life.is_alive = false,
            kind => panic!("{kind:?}"),
        }
        assert!(life.received <= life.sent);
    }

    fn process_events(&mut self, until: Nanos) {
        self.driver.backend.wait(until, WaitPolicy::Sleep).expect("wait");
        while let Some(seen) = self.driver.next() {
            self.check(seen);
        }
    }
}

fn live<B: Machine>(seed: u64, at: &Endpoint) {
    let waker = Waker::new().expect("waker");
    let stop = Arc::new(AtomicBool::new(false));
    let listener = Listener::bind(at, ListenOptions::default()).expect("bind");
    let endpoint = listener.local_endpoint().expect("name");
    let stops = stop.clone();
    let wakes = waker.clone();
    let server = thread::spawn(move || {
        let mut server = Driver::<Epoll>::with(Some(wakes), 4 * CONNS);
        server.backend.listen(listener).expect("listen");
        echo(server, Dice(seed ^ 0xabcdef), &stops);
    });
    let mut client = Client::<B>::new(endpoint);
    let mut dice = Dice(seed);
    for _ in 0..TURNS {
        client.act(&mut dice);
        match dice.below(10) {
            0..4 => drop(client.driver.backend.submit()),
            4..7 => client.process_events(Nanos::ZERO),
            7 => {
                let soon = client.driver.clock.now().after(200_000);
                client.process_events(soon);
            }
            _ => {}
        }
    }
    // Open connections get back everything that they sent, unless the server closes them.
    let is_owed = |life: &Life| life.is_alive && !life.has_ended && life.received < life.sent;
    while client.lives.iter().any(is_owed) {
        let soon = client.driver.clock.now().after(1_000_000);
        client.process_events(soon);
    }
    stop.store(true, Ordering::Release);
    waker.wake();
    server.join().expect("no panic");
}

pub(crate) fn keeps_each_life_apart<B: Machine>() {
    for seed in 1..=4 {
        eprintln!("seed {seed}");
        live::<B>(seed, &Endpoint::Tcp(([127, 0, 0, 1], 0).into()));
        live::<B>(seed, &Endpoint::Unix(format!("@{}", unique("life")).into()));
    }
}
