//! Actions that `Responder` decides: values only.

use weir_io::{ConnId, Nanos};

use crate::fault::FaultKind;
use crate::response::Response;
use crate::web_socket::Echo;

/// An action on a connection, to be done now.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// Send the plain response this many times.
    Plain { conn: ConnId, copies: u32 },
    /// Send a response that was decided earlier. In a box: most actions are plain responses, and
    /// would be as large.
    Give(Box<Due>),
    /// Send the echo of a message that was decided earlier.
    Echo(Box<Echo>),
    /// Send the next message of a WebSocket connection that no message of its client caused.
    Push { conn: ConnId },
    /// Send the frames of HTTP/2 or WebSocket that wait.
    Flush { conn: ConnId },
    /// Close in order.
    Close { conn: ConnId },
}

/// A decided response with its connection.
#[derive(Clone, Debug)]
pub(crate) struct Due {
    pub(crate) conn: ConnId,
    /// Life of the connection that the response belongs to; see `Connection::life`.
    pub(crate) life: u32,
    /// True if the response went through the queue.
    pub(crate) was_queued: bool,
    pub(crate) response: Response,
    pub(crate) fault: Option<FaultKind>,
    pub(crate) pieces: u32,
    pub(crate) piece: u32,
    /// Time at which piece 0 was due; the other pieces count from here.
    pub(crate) first_due_at: Nanos,
    /// Tie-breaker among responses due at the same time: lower values leave first.
    pub(crate) turn: u64,
}
