//! The connections of one worker and the requests in flight on them.
//!
//! Events come in, exchanges come out to the recorder, and what is to be done to a socket goes back
//! to the worker as an [`Action`]. Nothing here sends, sleeps or reads a clock.

mod batches;
mod ending;
mod lending;
mod opening;
mod renewing;
mod rests;
mod secure;

use std::ops::Range;

use weir_http::{BodyBudget, Interest, KnownHead, Reply, RequestTraits};
use weir_io::{Close, ConnId, Event, EventKind, Nanos};
use weir_run::{ErrorKind, FailureCause, SuccessRule};
use weir_tls::TlsConfig;

use crate::completion::{Completion, KernelTimes, Outcome, Response};
use crate::connection::{Connection, State};
use crate::deadlines::Deadlines;
use crate::exchange::{Exchange, Phase};
use crate::lanes::Lanes;
use crate::observers::Observers;
use crate::open_queue::OpenQueue;
use crate::places::{NONE, Places};
use crate::recorder::Recorder;
use crate::stamps::Stamping;
use batches::ScriptBridge;
use secure::TlsLayer;

/// How long the peer may take to close a connection after its last answer.
const CLOSING_NS: u64 = 100_000_000;

/// Bodies with at least this much to come are worth a discarding receive.
const DISCARD_MIN_BYTES: u64 = 16 * 1024;

/// What is to be done to the socket after an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Nothing.
    None,
    /// Its socket has failed: requests may be unsent, see [`Traffic::unsend`].
    Failed,
    /// The next bytes are of no interest.
    Discard(u64),
    /// Close it; [`Traffic::connection`] says when it may be renewed.
    Close(Close),
}

/// What the traffic of a worker depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Connections of this worker.
    pub(crate) connections: u32,
    /// Requests in flight per connection.
    pub(crate) depth: u16,
    /// Longest wait for an answer.
    pub(crate) timeout_ns: u64,
    /// Longest wait for a connection.
    pub(crate) connect_timeout_ns: u64,
    /// Bodies may be discarded by the machine.
    pub(crate) discard: bool,
    /// A connection is filled before the next one gets a request, and again when half of its places
    /// are free: in a closed loop every place is taken at once anyway, and so requests leave in
    /// sends of many.
    pub(crate) fill: bool,
    /// A connection takes the next batch of requests when it has all answers to the last one.
    pub(crate) batches: bool,
    /// Before a connection takes a request, somebody is asked how long it rests.
    pub(crate) rests: bool,
    /// What somebody wants to see of each answer.
    pub(crate) shows: Option<Interest>,
    /// An answer after the timeout is still taken.
    pub(crate) late_answers: bool,
    /// Tells successful responses from others.
    pub(crate) success: SuccessRule,
    /// Requests that a socket takes before it is renewed; [`u32::MAX`] where that is not limited.
    pub(crate) requests_max: u32,
    /// How old a socket may be to take a request; [`u64::MAX`] where that is not limited.
    pub(crate) lifetime_ns: u64,
    /// How a socket is closed that is renewed.
    pub(crate) renew_by: Close,
    /// What only connections at work need is lent to them.
    pub(crate) lends: bool,
}

/// Slots that are alike and leave together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slots {
    /// `T0`.
    pub(crate) intended_at: Nanos,
    pub(crate) phase: Phase,
    /// At least 1.
    pub(crate) count: u16,
    /// Names their request.
    pub(crate) tag: u16,
}

/// What happened that a script wants to know, in order.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Told {
    /// A new socket of this connection is up.
    Opened(ConnId),
    /// The nth answer of what this connection last received.
    Answered {
        /// The connection.
        conn: ConnId,
        /// Which of its answers.
        nth: usize,
        /// Its status.
        status: u16,
    },
    /// This connection could take a request.
    Freed(ConnId),
}

/// The connections of one worker.
#[derive(Debug)]
pub(crate) struct Traffic {
    pub(crate) limits: Limits,
    connections: Vec<Connection>,
    places: Places,
    /// Requests that each connection's socket has taken; empty where that is not limited.
    taken: Vec<u32>,
    pub(crate) tls: TlsLayer,
    pub(crate) lanes: Lanes,
    pub(crate) deadlines: Deadlines,
    pub(crate) open_queue: OpenQueue,
    pub(crate) counts: Counts,
    incoming: Incoming,
    /// When the requests were sent that ended with the last socket that failed, and their phases.
    failing: Vec<(Nanos, Phase)>,
    pub(crate) script: ScriptBridge,
    pub(crate) recorder: Recorder,
    observers: Observers,
    pub(crate) stamping: Stamping,
}

/// Connections and requests by state.
#[derive(Debug)]
pub(crate) struct Counts {
    /// Connections that are open.
    pub(crate) open: u64,
    /// Connections whose sockets connect.
    pub(crate) connecting: u32,
    /// Connections whose first attempt is undecided.
    pub(crate) unresolved: u32,
    /// Requests in flight.
    pub(crate) in_flight: u64,
    /// When the last response came, or a delay ends.
    pub(crate) alive_at: Nanos,
}

/// State of the event being handled.
#[derive(Debug)]
struct Incoming {
    /// The kernel's receive stamp of its bytes.
    received_at: Option<Nanos>,
    /// Responses it completed.
    replies: Vec<Reply>,
    /// The last response heads, already parsed.
    known: KnownHead,
}

impl Traffic {
    /// Nothing is open yet.
    pub(crate) fn new(
        limits: Limits,
        tls: Option<TlsConfig>,
        recorder: Recorder,
        stamping: Stamping,
        observers: Observers,
        budget: BodyBudget,
    ) -> Traffic {
        let interest = limits.shows.unwrap_or(Interest::Status);
        let mut places = Places::new(limits.depth, interest, budget);
        let connection = |conn| {
            let place = if limits.lends { NONE } else { places.lend(conn) };
            Connection::new(limits.depth, place)
        };
        let connections = (0..limits.connections).map(ConnId).map(connection).collect();
        let if_so = |wanted: bool| if wanted { limits.connections } else { 0 };
        Traffic {
            limits,
            connections,
            places,
            taken: vec![0; if_so(limits.requests_max < u32::MAX) as usize],
            tls: TlsLayer::new(tls, limits.connections),
            lanes: Lanes::new(limits.connections, limits.depth),
            deadlines: Deadlines::new(limits.connections),
            open_queue: OpenQueue::new(limits.connections),
            counts: Counts {
                open: 0,
                connecting: 0,
                unresolved: limits.connections,
                in_flight: 0,
                alive_at: Nanos::ZERO,
            },
            incoming: Incoming {
                received_at: None,
                replies: Vec::with_capacity(usize::from(limits.depth)),
                known: KnownHead::new(),
            },
            failing: Vec::new(),
            script: ScriptBridge::new(if_so(limits.rests)),
            recorder,
            observers,
            stamping,
        }
    }

    /// Drops the connections and returns what has observed them.
    pub(crate) fn into_observers(mut self) -> (Recorder, Observers) {
        self.recorder.interim_responses(self.places.interim_responses());
        (self.recorder, self.observers)
    }

    /// A connection.
    pub(crate) fn connection(&mut self, conn: ConnId) -> &mut Connection {
        &mut self.connections[conn.index()]
    }

    /// Connections with requests in flight, at most.
    #[inline]
    pub(crate) fn busy(&self) -> u32 {
        self.counts.in_flight.min(self.counts.open) as u32
    }

    /// Takes in one event.
    pub(crate) fn handle(&mut self, event: Event<'_>) -> Action {
        let Event { conn, at, kind, .. } = event;
        self.incoming.received_at = None;
        match kind {
            EventKind::Received { bytes, rx_at } => {
                self.incoming.received_at = rx_at;
                match self.tls.is_on() {
                    true => self.decrypt(conn, bytes, at),
                    false => self.received(conn, bytes, at),
                }
            }
            EventKind::Discarded(bytes) => {
                self.recorder.received(bytes, at);
                let place = self.place_of(conn);
                let read = self.places.at(place).protocol.skip(bytes, &mut self.incoming.replies);
                self.after_read(conn, at, read)
            }
            EventKind::Connected => self.connected(conn, at),
            EventKind::Closed => self.ended_by_peer(conn, at),
            EventKind::Failed(error) => {
                let errno = error.raw_os_error().unwrap_or(0);
                self.note_failing(conn);
                self.fail(conn, at, ErrorKind::Errno(errno), FailureCause::Errno(errno));
                Action::Failed
            }
            EventKind::Transmitted { tx_at } => {
                self.stamping.transmitted(conn, tx_at);
                Action::None
            }
            // The load never listens.
            EventKind::Accepted => Action::None,
        }
    }

    /// How many requests that are alike `conn`, which can take one, can take at once.
    #[inline]
    pub(crate) fn room(&self, conn: ConnId, request: RequestTraits) -> u16 {
        let is_counted = self.limits.requests_max < u32::MAX;
        if !self.limits.fill || self.limits.batches || request.closes || is_counted {
            return 1;
        }
        self.limits.depth - self.connections[conn.index()].load
    }

    /// Notes that so many requests, which are alike, go out on `conn`.
    #[inline(always)]
    pub(crate) fn dispatch(
        &mut self,
        conn: ConnId,
        request: RequestTraits,
        slots: Slots,
        now: Nanos,
    ) {
        let Slots { intended_at, phase, count: requests, tag } = slots;
        let place = self.place_of(conn);
        let connection = &mut self.connections[conn.index()];
        let freed_at = connection.freed_at;
        let exchange =
            Exchange { intended_at, freed_at, sent_at: now, phase, tag, ..Exchange::NONE };
        let (lent, exchanges) = self.places.parts(place);
        let mut left = requests;
        while left > 0 {
            let ids = lent.protocol.requests(request, left);
            left -= ids.len() as u16;
            for place in &mut exchanges[places(ids)] {
                *place = exchange;
            }
        }
        connection.load += requests;
        connection.unsent += requests;
        self.counts.in_flight += u64::from(requests);
        match lent.protocol.capacity() {
            0 => self.lanes.remove(conn),
            _ if self.limits.batches => self.lanes.remove(conn),
            _ if self.limits.fill => {}
            _ => self.lanes.place(conn, connection.load),
        }
        self.deadlines.arm(conn, now.after(self.limits.timeout_ns));
        self.recorder.sent(&exchange, requests.into());
        if self.limits.requests_max < u32::MAX {
            self.spend(conn);
        }
    }

    /// The connection can take a request, once it has rested.
    #[inline]
    fn free(&mut self, conn: ConnId, lane: u16) {
        match self.limits.rests {
            true => self.note(Told::Freed(conn)),
            false => self.lanes.place(conn, lane),
        }
    }

    #[inline]
    fn received(&mut self, conn: ConnId, bytes: &[u8], at: Nanos) -> Action {
        self.recorder.received(bytes.len() as u64, at);
        let place = self.place_of(conn);
        let protocol = &mut self.places.at(place).protocol;
        let Incoming { known, replies, .. } = &mut self.incoming;
        let read = protocol.receive_knowing(bytes, known, replies);
        self.after_read(conn, at, read)
    }

    /// Settles what a read has completed, and decides what becomes of the connection.
    #[inline]
    fn after_read(
        &mut self,
        conn: ConnId,
        at: Nanos,
        read: Result<(), weir_http::ProtocolError>,
    ) -> Action {
        let closes = self.settle(conn, at);
        if let Err(error) = read {
            let code = error.code();
            self.fail(conn, at, ErrorKind::Protocol(code), FailureCause::Protocol(code));
            return Action::Close(Close::Reset);
        }
        let connection = &mut self.connections[conn.index()];
        let lent = self.places.at(connection.place);
        if lent.protocol.began_here() {
            lent.first_byte_at = at;
        }
        if closes {
            let until = at.after(CLOSING_NS);
            connection.state = State::Closing;
            connection.at = until;
            self.lanes.remove(conn);
            self.deadlines.arm(conn, until);
        } else if connection.state == State::Retiring && connection.load == 0 {
            return self.renew(conn, at);
        } else if self.limits.discard {
            let bytes = lent.protocol.discardable();
            if bytes >= DISCARD_MIN_BYTES {
                return Action::Discard(bytes);
            }
        }
        if self.limits.lends {
            self.end_loan(conn);
        }
        Action::None
    }

    /// Ends the exchanges of the replies that have come; whether the last one closes.
    #[inline]
    fn settle(&mut self, conn: ConnId, at: Nanos) -> bool {
        if self.incoming.replies.is_empty() {
            return false;
        }
        if self.limits.shows.is_some() {
            self.note_answers(conn);
        }
        let is_stamped = self.stamping.covers(conn);
        let is_observed = is_stamped || self.observers.see_all();
        let stamps = if is_stamped { self.take_stamps(conn) } else { None };
        let connection = &mut self.connections[conn.index()];
        let (lent, exchanges) = self.places.parts(connection.place);
        if connection.load == self.limits.depth || self.limits.batches {
            connection.freed_at = at;
        }
        let mut closes = false;
        for reply in self.incoming.replies.drain(..) {
            let first_byte_at = if reply.began_here { at } else { lent.first_byte_at };
            let response = Response { status: reply.status, first_byte_at };
            let outcome = Outcome::of_response(response, self.limits.success);
            let mut answered = &mut exchanges[places(reply.ids())];
            while let Some(&exchange) = answered.first() {
                // Exchanges sent together are adjacent, and recorded together.
                let alike = match answered {
                    [_] => 1,
                    _ if is_observed => 1,
                    _ => answered.partition_point(|other| *other == exchange),
                };
                let (ended_now, others) = answered.split_at_mut(alike);
                debug_assert!(ended_now.iter().all(|other| *other == exchange));
                ended_now.iter_mut().for_each(Exchange::end);
                answered = others;
                self.recorder.completed(&exchange, outcome, at, alike as u32);
                if is_observed {
                    // What was read together has one stamp, which is the last response's.
                    let is_last = |last: u16| reply.ids().end == last && answered.is_empty();
                    let stamps = stamps.filter(|(_, last)| is_last(*last));
                    let kernel = stamps.map(|(times, _)| times.of(&exchange));
                    let completion = Completion { conn, exchange, outcome, at, kernel };
                    self.observers.completed(&completion, is_stamped);
                }
                connection.load -= alike as u16;
                if connection.load == 0 {
                    self.recorder.batch_ended(&exchange, at);
                }
            }
            self.counts.in_flight -= u64::from(reply.answers);
            closes |= reply.closes;
        }
        connection.answered();
        self.counts.alive_at = self.counts.alive_at.max(at);
        let takes_more = match &self.limits {
            limits if limits.batches => connection.load == 0,
            limits if limits.fill => connection.load <= limits.depth / 2,
            _ => true,
        };
        if connection.state == State::Open && takes_more {
            let lane = if self.limits.fill { 0 } else { connection.load };
            self.free(conn, lane);
        }
        closes
    }

    /// Takes the kernel's stamps of the event at hand, and the end of the ids of the last response,
    /// which they belong to. A transmit stamp is a request's only if no other is in flight.
    #[inline(never)]
    fn take_stamps(&mut self, conn: ConnId) -> Option<(KernelTimes, u16)> {
        let transmitted_at = self.stamping.take_transmitted(conn);
        let is_alone = self.connections[conn.index()].load == 1;
        let times = KernelTimes {
            received_at: self.incoming.received_at,
            transmitted_at: transmitted_at.filter(|_| is_alone),
        };
        self.incoming.replies.last().map(|reply| (times, reply.ids().end))
    }

    /// The peer ended its stream: an answer's proper end, a clean close, or a failure.
    fn ended_by_peer(&mut self, conn: ConnId, at: Nanos) -> Action {
        if let Some(action) = self.ended_insecurely(conn, at) {
            return action;
        }
        let place = self.place_of(conn);
        let read = self.places.at(place).protocol.end_of_stream(&mut self.incoming.replies);
        let kind = match read {
            Err(_) => ErrorKind::ClosedInAnswer,
            Ok(()) => ErrorKind::ClosedBeforeAnswer,
        };
        self.settle(conn, at);
        if self.connections[conn.index()].load == 0 {
            self.recorder.closed_by_peer();
            self.shut(conn, at);
        } else {
            self.fail(conn, at, kind, FailureCause::Closed);
        }
        Action::Close(Close::Graceful)
    }
}

/// Where the exchanges of requests with these ids are.
#[inline(always)]
fn places(ids: Range<u16>) -> Range<usize> {
    ids.start.into()..ids.end.into()
}
