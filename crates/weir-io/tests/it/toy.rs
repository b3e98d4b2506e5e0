//! A backend that is not weir's: sockets of the standard library, read in turns. It is the proof
//! that the public interface suffices for one, and an example of the least that one must have.
//!
//! It connects by blocking calls and looks for events again and again, so it is not for measuring.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use weir_io::{
    Backend, BackendOptions, Clock, Close, ConnId, Endpoint, Event, EventKind, Nanos, PooledId,
    Segment, SocketOptions, Submitted, TemplateId, WaitPolicy, Waker,
};

use crate::driver::Machine;
use crate::ending;

/// Longest time between two looks for events, in nanoseconds.
const NAP_NS: u64 = 50_000;

/// Most bytes of one event.
const READ_BYTES: usize = 64 * 1024;

/// The backend.
pub(crate) struct Toy {
    clock: Clock,
    waker: Option<Waker>,
    /// Wakes that have ended a wait.
    wakes: u64,
    conns: Vec<Conn>,
    templates: Vec<Arc<[u8]>>,
    pooled: Vec<Vec<u8>>,
    free_pooled: Vec<u32>,
    /// Closed by their owner with bytes unsent.
    lingering: Vec<(Stream, VecDeque<u8>)>,
    events: VecDeque<Found>,
    /// Bytes of the event returned last.
    leased: Vec<u8>,
}

/// One connection; the default is one that has never been open.
#[derive(Default)]
struct Conn {
    /// Sockets so far.
    sockets: u16,
    state: State,
    unsent: VecDeque<u8>,
    /// Error of a failed send, reported once everything received has been returned.
    send_error: Option<io::Error>,
    has_ended: bool,
}

#[derive(Default)]
enum State {
    #[default]
    Closed,
    /// The next look connects it.
    Connecting(Endpoint, SocketOptions),
    Open(Stream),
}

enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// An event that has not been returned yet.
struct Found {
    conn: ConnId,
    generation: u16,
    at: Nanos,
    kind: Kind,
}

enum Kind {
    Connected,
    Received(Vec<u8>),
    Closed,
    Failed(io::Error),
}

impl Machine for Toy {
    fn make(options: BackendOptions) -> io::Result<Toy> {
        Ok(Toy {
            clock: options.clock,
            wakes: options.waker.as_ref().map_or(0, Waker::wakes),
            waker: options.waker,
            conns: Vec::new(),
            templates: Vec::new(),
            pooled: Vec::new(),
            free_pooled: Vec::new(),
            lingering: Vec::new(),
            events: VecDeque::new(),
            leased: Vec::new(),
        })
    }
}

impl Backend for Toy {
    fn now(&mut self) -> Nanos {
        self.clock.now()
    }

    fn template(&mut self, bytes: Arc<[u8]>) -> TemplateId {
        self.templates.push(bytes);
        TemplateId(self.templates.len() as u32 - 1)
    }

    fn pool(&mut self, bytes: &[u8]) -> PooledId {
        let id = self.free_pooled.pop().unwrap_or_else(|| {
            self.pooled.push(Vec::new());
            self.pooled.len() as u32 - 1
        });
        self.pooled[id as usize] = bytes.to_vec();
        PooledId(id)
    }

    fn connect(&mut self, conn: ConnId, to: &Endpoint, options: SocketOptions) {
        if self.conns.len() <= conn.index() {
            self.conns.resize_with(conn.index() + 1, Conn::default);
        }
        let sockets = self.conns[conn.index()].sockets.wrapping_add(1);
        let state = State::Connecting(to.clone(), options);
        self.conns[conn.index()] = Conn { sockets, state, ..Conn::default() };
    }

    fn send(&mut self, conn: ConnId, segments: &[Segment]) {
        let state = self.conns.get_mut(conn.index());
        let mut open = state.filter(|conn| conn.is_live() && conn.send_error.is_none());
        for segment in segments {
            let bytes = match segment {
                Segment::Template { id, bytes } => {
                    &self.templates[id.0 as usize][..*bytes as usize]
                }
                Segment::Pooled(id) => {
                    self.free_pooled.push(id.0);
                    &self.pooled[id.0 as usize]
                }
            };
            if let Some(conn) = &mut open {
                conn.unsent.extend(bytes);
            }
        }
    }

    fn close(&mut self, conn: ConnId, how: Close) {
        self.events.retain(|found| found.conn != conn);
        let Some(conn) = self.conns.get_mut(conn.index()) else { return };
        match (std::mem::take(&mut conn.state), how) {
            (State::Open(Stream::Tcp(stream)), Close::Reset) => ending::reset(stream),
            (State::Open(stream), Close::Graceful) => {
                self.lingering.push((stream, std::mem::take(&mut conn.unsent)));
                self.linger();
            }
            _ => {}
        }
    }

    fn submit(&mut self) -> Submitted {
        let before = self.clock.now();
        self.connect_and_write();
        Submitted { before, after: self.clock.now() }
    }

    fn wait(&mut self, until: Nanos, _: WaitPolicy) -> io::Result<()> {
        loop {
            self.connect_and_write();
            if self.events.is_empty() {
                self.read();
            }
            let now = self.clock.now();
            let wakes = self.waker.as_ref().map_or(0, Waker::wakes);
            if !self.events.is_empty() || wakes != self.wakes || now >= until {
                self.wakes = wakes;
                return Ok(());
            }
            thread::park_timeout(Duration::from_nanos(until.since(now).min(NAP_NS)));
        }
    }

    fn next(&mut self) -> Option<Event<&mut [u8]>> {
        let Found { conn, generation, at, kind } = self.events.pop_front()?;
        let kind = match kind {
            Kind::Connected => EventKind::Connected,
            Kind::Received(bytes) => {
                self.leased = bytes;
                EventKind::Received { bytes: &mut self.leased[..], rx_at: None }
            }
            Kind::Closed => EventKind::Closed,
            Kind::Failed(error) => EventKind::Failed(error),
        };
        Some(Event { conn, generation, at, kind })
    }
}

impl Toy {
    fn connect_and_write(&mut self) {
        for (index, conn) in self.conns.iter_mut().enumerate() {
            let kind = match &conn.state {
                State::Closed => continue,
                State::Open(_) => {
                    conn.write();
                    continue;
                }
                State::Connecting(to, options) => match Stream::connect(to, *options) {
                    Ok(stream) => {
                        conn.state = State::Open(stream);
                        conn.write();
                        Kind::Connected
                    }
                    Err(error) => conn.fail(error),
                },
            };
            let found = conn.found(index, self.clock.now(), kind);
            self.events.push_back(found);
        }
        self.linger();
    }

    /// Writes the bytes of closed connections, and ends those that have none left.
    fn linger(&mut self) {
        self.lingering.retain_mut(|(stream, unsent)| {
            let result = write(stream, unsent);
            result.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
        });
    }

    /// Reads every connection once.
    fn read(&mut self) {
        let mut buffer = vec![0; READ_BYTES];
        for (index, conn) in self.conns.iter_mut().enumerate() {
            if let Some(kind) = conn.read(&mut buffer) {
                let found = conn.found(index, self.clock.now(), kind);
                self.events.push_back(found);
            }
        }
    }
}

impl Conn {
    fn is_live(&self) -> bool {
        !matches!(self.state, State::Closed)
    }

    fn found(&self, index: usize, at: Nanos, kind: Kind) -> Found {
        // The first socket has generation 0.
        Found { conn: ConnId(index as u32), generation: self.sockets.wrapping_sub(1), at, kind }
    }

    /// Closes the socket because of an error.
    fn fail(&mut self, error: io::Error) -> Kind {
        self.state = State::Closed;
        Kind::Failed(error)
    }

    fn write(&mut self) {
        let State::Open(stream) = &mut self.state else { return };
        match write(stream, &mut self.unsent) {
            Err(error) if error.kind() != ErrorKind::WouldBlock => {
                self.unsent.clear();
                self.send_error = Some(error);
            }
            _ => {}
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> Option<Kind> {
        let State::Open(stream) = &mut self.state else { return None };
        let result = if self.has_ended { Ok(0) } else { stream.read(buffer) };
        match (result, self.send_error.take()) {
            (Ok(read @ 1..), send_error) => {
                self.send_error = send_error;
                Some(Kind::Received(buffer[..read].to_vec()))
            }
            (_, Some(error)) => Some(self.fail(error)),
            (Ok(_), None) => {
                (!std::mem::replace(&mut self.has_ended, true)).then_some(Kind::Closed)
            }
            (Err(error), None) if error.kind() == ErrorKind::WouldBlock => None,
            (Err(error), None) => Some(self.fail(error)),
        }
    }
}

impl Stream {
    fn connect(to: &Endpoint, options: SocketOptions) -> io::Result<Stream> {
        match to {
            Endpoint::Tcp(_) if options.source.is_some() => {
                Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP))
            }
            Endpoint::Tcp(address) => {
                let stream = TcpStream::connect(address)?;
                stream.set_nodelay(true)?;
                stream.set_nonblocking(true)?;
                Ok(Stream::Tcp(stream))
            }
            Endpoint::Unix(path) => {
                let stream = UnixStream::connect_addr(&unix_address(path)?)?;
                stream.set_nonblocking(true)?;
                Ok(Stream::Unix(stream))
            }
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.read(buffer),
            Stream::Unix(stream) => stream.read(buffer),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.write(bytes),
            Stream::Unix(stream) => stream.write(bytes),
        }
    }
}

/// Returns a path's address; one that begins with `@` is abstract.
fn unix_address(path: &Path) -> io::Result<SocketAddr> {
    let address = match path.as_os_str().as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(path),
    };
    address.map_err(|_| io::Error::from_raw_os_error(libc::ENAMETOOLONG))
}

/// Writes until nothing is left or the kernel refuses.
fn write(stream: &mut Stream, unsent: &mut VecDeque<u8>) -> io::Result<()> {
    while !unsent.is_empty() {
        let written = stream.write(unsent.as_slices().0)?;
        unsent.drain(..written);
    }
    Ok(())
}
