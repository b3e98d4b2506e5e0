//! What the server remembers of one connection: values only, changed by the desk.

use weir_io::Nanos;

use crate::request::{Body, Request};

/// One connection, from its number's point of view: the number outlives the socket.
#[derive(Debug)]
pub(crate) struct Connection {
    /// Counts the sockets that had this number, so that what waits for an older one is recognised.
    pub(crate) life: u32,
    /// How many sockets its worker had accepted before this one.
    pub(crate) number: u64,
    pub(crate) is_open: bool,
    /// An answer that closes has been decided, or the peer has ended: nothing more is read.
    pub(crate) is_ending: bool,
    /// The peer has ended its side.
    pub(crate) has_peer_ended: bool,
    /// It has become a black hole: what is due is dropped.
    pub(crate) is_muted: bool,
    /// Requests taken in this life.
    pub(crate) taken: u64,
    /// Answers in the waiting line, of every kind.
    pub(crate) queued: u32,
    /// Counted requests without an answer yet.
    pub(crate) owed: u32,
    /// When the last piece of the last answer in the waiting line is due.
    pub(crate) last_due_at: Nanos,
    pub(crate) last_traffic_at: Nanos,
    /// The request whose body is being read.
    pub(crate) held: Option<Box<Request>>,
    pub(crate) body: Body,
    /// The beginning of a head whose end has not arrived.
    pub(crate) partial: Vec<u8>,
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
            held: None,
            body: Body::None,
            partial: Vec::new(),
        }
    }
}
