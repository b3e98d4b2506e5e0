//! The connections of one worker and the requests in flight on them.
//!
//! This module takes in events, passes completed exchanges to the recorder, and returns an
//! [`Action`] for the worker to apply to the socket. Nothing here sends, sleeps or reads a clock.

mod batches;
mod clients;
mod ending;
mod layers;
mod leasing;
mod limits;
mod opening;
mod renewing;
mod rests;
mod secure;
mod streams;

use std::ops::Range;

use weir_http::{HeadCache, Interest, RequestTraits, ResponseEvent};
use weir_io::{Close, ConnId, Event, EventKind, Nanos};
use weir_result::{ErrorKind, FailureCause};

use crate::completion::{Completion, KernelTimes, Outcome, Response};
use crate::connection::{Connection, State};
use crate::deadlines::Deadlines;
use crate::exchange::{Exchange, Phase};
use crate::job::Job;
use crate::observers::Observers;
use crate::open_queue::OpenQueue;
use crate::protocol_slots::{NONE, ProtocolSlots};
use crate::ready_queue::ReadyQueue;
use crate::recorder::Recorder;
use crate::stamps::{EventStamps, Stamping};
use crate::worker_frame::WorkerFrame;
use batches::ScriptBridge;
use layers::Layers;
pub(crate) use limits::Limits;
use renewing::Renewal;
use streams::Streams;

/// Longest wait for the peer to close a connection after its last response, in nanoseconds.
const CLOSING_NS: u64 = 100_000_000;

/// Least number of outstanding body bytes that is worth a discarding receive.
const DISCARD_MIN_BYTES: u64 = 16 * 1024;

/// The action to apply to the socket after an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Leave the socket as it is.
    None,
    /// Close a socket that has failed. Some requests may be unsent, see [`ConnectionPool::unsend`].
    Failed,
    /// Discard the next bytes, which are part of a body that is not needed.
    Discard(u64),
    /// Close it; [`ConnectionPool::connection`] has the time from which it may be renewed.
    Close(Close),
}

/// Identical slots that are dispatched together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slots {
    /// Intended time (`T0`).
    pub(crate) intended_at: Nanos,
    pub(crate) phase: Phase,
    /// Number of slots, at least 1.
    pub(crate) count: u16,
    /// Identifies their request.
    pub(crate) tag: u16,
}

/// An event to report to the script, in order.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Told {
    /// A new socket of this connection is open.
    Opened(ConnId),
    /// The nth response in the last bytes that this connection received.
    Responded {
        /// Connection of the response.
        conn: ConnId,
        /// Index of the response.
        nth: usize,
        /// HTTP status code.
        status: u16,
    },
    /// This connection can take a request.
    Freed(ConnId),
}

/// The connections of one worker.
#[derive(Debug)]
pub(crate) struct ConnectionPool {
    pub(crate) limits: Limits,
    connections: Vec<Connection>,
    places: ProtocolSlots,
    renewal: Renewal,
    pub(crate) layers: Layers,
    pub(crate) ready: ReadyQueue,
    pub(crate) deadlines: Deadlines,
    pub(crate) open_queue: OpenQueue,
    pub(crate) counts: Counts,
    incoming: Incoming,
    pub(crate) streams: Streams,
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
    /// Connections whose sockets are connecting.
    pub(crate) connecting: u32,
    /// Connections whose first attempt has neither succeeded nor failed.
    pub(crate) unresolved: u32,
    /// Requests in flight.
    pub(crate) in_flight: u64,
    /// Time of the last response, or end of the last delay, whichever is later.
    pub(crate) alive_at: Nanos,
}

/// State of the event being handled.
#[derive(Debug)]
struct Incoming {
    /// Kernel receive stamp of the event's bytes.
    received_at: Option<Nanos>,
    /// Responses that the event completed.
    responses: Vec<ResponseEvent>,
    /// Its kernel stamps, if an observer sees them.
    stamps: EventStamps,
    /// Cache of the last parsed response heads.
    known: HeadCache,
    /// Send times and phases of the requests that ended with the last failed socket.
    failing: Vec<(Nanos, Phase)>,
}

impl ConnectionPool {
    /// Returns the pool of a worker of `job`, of which no connection is open yet.
    pub(crate) fn new(
        job: &Job,
        limits: Limits,
        recorder: Recorder,
        stamping: Stamping,
        observers: Observers,
    ) -> ConnectionPool {
        let interest = limits.shows.unwrap_or(Interest::Status);
        let mut places = ProtocolSlots::new(job, limits.depth, interest);
        let connection = |conn| {
            let place = if limits.leases { NONE } else { places.lease(conn) };
            Connection::new(limits.depth, place)
        };
        let connections = (0..limits.connections).map(ConnId).map(connection).collect();
        let if_so = |wanted: bool| if wanted { limits.connections } else { 0 };
        ConnectionPool {
            limits,
            connections,
            places,
            renewal: Renewal::new(&job.plan.connection, limits.connections),
            layers: Layers::new(job, limits.connections),
            ready: ReadyQueue::new(limits.connections, limits.depth),
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
                responses: Vec::with_capacity(usize::from(limits.depth)),
                stamps: EventStamps::default(),
                known: HeadCache::new(),
                failing: Vec::new(),
            },
            streams: Streams::new(if_so(limits.streams)),
            script: ScriptBridge::new(if_so(limits.rests)),
            recorder,
            observers,
            stamping,
        }
    }

    /// Drops the connections, whose sockets were closed at `end`, and returns the recorder and the
    /// observers.
    pub(crate) fn into_observers(mut self, end: Nanos) -> (Recorder, Observers) {
        self.recorder.interim_responses(self.places.interim_responses());
        if self.limits.streams {
            self.finish_streams(end);
        }
        (self.recorder, self.observers)
    }

    /// Returns the worker's frame at `now`, with `backlog` slots due and unsent.
    pub(crate) fn frame(&self, now: Nanos, backlog: u64) -> WorkerFrame {
        let mut frame = self.recorder.frame(now, self.counts.in_flight, backlog);
        frame.open = self.counts.open;
        self.observers.add_to_frame(&mut frame);
        frame
    }

    /// Returns a connection.
    pub(crate) fn connection(&mut self, conn: ConnId) -> &mut Connection {
        &mut self.connections[conn.index()]
    }

    /// Returns an upper bound of the connections with requests in flight, or the number of streams.
    #[inline]
    pub(crate) fn busy(&self) -> u32 {
        match self.limits.streams {
            true => self.counts.in_flight as u32,
            false => self.counts.in_flight.min(self.counts.open) as u32,
        }
    }

    /// Handles one event; returns the action to apply to the socket.
    pub(crate) fn handle(&mut self, event: Event<'_>) -> Action {
        let Event { conn, at, kind, .. } = event;
        self.incoming.received_at = None;
        match kind {
            EventKind::Received { bytes, rx_at } => {
                self.incoming.received_at = rx_at;
                match self.layers.are_plain() {
                    true => self.received(conn, bytes, at),
                    false => self.received_in_layers(conn, bytes, at),
                }
            }
            EventKind::Discarded(bytes) => {
                self.recorder.received(bytes, at);
                let place = self.slot_of(conn);
                let read = self.places.at(place).protocol.skip(bytes, &mut self.incoming.responses);
                self.after_read(conn, at, read)
            }
            EventKind::Connected => self.connected(conn, at),
            EventKind::Closed => self.ended_by_peer(conn, at),
            EventKind::Failed(error) => {
                self.note_failing(conn);
                self.fail_socket(conn, &error, at);
                Action::Failed
            }
            EventKind::Transmitted { tx_at } => {
                self.stamping.transmitted(conn, tx_at);
                Action::None
            }
            // The load does not listen.
            EventKind::Accepted => Action::None,
        }
    }

    /// Returns the number of identical requests that `conn`, which can take one, can take at once.
    #[inline]
    pub(crate) fn room(&self, conn: ConnId, request: RequestTraits) -> u16 {
        let is_counted = self.renewal.counts_requests();
        if !self.limits.fill || self.limits.batches || request.closes || is_counted {
            return 1;
        }
        self.limits.depth - self.connections[conn.index()].load
    }

    /// Records that `slots.count` identical requests are sent on `conn`.
    #[inline(always)]
    pub(crate) fn dispatch(
        &mut self,
        conn: ConnId,
        request: RequestTraits,
        slots: Slots,
        now: Nanos,
    ) {
        let Slots { intended_at, phase, count: requests, tag } = slots;
        let place = self.slot_of(conn);
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
            0 => self.ready.remove(conn),
            _ if self.limits.batches => self.ready.remove(conn),
            _ if self.limits.fill => {}
            _ => self.ready.place(conn, connection.load),
        }
        self.deadlines.arm(conn, now.after(self.limits.timeout_ns));
        self.recorder.sent(&exchange, requests.into());
        if self.renewal.counts_requests() {
            self.spend(conn, now);
        }
    }

    /// Makes the connection available for a request, after its delay if the script sets one.
    #[inline]
    fn free(&mut self, conn: ConnId, lane: u16) {
        match self.limits.rests {
            true => self.note(Told::Freed(conn)),
            false => self.ready.place(conn, lane),
        }
    }

    #[inline]
    fn received(&mut self, conn: ConnId, bytes: &[u8], at: Nanos) -> Action {
        self.recorder.received(bytes.len() as u64, at);
        let place = self.slot_of(conn);
        let protocol = &mut self.places.at(place).protocol;
        let Incoming { known, responses, .. } = &mut self.incoming;
        let read = protocol.receive_cached(bytes, known, responses);
        self.after_read(conn, at, read)
    }

    /// Completes the responses of a read, and decides the connection's next state.
    #[inline]
    fn after_read(
        &mut self,
        conn: ConnId,
        at: Nanos,
        read: Result<(), weir_http::ProtocolError>,
    ) -> Action {
        let closes = self.settle(conn, at);
        if let Err(error) = read {
            return self.fail_protocol(conn, error, at);
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
            self.ready.remove(conn);
            self.deadlines.arm(conn, until);
        } else if connection.state == State::Retiring && connection.load == 0 {
            return self.renew(conn, at);
        } else if self.limits.discard {
            let bytes = lent.protocol.discardable();
            if bytes >= DISCARD_MIN_BYTES {
                return Action::Discard(bytes);
            }
        }
        if self.limits.leases {
            self.end_lease(conn);
        }
        Action::None
    }

    /// Ends the exchanges of the complete responses. Returns true if the last one closes the
    /// connection.
    #[inline]
    fn settle(&mut self, conn: ConnId, at: Nanos) -> bool {
        if self.incoming.responses.is_empty() {
            return false;
        }
        if self.limits.shows.is_some() {
            self.note_responses(conn);
        }
        let is_stamped = self.stamping.covers(conn);
        let is_observed = is_stamped || self.observers.see_all();
        if is_observed {
            self.take_stamps(conn);
        }
        let connection = &mut self.connections[conn.index()];
        let (lent, exchanges) = self.places.parts(connection.place);
        if connection.load == self.limits.depth || self.limits.batches {
            connection.freed_at = at;
        }
        let mut closes = false;
        for event in self.incoming.responses.drain(..) {
            let first_byte_at = if event.began_here { at } else { lent.first_byte_at };
            let response = Response { status: event.status, first_byte_at };
            let outcome = Outcome::of_response(response, self.limits.success);
            let mut ended = &mut exchanges[places(event.ids())];
            while let Some(&exchange) = ended.first() {
                // Exchanges sent together are adjacent, and recorded together.
                let alike = match ended {
                    [_] => 1,
                    _ if is_observed => 1,
                    _ => ended.partition_point(|other| *other == exchange),
                };
                let (ended_now, others) = ended.split_at_mut(alike);
                debug_assert!(ended_now.iter().all(|other| *other == exchange));
                ended_now.iter_mut().for_each(Exchange::end);
                ended = others;
                self.recorder.completed(&exchange, outcome, at, alike as u32);
                if is_observed {
                    let last_id = event.ids().end - ended.len() as u16 - 1;
                    let kernel = self.incoming.stamps.of(last_id, &exchange);
                    let completion = Completion { conn, exchange, outcome, at, kernel };
                    self.observers.completed(&completion, is_stamped);
                }
                connection.load -= alike as u16;
                if connection.load == 0 {
                    self.recorder.batch_ended(&exchange, at);
                }
            }
            self.counts.in_flight -= u64::from(event.count);
            closes |= event.closes;
        }
        connection.responded();
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

    /// Keeps the kernel's stamps of the current event. Bytes read together have one receive stamp,
    /// which belongs to the last response. A transmit stamp belongs to a request only if no other
    /// is in flight.
    #[inline(never)]
    fn take_stamps(&mut self, conn: ConnId) {
        let transmitted_at = self.stamping.take_transmitted(conn);
        let is_alone = self.connections[conn.index()].load == 1;
        let last = self.incoming.responses.last().filter(|_| self.stamping.covers(conn));
        self.incoming.stamps = EventStamps {
            id: last.map(|event| event.ids().end - 1),
            times: KernelTimes {
                received_at: self.incoming.received_at,
                transmitted_at: transmitted_at.filter(|_| is_alone),
            },
        };
    }

    /// Handles the end of the peer's stream: the proper end of a response, a clean close, or a
    /// failure.
    fn ended_by_peer(&mut self, conn: ConnId, at: Nanos) -> Action {
        if let Some(action) = self.ended_insecurely(conn, at) {
            return action;
        }
        if self.limits.streams {
            return self.ended_with_streams(conn, at);
        }
        let place = self.slot_of(conn);
        let read = self.places.at(place).protocol.end_of_stream(&mut self.incoming.responses);
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

/// Returns the positions of the exchanges of requests with these ids.
#[inline(always)]
fn places(ids: Range<u16>) -> Range<usize> {
    ids.start.into()..ids.end.into()
}
