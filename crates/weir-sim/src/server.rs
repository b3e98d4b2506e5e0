//! What answers: a description of the HTTP/1 server, how long it takes and what it says.

use weir_io::Nanos;

use crate::law::Law;
use crate::pause::Pause;

/// The server. Requests of one connection are answered in order, one at a time.
#[derive(Clone, Debug)]
pub struct Server {
    /// How long one request takes once it is begun.
    pub service: Law,
    /// How many requests are served at once.
    pub workers: Workers,
    /// What is answered.
    pub answers: Answers,
    /// Spans in which the server stands still, as under SIGSTOP: work under way stops and goes on
    /// after, while the network accepts bytes and connections.
    pub stalls: Vec<Pause>,
    /// From then on requests are read and never answered.
    pub black_hole_from: Option<Nanos>,
    /// A connection on which nothing happened for so long is closed, in nanoseconds.
    pub idle_close_ns: Option<u64>,
}

impl Default for Server {
    fn default() -> Server {
        Server {
            service: Law::Fixed(1_000_000),
            workers: Workers::Unlimited,
            answers: Answers::default(),
            stalls: Vec::new(),
            black_hole_from: None,
            idle_close_ns: None,
        }
    }
}

/// How many requests are served at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workers {
    /// Each connection has its own worker.
    Unlimited,
    /// So many workers serve all, in order of arrival (FIFO).
    Limited(u32),
}

/// What is answered.
#[derive(Clone, Debug)]
pub struct Answers {
    /// Status codes with their weights. At least one; 204 and 304 have no body.
    pub statuses: Vec<(u16, f64)>,
    /// Body bytes.
    pub body_bytes: Law,
    /// How a body's end is told.
    pub framing: Framing,
    /// The protocol version.
    pub version: Version,
    /// A 1xx answer before the final one, and how often.
    pub interim: Option<(u16, f64)>,
    /// The so-manyth answer of a connection says `Connection: close` and is the last.
    pub close_after: Option<u64>,
    /// Answers are sent in pieces.
    pub drip: Option<Drip>,
}

impl Default for Answers {
    fn default() -> Answers {
        Answers {
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

/// How a body's end is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// `Content-Length`.
    Length,
    /// Chunks of at most so many bytes.
    Chunked {
        /// Bytes of a chunk.
        chunk_bytes: usize,
    },
    /// The connection ends with the body.
    Close,
    /// One of the three at random, by answer.
    Mixed,
}

/// The protocol version of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.1: connections are kept unless said otherwise.
    Http11,
    /// HTTP/1.0: connections end unless said otherwise. Chunks do not exist and become lengths.
    Http10 {
        /// `Connection: keep-alive` is said.
        keep_alive: bool,
    },
}

/// Answers are sent in pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drip {
    /// How many, at most one a byte.
    pub pieces: usize,
    /// Between one and the next, in nanoseconds.
    pub gap_ns: u64,
}
