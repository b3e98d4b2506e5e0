//! Servers for one test, and a blocking client of HTTP/2 on any stream.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use weir_http::h2::{H2Client, H2Options};
use weir_http::{Multiplexed, Request, StreamEvent, StreamEventKind};
use weir_io::{Endpoint, Engine, EngineChoice};
use weir_serve::{Behaviour, Handle, ServeError, ServeOptions, Stats, TlsConfig, spawn};

/// Runs `test` against a fresh server on each backend, and returns the counters of the last.
pub(crate) fn check(
    tls: Option<&TlsConfig>,
    change: impl Fn(&mut Behaviour),
    test: impl Fn(&Handle, SocketAddr),
    judge: impl Fn(&Stats),
) {
    for engine in [EngineChoice::Only(Engine::Epoll), EngineChoice::Only(Engine::Uring)] {
        let mut options = ServeOptions { engine, tls: tls.cloned(), ..ServeOptions::default() };
        change(&mut options.behaviour);
        let handle = match spawn(options) {
            Ok(handle) => handle,
            // The kernel lacks io_uring or forbids it.
            Err(ServeError::Worker(_)) if engine == EngineChoice::Only(Engine::Uring) => continue,
            Err(error) => panic!("{engine:?}: {error}"),
        };
        let Endpoint::Tcp(address) = *handle.endpoint() else { panic!("not TCP") };
        test(&handle, address);
        let stats = handle.stop().expect("the workers end well");
        judge(&stats);
    }
}

/// Connects; a hang becomes a failure, and no test depends on the length of the timeout.
pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the server listens");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a valid timeout");
    stream
}

/// Reads once; a signal does not end the read.
pub(crate) fn read(stream: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match stream.read(buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Returns a request from its HTTP/1 form.
pub(crate) fn request(text: &str) -> Arc<Request> {
    Arc::new(Request::parse(text.as_bytes(), "http").expect("a complete request"))
}

/// Returns a GET of `path`.
pub(crate) fn get(path: &str) -> Arc<Request> {
    request(&format!("GET {path} HTTP/1.1\r\nHost: test\r\n\r\n"))
}

/// A connection of HTTP/2.
pub(crate) struct Connection<S> {
    stream: S,
    pub(crate) client: H2Client,
    buffer: Vec<u8>,
    /// Time, by which each turn takes 1 ns.
    pub(crate) now_ns: u64,
}

impl<S: Read + Write> Connection<S> {
    /// Opens a connection with at most `streams` requests in flight.
    pub(crate) fn open(stream: S, streams: u16, options: &H2Options) -> Connection<S> {
        let mut client = H2Client::new(streams, options);
        client.open(0);
        let mut connection = Connection { stream, client, buffer: vec![0; 1 << 16], now_ns: 0 };
        while !connection.client.is_open() {
            assert_eq!(connection.turn(), Some(vec![]), "settings come first");
        }
        connection
    }

    /// Sends what waits.
    pub(crate) fn flush(&mut self) {
        let mut out = Vec::new();
        self.client.poll_transmit(&mut out);
        self.stream.write_all(&out).expect("the server reads");
    }

    /// Sends what waits, and reads once. Returns the events, or `None` at the end of the stream.
    pub(crate) fn turn(&mut self) -> Option<Vec<StreamEvent>> {
        self.now_ns += 1;
        self.flush();
        let count = read(&mut self.stream, &mut self.buffer).expect("the server sends, or closes");
        let mut events = Vec::new();
        let read = self.client.receive(&self.buffer[..count], self.now_ns, &mut events);
        read.expect("valid frames");
        (count > 0).then_some(events)
    }

    /// Sends requests as far as there is capacity, until all have ended or the connection retires.
    /// Returns the number that were sent, and the ends.
    pub(crate) fn load(&mut self, requests: &[Arc<Request>]) -> (usize, Vec<StreamEventKind>) {
        let mut sent = 0;
        let mut ends = Vec::new();
        loop {
            while sent < requests.len() && self.client.capacity() > 0 && !self.client.is_retiring()
            {
                self.client.request(&requests[sent], self.now_ns);
                sent += 1;
            }
            if ends.len() == sent && (sent == requests.len() || self.client.is_retiring()) {
                return (sent, ends);
            }
            let events = self.turn().expect("the server closes only after the last response");
            let kinds = events.into_iter().map(|event| event.kind);
            ends.extend(kinds.filter(|kind| kind.is_last()));
        }
    }
}
