//! The true events of a world, kept apart from everything the client could observe or count.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weir_io::{ConnId, Endpoint, Nanos};

use crate::faults::ResponseFault;

/// The true events of a world.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    /// Every call of `connect`, in order.
    pub connects: Vec<Connect>,
    /// Every request that reached the server whole, in order of arrival.
    pub requests: Vec<TrueRequest>,
    /// All counters.
    pub counts: Counts,
}

/// One call of `connect`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connect {
    /// Time of the call.
    pub at: Nanos,
    /// The client's connection.
    pub conn: ConnId,
    /// Target of the connect.
    pub to: Endpoint,
    /// Source address, if one was given.
    pub source: Option<IpAddr>,
}

/// The name of a socket of a client.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SocketName {
    pub(crate) conn: ConnId,
    pub(crate) generation: u16,
}

/// One request, as the server and the network saw it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrueRequest {
    /// The client's connection.
    pub conn: ConnId,
    /// Generation of the connection's socket.
    pub generation: u16,
    /// Number at the end of its target, by which a test identifies it. The response has it in the
    /// field `x-number`, and its body begins with it.
    pub number: Option<u64>,
    /// Time at which its first byte left the client.
    pub sent_at: Nanos,
    /// Time at which its last byte reached the server's machine.
    pub received_at: Nanos,
    /// Time at which a worker began to serve it.
    pub started_at: Option<Nanos>,
    /// Time at which the last byte of its complete response left the server. If only the end of the
    /// stream ends the response: the time at which that left.
    pub departed_at: Option<Nanos>,
    /// Time at which the first byte of its final response reached the client's machine, on an open
    /// socket.
    pub first_delivered_at: Option<Nanos>,
    /// Time at which the end of its response (see `departed_at`) reached the client's machine, on
    /// an open socket.
    pub delivered_at: Option<Nanos>,
    /// Result of the request on the server.
    pub fate: Fate,
}

impl TrueRequest {
    /// Returns a request that has just arrived whole, on this socket.
    pub(crate) fn new(
        socket: SocketName,
        number: Option<u64>,
        sent_at: Nanos,
        received_at: Nanos,
    ) -> TrueRequest {
        let SocketName { conn, generation } = socket;
        TrueRequest { conn, generation, number, sent_at, received_at, ..TrueRequest::default() }
    }
}

/// The result of a request on the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fate {
    /// None yet.
    #[default]
    Waiting,
    /// A complete, well-formed response with this status (also if a fault follows the response).
    Responded(u16),
    /// Ended by this fault.
    Faulted(ResponseFault),
    /// Read, and without a response because of `black_hole_from`.
    Swallowed,
    /// Without a response when the server closed or reset the connection for another reason.
    Dropped,
    /// Without a response when the client closed the connection.
    Abandoned,
}

/// All counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Calls of `connect`, and what became of them.
    pub connects: ConnectCounts,
    /// Sends that failed with `ENOBUFS`.
    pub sends_failed: u64,
    /// Faults of responses, each counted when it happened.
    pub injected: BTreeMap<ResponseFault, u64>,
    /// Connections that ended without a fault of a connect or of a response.
    pub closes: CloseCounts,
    /// Segments of bytes that reached the server after it had closed the connection.
    pub sends_too_late: u64,
    /// Bytes that reached the server on connections it held open.
    pub bytes_to_server: u64,
    /// Bytes that reached the client on open sockets.
    pub bytes_to_client: u64,
    /// 1xx responses sent.
    pub interim_responses: u64,
    /// Most sockets open or connecting at once.
    pub open_max: usize,
    /// Calls of `wait`.
    pub waits: u64,
    /// Events delivered.
    pub events: u64,
}

/// Calls of `connect`, and what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectCounts {
    /// All calls.
    pub called: u64,
    /// Of `called`: succeeded.
    pub done: u64,
    /// Of `called`: refused by a fault.
    pub refused: u64,
    /// Of `called`: neither succeeded nor failed, by a fault.
    pub hung: u64,
    /// Of `called`: failed with `EMFILE`.
    pub over_limit: u64,
    /// Of `done`: reset at once by a fault.
    pub reset: u64,
}

/// Connections that ended without a fault of a connect or of a response, by the reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CloseCounts {
    /// The server closed them after a response that announced or required it.
    pub after_response: u64,
    /// The server closed them because they were idle.
    pub when_idle: u64,
    /// Their end by the client reached the server while it held them open.
    pub by_client: u64,
    /// They were reset by `reset_all_at`.
    pub reset_by_time: u64,
}

impl Counts {
    /// Returns the number of times `fault` happened.
    pub fn injected(&self, fault: ResponseFault) -> u64 {
        self.injected.get(&fault).copied().unwrap_or(0)
    }
}

impl Truth {
    /// Returns the number of requests with a complete, well-formed response.
    pub fn responded(&self) -> u64 {
        let responded = |request: &&TrueRequest| matches!(request.fate, Fate::Responded(_));
        self.requests.iter().filter(responded).count() as u64
    }
}

/// A handle to the truth that stays valid when the simulation is moved, also to another thread.
#[derive(Clone, Debug, Default)]
pub struct TruthHandle {
    shared: Arc<Mutex<Truth>>,
}

impl TruthHandle {
    /// Returns the truth so far. The simulation is blocked while the guard is held.
    pub fn read(&self) -> MutexGuard<'_, Truth> {
        // A panic of the engine elsewhere leaves the log unchanged, and so still true.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a copy of the truth so far.
    pub fn snapshot(&self) -> Truth {
        self.read().clone()
    }
}
