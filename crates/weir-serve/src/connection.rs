//! State of one connection: values only, changed by `Responder`.

use weir_http::server::RequestParser;
use weir_io::Nanos;

use crate::request::Request;

/// State of a connection number, which outlives its sockets.
#[derive(Debug)]
pub(crate) struct Connection {
    /// Sockets that have had this number; identifies queued work of an older socket.
    pub(crate) life: u32,
    /// Sockets that the worker had accepted before this one.
    pub(crate) number: u64,
    pub(crate) is_open: bool,
    /// True if a response that closes has been decided or the peer has ended: nothing more is read.
    pub(crate) is_ending: bool,
    /// True if the peer has closed its sending side.
    pub(crate) has_peer_ended: bool,
    /// True after a black-hole fault: due responses are dropped.
    pub(crate) is_muted: bool,
    /// Requests taken from this socket.
    pub(crate) taken: u64,
    /// Responses of every kind in the queue.
    pub(crate) queued: u32,
    /// Counted requests without a response yet.
    pub(crate) owed: u32,
    /// Time at which the last piece of the last queued response is due.
    pub(crate) last_due_at: Nanos,
    pub(crate) last_traffic_at: Nanos,
    pub(crate) parser: RequestParser,
    /// The received part of a head. While the parser is idle, it is equal to the plain head so
    /// far, and the parser reads it only if they differ later.
    pub(crate) begun: Vec<u8>,
    /// The last request that the parser read, or reads.
    pub(crate) request: Option<Box<Request>>,
}

impl Connection {
    pub(crate) fn new() -> Connection {
        Connection {
            life: 0,
            number: 0,
            is_open: false,
            is_ending: false,
            has_peer_ended: false,
            is_muted: false,
            taken: 0,
            queued: 0,
            owed: 0,
            last_due_at: Nanos::ZERO,
            last_traffic_at: Nanos::ZERO,
            parser: RequestParser::new(),
            begun: Vec::new(),
            request: None,
        }
    }
}
