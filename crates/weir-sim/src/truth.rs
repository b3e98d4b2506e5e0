//! What truly happened, kept apart from everything the client could see or count.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weir_io::{ConnId, Endpoint, Nanos};

use crate::faults::AnswerFault;

/// What truly happened in a world.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    /// Every call of `connect`, in order.
    pub connects: Vec<Connect>,
    /// Every request that reached the server whole, in order of arrival.
    pub requests: Vec<Request>,
    /// Everything countable.
    pub counts: Counts,
}

/// One call of `connect`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connect {
    /// When.
    pub at: Nanos,
    /// The client's connection.
    pub conn: ConnId,
    /// Where to.
    pub to: Endpoint,
    /// Where from, where that was said.
    pub source: Option<IpAddr>,
}

/// One request, as the server and the network saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The client's connection.
    pub conn: ConnId,
    /// Which socket of it.
    pub generation: u16,
    /// The number that its target ends with, by which a test knows it again; its answer says it in
    /// a field `x-number`, and its body begins with it.
    pub number: Option<u64>,
    /// Its first byte left the client.
    pub sent_at: Nanos,
    /// Its last byte reached the server's machine.
    pub received_at: Nanos,
    /// A worker began with it.
    pub started_at: Option<Nanos>,
    /// The last byte of its complete answer left the server, or the end of the stream where only
    /// that ends the answer.
    pub departed_at: Option<Nanos>,
    /// The first byte of its final answer reached the client's machine, on an open socket.
    pub first_delivered_at: Option<Nanos>,
    /// That reached the client's machine, on an open socket.
    pub delivered_at: Option<Nanos>,
    /// What the server made of it.
    pub fate: Fate,
}

/// What the server made of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Nothing yet.
    Waiting,
    /// Answered completely and well, with this status (also when a fault follows the answer).
    Answered(u16),
    /// Ended by this fault.
    Faulted(AnswerFault),
    /// Read by the black hole.
    Swallowed,
    /// Unanswered when the server closed or reset the connection for another reason.
    Dropped,
    /// Unanswered when the client closed the connection.
    Abandoned,
}

/// Everything countable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Calls of `connect`.
    pub connects: u64,
    /// Of `connects`: succeeded.
    pub connects_done: u64,
    /// Of `connects`: refused by a fault.
    pub connects_refused: u64,
    /// Of `connects`: never answered, by a fault.
    pub connects_hung: u64,
    /// Of `connects`: failed with `EMFILE`.
    pub connects_over_limit: u64,
    /// Of `connects_done`: reset at once by a fault.
    pub connects_reset: u64,
    /// Sends that failed with `ENOBUFS`.
    pub sends_failed: u64,
    /// Faults of answers, each counted when it happened.
    pub injected: BTreeMap<AnswerFault, u64>,
    /// Connections reset by `reset_all_at`.
    pub resets_by_time: u64,
    /// Connections the server closed after an answer that said so or needed it.
    pub closes_after_answer: u64,
    /// Connections the server closed because they were idle.
    pub closes_when_idle: u64,
    /// Connections whose end by the client reached the server while it held them open.
    pub closes_by_client: u64,
    /// Segments of bytes that reached the server after it had closed the connection.
    pub sends_too_late: u64,
    /// Bytes that reached the server on connections it held open.
    pub bytes_to_server: u64,
    /// Bytes that reached the client on open sockets.
    pub bytes_to_client: u64,
    /// 1xx answers sent.
    pub interim_answers: u64,
    /// Most sockets open or connecting at once.
    pub open_max: usize,
    /// Calls of `wait`.
    pub waits: u64,
    /// Events lent.
    pub events: u64,
}

impl Counts {
    /// How often `fault` happened.
    pub fn injected(&self, fault: AnswerFault) -> u64 {
        self.injected.get(&fault).copied().unwrap_or(0)
    }
}

impl Truth {
    /// Requests answered completely and well.
    pub fn answered(&self) -> u64 {
        let answered = |request: &&Request| matches!(request.fate, Fate::Answered(_));
        self.requests.iter().filter(answered).count() as u64
    }
}

/// The way to the truth after the simulation was given away, also from another thread.
#[derive(Clone, Debug, Default)]
pub struct TruthHandle {
    shared: Arc<Mutex<Truth>>,
}

impl TruthHandle {
    /// The truth so far. The simulation stands still while this is held.
    pub fn read(&self) -> MutexGuard<'_, Truth> {
        // A panic of the engine elsewhere leaves the log as it was: still true.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A copy of the truth so far.
    pub fn snapshot(&self) -> Truth {
        self.read().clone()
    }
}
