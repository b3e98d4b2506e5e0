//! Opening a connection: from the queue to its first free capacity.

use weir_io::{ConnId, Nanos};

use super::{Action, ConnectionPool, Told};
use crate::connection::State;
use crate::protocol_slots::NONE;

impl ConnectionPool {
    /// Puts `conn` in the queue of connections to open.
    pub(super) fn queue(&mut self, conn: ConnId, at: Nanos) {
        self.connections[conn.index()].state = State::Queued;
        self.open_queue.push(conn, at);
    }

    /// Returns the next connection to open, in state `Connecting`.
    pub(crate) fn take_to_open(&mut self, now: Nanos) -> Option<ConnId> {
        let conn = self.open_queue.pop(now)?;
        self.connections[conn.index()].connect(now);
        self.counts.connecting += 1;
        self.deadlines.arm(conn, now.after(self.limits.connect_timeout_ns));
        Some(conn)
    }

    /// Handles a socket of `conn` that has connected.
    pub(super) fn connected(&mut self, conn: ConnId, at: Nanos) -> Action {
        let connection = &self.connections[conn.index()];
        if connection.state != State::Connecting {
            return Action::None;
        }
        match self.layers.are_plain() {
            true => {
                self.opened(conn, at.since(connection.at), at);
                Action::None
            }
            false => self.begin_layers(conn, at),
        }
    }

    /// Marks the connection as open for requests; its socket took `connect_ns` to connect.
    pub(super) fn opened(&mut self, conn: ConnId, connect_ns: u64, at: Nanos) {
        self.connections[conn.index()].opened(at);
        // Connections that are idle from the start then have no entry there.
        self.deadlines.disarm(conn);
        self.renewal.opened(conn);
        let place = self.connections[conn.index()].place;
        // A multiplexed protocol was reset before its opening exchange.
        if place != NONE && !self.limits.streams {
            self.places.at(place).protocol.reset();
        }
        self.counts.connecting -= 1;
        self.counts.open += 1;
        self.resolve(conn);
        self.recorder.connected(connect_ns, self.counts.open, at);
        self.observers.connected(conn);
        if self.limits.batches {
            self.note(Told::Opened(conn));
        }
        if self.renewal.lifetime_ns < u64::MAX {
            self.deadlines.arm(conn, at.after(self.renewal.lifetime_ns));
        }
        match self.limits.streams {
            // Once it has room, which the peer decides.
            true => self.streams.expect_room(conn),
            false => self.free(conn, 0),
        }
    }

    /// Marks the first attempt to open `conn` as decided.
    pub(super) fn resolve(&mut self, conn: ConnId) {
        let connection = &mut self.connections[conn.index()];
        self.counts.unresolved -= u32::from(!connection.is_resolved);
        connection.is_resolved = true;
    }
}
