//! Drives a backend as the engine does, but copies its events.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use weir_io::{
    Backend, BackendOptions, Clock, Close, ConnId, Endpoint, Engine, Epoll, Event, EventKind,
    Nanos, PooledId, Segment, SocketOptions, TemplateId, Uring, WaitPolicy, Waker,
};

/// A backend that the checks can create.
pub(crate) trait Machine: Backend + Sized {
    /// Creates a backend in the calling thread.
    fn make(options: BackendOptions) -> io::Result<Self>;

    /// Tries whether it works on this machine.
    fn probe() -> io::Result<()> {
        Ok(())
    }
}

impl Machine for Epoll {
    fn make(options: BackendOptions) -> io::Result<Epoll> {
        Epoll::new(options)
    }
}

impl Machine for Uring {
    fn make(options: BackendOptions) -> io::Result<Uring> {
        Uring::new(options)
    }

    fn probe() -> io::Result<()> {
        Engine::Uring.probe()
    }
}

/// A copy of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) conn: ConnId,
    pub(crate) generation: u16,
    pub(crate) at: Nanos,
    /// `rx_at` or `tx_at`.
    pub(crate) stamp: Option<Nanos>,
    pub(crate) kind: SeenKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SeenKind {
    Connected,
    Accepted,
    Received(Vec<u8>),
    Discarded(u64),
    Transmitted,
    Closed,
    /// With its `errno`.
    Failed(i32),
}

/// Longest time without an event before a check fails instead of hanging forever. No check measures
/// with it.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) struct Driver<B> {
    pub(crate) backend: B,
    pub(crate) clock: Clock,
}

impl<B: Machine> Driver<B> {
    pub(crate) fn new() -> Driver<B> {
        Driver::with(None, 4096)
    }

    pub(crate) fn with(waker: Option<Waker>, connections: u32) -> Driver<B> {
        let clock = Clock::start();
        let options = BackendOptions { clock, connections, backends: 1, waker };
        let backend = B::make(options).expect("a backend");
        Driver { backend, clock }
    }

    pub(crate) fn connect(&mut self, conn: u32, to: &Endpoint) {
        self.backend.connect(ConnId(conn), to, SocketOptions::default());
    }

    /// Connects and waits until connected.
    pub(crate) fn connected(&mut self, conn: u32, to: &Endpoint, options: SocketOptions) {
        self.backend.connect(ConnId(conn), to, options);
        let seen = self.one();
        assert!(seen.conn == ConnId(conn) && seen.kind == SeenKind::Connected, "{seen:?}");
    }

    pub(crate) fn close(&mut self, conn: u32) {
        self.backend.close(ConnId(conn), Close::Graceful);
    }

    pub(crate) fn send_pooled(&mut self, conn: u32, bytes: &[u8]) -> PooledId {
        let id = self.backend.pool(bytes);
        self.backend.send(ConnId(conn), &[Segment::Pooled(id)]);
        id
    }

    pub(crate) fn template(&mut self, bytes: &[u8]) -> TemplateId {
        self.backend.template(Arc::from(bytes))
    }

    /// Waits for at least one event and passes each to the handler, with the backend.
    pub(crate) fn handle(&mut self, mut handler: impl FnMut(&mut B, Seen)) {
        let from = self.clock.now();
        let mut count = 0;
        while count == 0 {
            let now = self.clock.now();
            assert!(now < from + PATIENCE, "nothing happens");
            self.backend.wait(from + PATIENCE, WaitPolicy::Sleep).expect("wait");
            while let Some(seen) = self.next() {
                count += 1;
                handler(&mut self.backend, seen);
            }
        }
    }

    /// Returns the events of one batch.
    pub(crate) fn take_events(&mut self) -> Vec<Seen> {
        let mut all = Vec::new();
        self.handle(|_, seen| all.push(seen));
        all
    }

    /// Returns the next event, which must be the only one of its batch.
    pub(crate) fn one(&mut self) -> Seen {
        let mut all = self.take_events();
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    }

    /// Returns all events up to the batch in which `end` is true for one, inclusive.
    pub(crate) fn until(&mut self, end: impl Fn(&Seen) -> bool) -> Vec<Seen> {
        let mut all = Vec::new();
        loop {
            all.extend(self.take_events());
            if all.iter().any(&end) {
                return all;
            }
        }
    }

    /// Receives on `conn` until there are `len` bytes.
    pub(crate) fn receive(&mut self, conn: u32, len: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(len);
        while bytes.len() < len {
            for seen in self.take_events() {
                assert_eq!(seen.conn, ConnId(conn), "{seen:?}");
                let SeenKind::Received(more) = seen.kind else { panic!("{seen:?}") };
                bytes.extend(more);
            }
        }
        assert_eq!(bytes.len(), len);
        bytes
    }

    /// Asserts that no further event occurs, as far as repeated waits show.
    pub(crate) fn quiet(&mut self) {
        for _ in 0..50 {
            let soon = self.clock.now() + Duration::from_micros(200);
            self.backend.wait(soon, WaitPolicy::Sleep).expect("wait");
            let seen = self.next();
            assert!(seen.is_none(), "{seen:?}");
        }
    }

    pub(crate) fn next(&mut self) -> Option<Seen> {
        let event = self.backend.next()?;
        let mut stamp = None;
        let kind = match event.kind {
            EventKind::Connected => SeenKind::Connected,
            EventKind::Accepted => SeenKind::Accepted,
            EventKind::Received { bytes, rx_at } => {
                stamp = rx_at;
                assert!(!bytes.is_empty(), "Received is never empty");
                SeenKind::Received(bytes.to_vec())
            }
            EventKind::Discarded(bytes) => SeenKind::Discarded(bytes),
            EventKind::Transmitted { tx_at } => {
                stamp = Some(tx_at);
                SeenKind::Transmitted
            }
            EventKind::Closed => SeenKind::Closed,
            EventKind::Failed(error) => SeenKind::Failed(error.raw_os_error().unwrap_or(0)),
        };
        let Event { conn, generation, at, .. } = event;
        let seen = Seen { conn, generation, at, stamp, kind };
        assert!(seen.at <= self.clock.now());
        assert!(seen.stamp.is_none_or(|stamp| stamp <= seen.at), "{seen:?}");
        Some(seen)
    }
}

/// Creates a TCP server on a free port of the loopback address.
pub(crate) fn tcp() -> (TcpListener, Endpoint) {
    let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).expect("bind");
    let endpoint = Endpoint::Tcp(listener.local_addr().expect("name"));
    (listener, endpoint)
}

/// Returns a Unix name in the abstract namespace that no other check uses.
pub(crate) fn unique(name: &str) -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("weir-{name}-{}-{count}", std::process::id())
}

/// Compares without printing megabytes.
#[track_caller]
pub(crate) fn assert_same(bytes: &[u8], expected: &[u8]) {
    let differ = bytes.iter().zip(expected).position(|(a, b)| a != b);
    assert_eq!((bytes.len(), differ), (expected.len(), None), "length and first difference");
}

/// Returns the byte that belongs at a position of a stream.
pub(crate) fn byte_at(position: u64) -> u8 {
    (position.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

/// Returns `len` bytes of a stream from `position` on.
pub(crate) fn bytes_at(position: u64, len: usize) -> Vec<u8> {
    (position..position + len as u64).map(byte_at).collect()
}
