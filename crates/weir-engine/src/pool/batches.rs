//! Support for scripts: batches of any size, delays between them, and timeouts that only count.

use weir_http::ReceivedResponse;
use weir_io::{ConnId, Nanos};

use super::rests::Rests;
use super::{ConnectionPool, Told};
use crate::connection::State;
use crate::protocol_slots::NONE;

/// Events for the script, and the delays it has set.
#[derive(Debug)]
pub(crate) struct ScriptBridge {
    /// Events to announce, in order; valid until the next event of the backend.
    pub(crate) told: Vec<Told>,
    pub(crate) rests: Rests,
}

impl ScriptBridge {
    /// Returns the bridge for `delayed` connections that may be delayed.
    pub(super) fn new(delayed: u32) -> ScriptBridge {
        ScriptBridge { told: Vec::new(), rests: Rests::new(delayed) }
    }
}

impl ConnectionPool {
    /// Returns the nth response in the last bytes that `conn` received.
    pub(crate) fn response(&self, conn: ConnId, nth: usize) -> ReceivedResponse<'_> {
        self.places.protocol(self.connections[conn.index()].place).response(nth)
    }

    /// Drops the responses in the last bytes that `conn` received, after the script has read them.
    pub(crate) fn forget_responses(&mut self, conn: ConnId) {
        let place = self.connections[conn.index()].place;
        self.places.at(place).protocol.forget_responses();
    }

    /// Queues an event for the script; a function of its own, so that runs without a script pay
    /// nothing.
    #[inline(never)]
    pub(super) fn note(&mut self, told: Told) {
        self.script.told.push(told);
    }

    /// Queues the complete responses for the script.
    #[inline(never)]
    pub(super) fn note_responses(&mut self, conn: ConnId) {
        let statuses = self
            .incoming
            .responses
            .iter()
            .flat_map(|event| event.ids().map(|_| event.status))
            .enumerate();
        self.script.told.extend(statuses.map(|(nth, status)| Told::Responded {
            conn,
            nth,
            status,
        }));
    }

    /// True if `conn` still has its `opened`th socket, with nothing in flight.
    pub(crate) fn is_idle(&self, conn: ConnId, opened: u16) -> bool {
        let connection = &self.connections[conn.index()];
        connection.state == State::Open && connection.opened == opened && connection.load == 0
    }

    /// Provides slots for `requests` requests on `conn`, which has none in flight.
    pub(crate) fn make_room(&mut self, conn: ConnId, requests: u16) {
        if requests > self.limits.depth {
            self.limits.depth = requests.checked_next_power_of_two().unwrap_or(requests);
            self.places.deepen(self.limits.depth);
        }
        let connection = &mut self.connections[conn.index()];
        debug_assert_eq!(connection.load, 0);
        if connection.depth < self.limits.depth {
            connection.depth = self.limits.depth;
            let place = self.slot_of(conn);
            self.places.at(place).protocol.set_depth(self.limits.depth);
        }
    }

    /// Delays the next request on `conn` until `until`.
    pub(crate) fn rest(&mut self, conn: ConnId, until: Nanos) {
        if self.connections[conn.index()].state == State::Open {
            self.script.rests.begin(conn, until);
            // A delay counts as activity: no response can arrive before its end.
            self.counts.alive_at = self.counts.alive_at.max(until);
        }
    }

    /// Ends the delays that are over at `now`. Returns true if there were any.
    pub(crate) fn end_rests(&mut self, now: Nanos) -> bool {
        let mut have_ended = false;
        while let Some(conn) = self.script.rests.take_due(now) {
            self.connections[conn.index()].freed_at = now;
            self.ready.place(conn, 0);
            have_ended = true;
        }
        have_ended
    }

    /// Reserves `conn` for a request that is being prepared. Returns the number of its socket.
    pub(crate) fn reserve(&mut self, conn: ConnId) -> u16 {
        self.ready.remove(conn);
        self.connections[conn.index()].opened
    }

    /// Counts the requests on `conn` that have waited for longer than the timeout, once each.
    pub(super) fn mark_overdue(&mut self, conn: ConnId, now: Nanos) {
        let overdue_before = now.before(self.limits.timeout_ns);
        let lent = self.connections[conn.index()].place;
        if lent == NONE {
            return;
        }
        let (_, places) = self.places.parts(lent);
        for place in places.iter_mut().filter(|place| place.is_live() && !place.is_overdue) {
            if place.sent_at <= overdue_before {
                place.is_overdue = true;
                self.recorder.overdue(place);
            }
        }
        if let Some(sent_at) = self.oldest(conn) {
            self.deadlines.arm(conn, sent_at.after(self.limits.timeout_ns));
        }
    }
}
