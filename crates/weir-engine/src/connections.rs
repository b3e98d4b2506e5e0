//! The connections of one worker: the state of each, those that can take a request, and the times
//! at which the others are due. Of a connection's requests it knows only how many there are. This
//! room also owns the layers between a socket and the protocol. It may call the job and time, and
//! calls no backend but to send what the layers have.

mod connection;
mod deadlines;
mod delays;
mod growth;
mod layers;
mod limits;
mod open_queue;
mod ready_queue;
mod renewal;

use weir_io::{ConnId, Nanos};

use crate::job::Job;
use crate::time::{Partition, Presence, Timeline};
use connection::Connection;
pub(crate) use connection::{NO_SLOT, SocketState};
pub(crate) use deadlines::Deadlines;
use delays::Delays;
use growth::Growth;
pub(crate) use layers::{Decrypted, LayerStep, Layers};
pub(crate) use limits::{ConnectionLimits, Refill};
use open_queue::OpenQueue;
pub(crate) use ready_queue::ReadyQueue;
use renewal::Renewal;

/// The connections of one worker.
#[derive(Debug)]
pub(crate) struct Connections {
    pub(crate) limits: ConnectionLimits,
    table: Vec<Connection>,
    pub(crate) renewal: Renewal,
    pub(crate) ready: ReadyQueue,
    pub(crate) deadlines: Deadlines,
    pub(crate) open_queue: OpenQueue,
    growth: Growth,
    /// False only if no connection waits to be opened, nor is left to be opened for a slot.
    pub(crate) may_open: bool,
    counts: StateCounts,
    /// Events to report to the script, in order; valid until the next event of the backend.
    pub(crate) script_events: Vec<ScriptEvent>,
    delays: Delays,
    /// The times at which connections come and leave.
    pub(crate) presence: Presence,
}

/// Connections and requests by state.
#[derive(Debug, Default)]
struct StateCounts {
    /// Connections that are open.
    open: u64,
    /// Connections whose sockets are connecting.
    connecting: u32,
    /// Connections whose first attempt has neither succeeded nor failed.
    unresolved: u32,
    /// Requests in flight.
    in_flight: u64,
    /// Time of the last response, or end of the last delay, whichever is later.
    alive_at: Nanos,
}

/// An event to report to the script, in order.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ScriptEvent {
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

impl Connections {
    /// Returns the connections of a worker of `job` that owns `partition`; none is open yet. Its
    /// script delays requests if it `has_delays`.
    pub(crate) fn new(
        job: &Job,
        limits: ConnectionLimits,
        partition: Partition,
        has_delays: bool,
    ) -> Connections {
        let connections = limits.connections;
        let delayed = if has_delays { connections } else { 0 };
        let presence = Presence::new(&job.plan, partition);
        Connections {
            limits,
            table: (0..connections).map(|number| limits.connection(number)).collect(),
            renewal: Renewal::new(&job.plan.connection, connections),
            ready: ReadyQueue::new(connections, limits.depth),
            deadlines: Deadlines::new(connections),
            open_queue: OpenQueue::new(limits.initial),
            growth: Growth::new(&limits, presence.is_staged()),
            may_open: true,
            counts: StateCounts { unresolved: limits.initial, ..StateCounts::default() },
            script_events: Vec::new(),
            delays: Delays::new(delayed),
            presence,
        }
    }

    /// Returns the state of a connection.
    #[inline(always)]
    pub(crate) fn at(&self, conn: ConnId) -> &Connection {
        &self.table[conn.index()]
    }

    /// Returns the state of a connection, to change it.
    #[inline(always)]
    pub(crate) fn at_mut(&mut self, conn: ConnId) -> &mut Connection {
        &mut self.table[conn.index()]
    }

    /// Returns every connection.
    pub(crate) fn all(&self) -> impl Iterator<Item = ConnId> + use<> {
        (0..self.limits.connections).map(ConnId)
    }

    /// Returns the number of requests in flight.
    #[inline(always)]
    pub(crate) fn in_flight(&self) -> u64 {
        self.counts.in_flight
    }

    /// Returns the number of open connections.
    #[inline]
    pub(crate) fn open(&self) -> u64 {
        self.counts.open
    }

    /// True if the first attempt to open each connection has succeeded or failed.
    pub(crate) fn are_resolved(&self) -> bool {
        self.counts.unresolved == 0
    }

    /// Returns the number of connections whose sockets are connecting.
    pub(crate) fn connecting(&self) -> u32 {
        self.counts.connecting
    }

    /// Returns the time of the last response, or the end of the last delay if that is later.
    pub(crate) fn alive_at(&self) -> Nanos {
        self.counts.alive_at
    }

    /// Puts `conn` in the queue of connections to open.
    pub(crate) fn queue(&mut self, conn: ConnId, at: Nanos) {
        self.at_mut(conn).state = SocketState::Queued;
        self.open_queue.push(conn, at);
        self.may_open = true;
    }

    /// Returns the number of slots that the connections being opened will take; `None` if no
    /// further one may be opened now.
    pub(crate) fn slots_awaited(&self) -> Option<u64> {
        self.growth.slots_awaited(&self.open_queue, self.counts.connecting)
    }

    /// Queues a connection that has never been open.
    pub(crate) fn grow(&mut self, now: Nanos) {
        if let Some(conn) = self.growth.take() {
            self.queue(conn, now);
        }
    }

    /// True if `conn` is about to be open for the first time, during the load.
    pub(crate) fn is_growing(&self, conn: ConnId) -> bool {
        let is_later = conn.0 >= self.limits.initial && self.at(conn).opened == 0;
        is_later && !self.presence.is_staged()
    }

    /// Begins the schedule: connections come and leave at planned times from here on.
    pub(crate) fn begin(&mut self, timeline: &Timeline) {
        self.alive(timeline.start);
        if self.presence.is_staged() {
            self.presence.begin(timeline.t0);
            self.all().for_each(|conn| self.arm_presence(conn, timeline.start));
        }
    }

    /// Arms the timer of `conn` for when it comes or leaves.
    fn arm_presence(&mut self, conn: ConnId, now: Nanos) {
        let at = match self.at(conn).state {
            SocketState::Closed => {
                let comes_at = self.presence.comes_at(conn, self.at(conn).at.max(now));
                self.at_mut(conn).at = comes_at;
                comes_at
            }
            _ => self.presence.leaves_at(conn, now),
        };
        self.deadlines.arm(conn, at);
    }

    /// Returns the time from which `conn` takes no more requests, because its socket is too old or
    /// the connection leaves; [`Nanos::MAX`] unless it is open.
    pub(crate) fn retires_at(&self, conn: ConnId) -> Nanos {
        let connection = self.at(conn);
        let leaves_at = match connection.state {
            SocketState::Open => self.presence.leaves_at(conn, connection.at),
            _ => Nanos::MAX,
        };
        connection.retires_at(self.renewal.lifetime_ns).min(leaves_at)
    }

    /// Returns the next connection to open, in state `Connecting`; `None` if none is left to open,
    /// or as many connect as may at once.
    pub(crate) fn take_to_open(&mut self, now: Nanos) -> Option<ConnId> {
        let conn = self.next_to_open(now);
        match conn {
            Some(conn) => {
                self.at_mut(conn).connect(now);
                self.counts.connecting += 1;
                self.arm_connecting(conn, now);
            }
            None => self.may_open = !self.open_queue.is_empty() || self.growth.is_possible(),
        }
        conn
    }

    fn next_to_open(&mut self, now: Nanos) -> Option<ConnId> {
        while self.open_queue.allows(self.counts.connecting) {
            let conn = self.open_queue.pop(now)?;
            if self.presence.comes_at(conn, now) <= now {
                return Some(conn);
            }
            // It left while it waited.
            self.at_mut(conn).state = SocketState::Closed;
            self.arm_presence(conn, now);
        }
        None
    }

    /// Marks `conn`, whose socket is connected, as passing its layers from `at` on.
    pub(crate) fn handshake(&mut self, conn: ConnId, at: Nanos) {
        let connection = self.at_mut(conn);
        (connection.state, connection.at) = (SocketState::Handshaking, at);
        self.arm_connecting(conn, at);
    }

    /// Marks `conn` as open for requests.
    pub(crate) fn opened(&mut self, conn: ConnId, at: Nanos) {
        self.at_mut(conn).opened(at);
        // Connections that are idle from the start then have no entry there.
        self.deadlines.disarm(conn);
        self.renewal.opened(conn);
        self.counts.connecting -= 1;
        self.counts.open += 1;
        self.resolve(conn);
        if self.limits.refill == Refill::Batch {
            self.note(ScriptEvent::Opened(conn));
        }
        self.deadlines.arm(conn, self.retires_at(conn));
    }

    /// Makes the connection, which has `load` requests in flight, available for another one, after
    /// its delay if the script sets one.
    #[inline]
    pub(crate) fn free(&mut self, conn: ConnId, load: u16) {
        match self.delays.are_possible() {
            true => self.note(ScriptEvent::Freed(conn)),
            false => self.ready.place(conn, load),
        }
    }

    /// Records that `requests` requests are sent on `conn`, which has room for `capacity` more.
    #[inline(always)]
    pub(crate) fn dispatched(&mut self, conn: ConnId, requests: u16, capacity: u32, now: Nanos) {
        let connection = &mut self.table[conn.index()];
        connection.load += requests;
        connection.unsent += requests;
        self.counts.in_flight += u64::from(requests);
        match self.limits.refill {
            _ if capacity == 0 => self.ready.remove(conn),
            Refill::Batch => self.ready.remove(conn),
            Refill::Half => {}
            Refill::One => self.ready.place(conn, connection.load),
        }
        self.deadlines.arm(conn, self.limits.overdue_at(now));
    }

    /// Counts a request against the limit of the socket of `conn`. Returns true if that retires the
    /// connection. A function of its own, so that unlimited connections pay nothing. A script's
    /// batch is not divided: its last requests may exceed the limit.
    #[inline(never)]
    pub(crate) fn spend(&mut self, conn: ConnId) -> bool {
        let is_spent = self.renewal.spend(conn);
        if is_spent {
            self.retire(conn);
        }
        is_spent
    }

    /// Marks `conn` as taking no more requests.
    pub(crate) fn retire(&mut self, conn: ConnId) {
        self.at_mut(conn).state = SocketState::Retiring;
        self.ready.remove(conn);
    }

    /// Marks `conn`, whose last response has arrived, as one that its peer closes before `until`.
    pub(crate) fn await_close(&mut self, conn: ConnId, until: Nanos) {
        let connection = self.at_mut(conn);
        (connection.state, connection.at) = (SocketState::Closing, until);
        self.ready.remove(conn);
        self.deadlines.arm(conn, until);
    }

    /// Records that `requests` requests are no longer in flight.
    #[inline(always)]
    pub(crate) fn ended(&mut self, requests: u64) {
        self.counts.in_flight -= requests;
    }

    /// Records that the requests in flight on `conn` have ended with its socket.
    pub(crate) fn lost_requests(&mut self, conn: ConnId) {
        let connection = &mut self.table[conn.index()];
        self.counts.in_flight -= u64::from(connection.load);
        (connection.load, connection.unsent) = (0, 0);
    }

    /// Updates the state of `conn` for a socket that is closed or about to be, and has nothing in
    /// flight. Returns false if there was none.
    pub(crate) fn closed(&mut self, conn: ConnId, at: Nanos) -> bool {
        debug_assert_eq!(self.at(conn).load, 0);
        match self.at(conn).state {
            SocketState::Connecting | SocketState::Handshaking => self.counts.connecting -= 1,
            SocketState::Open | SocketState::Retiring | SocketState::Closing => {
                self.counts.open -= 1
            }
            SocketState::Closed | SocketState::Queued => return false,
        }
        self.ready.remove(conn);
        self.resolve(conn);
        self.delays.cancel(conn);
        let retry_at = self.at_mut(conn).closed(at);
        let retry_at = self.presence.comes_at(conn, retry_at);
        self.at_mut(conn).at = retry_at;
        match retry_at <= at {
            true => self.queue(conn, at),
            false => self.deadlines.arm(conn, retry_at),
        }
        true
    }

    /// True if `conn` still has its `opened`th socket, with nothing in flight.
    pub(crate) fn is_idle(&self, conn: ConnId, opened: u16) -> bool {
        let connection = self.at(conn);
        connection.state == SocketState::Open && connection.opened == opened && connection.load == 0
    }

    /// Reserves `conn` for a request that is being prepared. Returns the number of its socket.
    pub(crate) fn reserve(&mut self, conn: ConnId) -> u16 {
        self.ready.remove(conn);
        self.at(conn).opened
    }

    /// Queues an event for the script; a function of its own, so that runs without a script pay
    /// nothing.
    #[inline(never)]
    pub(crate) fn note(&mut self, event: ScriptEvent) {
        self.script_events.push(event);
    }

    /// Makes `conn`, which is idle, available for a request without a delay.
    pub(crate) fn free_again(&mut self, conn: ConnId) {
        self.ready.place(conn, 0);
    }

    /// Delays the next request on `conn` until `until`.
    pub(crate) fn rest(&mut self, conn: ConnId, until: Nanos) {
        if self.at(conn).state == SocketState::Open {
            self.delays.begin(conn, until);
            // A delay counts as activity: no response can arrive before its end.
            self.alive(until);
        }
    }

    /// Returns a lower bound of the time at which the next timer is due, the next delay ends or the
    /// next connection may be opened.
    #[inline]
    pub(crate) fn next_at(&self) -> Nanos {
        self.deadlines.next().min(self.delays.next()).min(self.open_queue.next_at())
    }

    /// Ends the delays that are over at `now`. Returns true if there were any.
    #[inline]
    pub(crate) fn end_delays(&mut self, now: Nanos) -> bool {
        self.delays.are_possible() && self.end_due_delays(now)
    }

    #[inline(never)]
    fn end_due_delays(&mut self, now: Nanos) -> bool {
        let mut have_ended = false;
        while let Some(conn) = self.delays.take_due(now) {
            self.at_mut(conn).freed_at = now;
            self.ready.place(conn, 0);
            have_ended = true;
        }
        have_ended
    }

    /// Records that a response came at `at`, or that none can come before.
    #[inline]
    pub(crate) fn alive(&mut self, at: Nanos) {
        self.counts.alive_at = self.counts.alive_at.max(at);
    }

    /// Marks the first attempt to open `conn` as decided.
    fn resolve(&mut self, conn: ConnId) {
        let connection = &mut self.table[conn.index()];
        self.counts.unresolved -= u32::from(!connection.is_resolved);
        connection.is_resolved = true;
    }

    fn arm_connecting(&mut self, conn: ConnId, at: Nanos) {
        self.deadlines.arm(conn, at.after(self.limits.connect_timeout_ns));
    }
}
