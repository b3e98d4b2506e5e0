//! The description of the HTTP/1 server: its service times and its responses.

use weir_io::Nanos;

use crate::law::Law;
use crate::pause::Pause;

/// The server. It responds to the requests of one connection in order, one at a time.
#[derive(Clone, Debug)]
pub struct Server {
    /// Service time of one request.
    pub service: Law,
    /// Number of requests served at once.
    pub workers: Workers,
    /// Responses of the server.
    pub responses: Responses,
    /// Spans in which the server is stopped, as by SIGSTOP. Work in progress continues after them,
    /// while the network accepts bytes and connections.
    pub stalls: Vec<Pause>,
    /// Time from which on requests are read and get no response.
    pub black_hole_from: Option<Nanos>,
    /// Idle time after which a connection is closed, in nanoseconds.
    pub idle_close_ns: Option<u64>,
}

impl Default for Server {
    fn default() -> Server {
        Server {
            service: Law::Fixed(1_000_000),
            workers: Workers::Unlimited,
            responses: Responses::default(),
            stalls: Vec::new(),
            black_hole_from: None,
            idle_close_ns: None,
        }
    }
}

/// The number of requests served at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workers {
    /// Each connection has its own worker.
    Unlimited,
    /// This many workers serve all connections, in order of arrival (FIFO).
    Limited(u32),
}

/// The responses of the server.
#[derive(Clone, Debug)]
pub struct Responses {
    /// Status codes with their weights. At least one; 204 and 304 have no body, and those of
    /// redirects lead to `/moved`.
    pub statuses: Vec<(u16, f64)>,
    /// Body length in bytes.
    pub body_bytes: Law,
    /// Framing of the body.
    pub framing: Framing,
    /// Protocol version.
    pub version: Version,
    /// Status of a 1xx response before the final one, and its probability.
    pub interim: Option<(u16, f64)>,
    /// Ordinal, from 1, of the response with `Connection: close`, the last one of its connection.
    pub close_after: Option<u64>,
    /// Pieces that responses are sent in; `None` for one piece.
    pub drip: Option<Drip>,
}

impl Default for Responses {
    fn default() -> Responses {
        Responses {
            statuses: vec![(200, 1.0)],
            body_bytes: Law::Fixed(64),
            framing: Framing::Length,
            version: Version::Http11,
            interim: None,
            close_after: None,
            drip: None,
        }
    }
}

/// The framing of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// `Content-Length`.
    Length,
    /// Chunks of limited size.
    Chunked {
        /// Most bytes of a chunk.
        chunk_bytes: usize,
    },
    /// The connection ends with the body.
    Close,
    /// One of the three at random, by response.
    Mixed,
}

/// The protocol version of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.1: connections persist unless announced otherwise.
    Http11,
    /// HTTP/1.0: connections end unless announced otherwise. Chunks do not exist and become
    /// lengths.
    Http10 {
        /// True to send `Connection: keep-alive`.
        keep_alive: bool,
    },
}

/// The pieces of a response that is sent slowly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drip {
    /// Number of pieces, at most one per byte.
    pub pieces: usize,
    /// Time between two pieces, in nanoseconds.
    pub gap_ns: u64,
}
