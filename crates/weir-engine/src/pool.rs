//! The connections of one worker, their layers and their record, without the lane. The worker owns
//! the pool and its lane works on it. This room may call connections, the record, requests and
//! time. It handles no events and has no protocol.

mod response_needs;

use weir_io::{ConnId, Nanos, SocketOptions};
use weir_result::{ErrorKind, FailureCause};

use crate::connections::{Connections, Layers, ScriptEvent};
use crate::job::Job;
use crate::live::WorkerFrame;
use crate::record::{Ledger, Recorder};
use crate::requests::{Demand, SlotSource};
use crate::time::{ConnectPace, Timeline};
use crate::tls;
pub(crate) use response_needs::ResponseNeeds;

/// The connections of one worker.
#[derive(Debug)]
pub(crate) struct ConnectionPool {
    /// The phases of the run, which the worker alone sets and cuts. Each announcement brings them
    /// to the record.
    pub(crate) timeline: Timeline,
    pub(crate) connections: Connections,
    pub(crate) layers: Layers,
    pub(crate) ledger: Ledger,
    pub(crate) needs: ResponseNeeds,
    /// Kernel receive stamp of the current event's bytes.
    pub(crate) received_at: Option<Nanos>,
    /// Reason of the last failure that a lane reported, which fits in no register.
    pub(crate) fault: (ErrorKind, FailureCause),
}

impl ConnectionPool {
    /// Returns the pool of a worker of `job`; no connection is open.
    pub(crate) fn new(
        job: &Job,
        timeline: Timeline,
        connections: Connections,
        ledger: Ledger,
        needs: ResponseNeeds,
    ) -> ConnectionPool {
        ConnectionPool {
            layers: Layers::new(job, connections.limits.connections),
            timeline,
            connections,
            ledger,
            needs,
            received_at: None,
            fault: (ErrorKind::Protocol(""), FailureCause::Protocol("")),
        }
    }

    /// Returns the worker's frame at `now`, with `backlog` slots due and unsent.
    pub(crate) fn frame(&self, now: Nanos, backlog: u64) -> WorkerFrame {
        let in_flight = self.connections.in_flight();
        let frame = self.ledger.frame(self.timeline.start, now, in_flight, backlog);
        WorkerFrame { open: self.connections.open(), ..frame }
    }

    /// Returns the ledger's recorder.
    #[inline(always)]
    pub(crate) fn recorder(&self) -> &Recorder {
        &self.ledger.recorder
    }

    /// Returns the ledger's recorder, to change it.
    #[inline(always)]
    pub(crate) fn recorder_mut(&mut self) -> &mut Recorder {
        &mut self.ledger.recorder
    }

    /// Limits the rate at which connections are opened.
    pub(crate) fn pace(&mut self, pace: ConnectPace) {
        self.connections.open_queue.set_pace(pace);
    }

    /// True if a connection may wait to be opened, or may be opened for a slot.
    #[inline]
    pub(crate) fn may_open(&self) -> bool {
        self.connections.may_open
    }

    /// True if a connection can take a request.
    #[inline(always)]
    pub(crate) fn has_free(&self) -> bool {
        !self.connections.ready.is_empty()
    }

    /// True if a slot that comes due finds a connection, and if users begin, a free seat on one.
    #[inline(always)]
    pub(crate) fn has_place(&self) -> bool {
        match self.ledger.has_users() {
            false => self.has_free(),
            true => self.has_seat(),
        }
    }

    /// True if a user who begins finds a seat.
    #[cold]
    fn has_seat(&self) -> bool {
        self.ledger.users().is_some_and(|users| users.has_seat())
    }

    /// Returns the time at which the next user acts; [`Nanos::MAX`] if none waits.
    #[cold]
    pub(crate) fn next_user_at(&self) -> Nanos {
        self.ledger.users().map_or(Nanos::MAX, |users| users.next_due())
    }

    /// True if no member of M is on the wire and unresolved, and no user of M has not ended.
    pub(crate) fn has_resolved_all(&self) -> bool {
        let users = self.ledger.users();
        self.recorder().unresolved() == 0 && users.is_none_or(|users| !users.has_unresolved())
    }

    /// True if the step of a user is due.
    #[inline]
    pub(crate) fn has_due_user(&self, now: Nanos) -> bool {
        self.ledger.has_users() && self.next_user_at() <= now
    }

    /// Notes that `conn` can take requests, after it could take none.
    #[inline]
    pub(crate) fn gained_room(&mut self, conn: ConnId) {
        if let Some(users) = self.ledger.users_mut() {
            users.gained_room(conn);
        }
    }

    /// Returns a connection whose timer is due at `now`, and disarms it.
    #[inline]
    pub(crate) fn take_due(&mut self, now: Nanos) -> Option<ConnId> {
        self.connections.deadlines.take_due(now)
    }

    /// Returns the time at which the next timer is due.
    pub(crate) fn next_deadline(&self) -> Nanos {
        self.connections.deadlines.next()
    }

    /// Returns the events to report to the script, in order, to take them.
    #[inline]
    pub(crate) fn script_events(&mut self) -> &mut Vec<ScriptEvent> {
        &mut self.connections.script_events
    }

    /// Returns the options of the next socket of `conn`, without its source.
    pub(crate) fn socket_options(&self, conn: ConnId) -> SocketOptions {
        SocketOptions {
            stamps: self.ledger.stamping.request(conn),
            discard: self.needs.discards,
            source: None,
        }
    }

    /// Returns the demand for requests by `slots`.
    pub(crate) fn demand<'a>(&'a mut self, slots: &'a SlotSource) -> Demand<'a> {
        let timeline = &self.timeline;
        Demand { slots, timeline, connections: &mut self.connections }
    }

    /// Queues a further connection for each due slot that will have none, while no connection has
    /// room.
    pub(crate) fn grow(&mut self, slots: &SlotSource, now: Nanos) {
        while self.grows_at(slots) <= now {
            self.connections.grow(now);
        }
    }

    /// Returns the time from which a further connection is needed, while none has room: the due
    /// time of the first slot that no connection being opened will take. [`Nanos::MAX`] if none
    /// may be opened.
    pub(crate) fn grows_at(&self, slots: &SlotSource) -> Nanos {
        let timeline = &self.timeline;
        let awaited = self.connections.slots_awaited();
        awaited.and_then(|awaited| slots.nth_tick(timeline, awaited)).unwrap_or(Nanos::MAX)
    }

    /// Marks `conn` as open for requests, past its last layer. Returns the start of its protocol's
    /// opening exchange.
    pub(crate) fn opened(&mut self, conn: ConnId, at: Nanos) -> Nanos {
        let (connect_ns, protocol_at) = match self.layers.end_opening(conn) {
            Some(opening) => (opening.connect_ns, opening.protocol_at),
            None => (at.since(self.connections.at(conn).at), at),
        };
        if self.connections.is_growing(conn) {
            let took_ns = at.since(self.connections.at(conn).freed_at);
            self.ledger.connections.grown(took_ns);
        }
        self.connections.opened(conn, at);
        let open = self.connections.open();
        self.ledger.connected(&self.timeline, conn, connect_ns, open, at);
        protocol_at
    }

    /// Records the connections that are open at the start of the window.
    pub(crate) fn record_open(&mut self) {
        self.ledger.connections.open_at_t0(self.connections.open());
    }

    /// Records the connections that are open at the end of the load, if their number is not fixed.
    pub(crate) fn record_open_at_end(&mut self) {
        if !self.connections.limits.are_fixed() {
            self.ledger.connections.open_at_end(self.connections.open());
        }
    }

    /// Records the connections that are neither open nor failed at the end of the run.
    pub(crate) fn record_opening_at_end(&mut self) {
        self.ledger.connections.opening_at_end(self.connections.connecting().into());
    }

    /// Records the handshake of `conn`, which ended at `at`.
    pub(crate) fn secured(&mut self, conn: ConnId, at: Nanos) {
        let ConnectionPool { timeline, connections, layers, ledger, .. } = self;
        let Some((session, is_returning)) = layers.handshake(conn) else { return };
        if let Some(counts) = &mut ledger.connections.tls {
            if counts.certificates.is_empty() {
                counts.certificates = tls::certificates(session);
            }
            let (kind, parameters) = tls::handshake(session);
            counts.count(kind, is_returning, parameters);
        }
        ledger.secured(timeline, at.since(connections.at(conn).at), at);
    }
}
