//! Opening a connection: its socket, its layers, and the start of its protocol; and received bytes
//! on their way through the layers.

use weir_io::{ConnId, Nanos};

use super::{Action, ConnectionPool};
use crate::connections::{Decrypted, LayerStep, SocketState};
use crate::lane::{Lane, PoolState};
use crate::requests::SlotSource;
use crate::tls;

impl<L: Lane> ConnectionPool<L> {
    /// Queues a further connection for each due slot that will have none, while no connection has
    /// room.
    pub(crate) fn grow(&mut self, slots: &SlotSource, now: Nanos) {
        while self.grows_at(slots) <= now {
            self.shared.connections.grow(now);
        }
    }

    /// Returns the time from which a further connection is needed, while none has room: the due
    /// time of the first slot that no connection being opened will take. [`Nanos::MAX`] if none
    /// may be opened.
    pub(crate) fn grows_at(&self, slots: &SlotSource) -> Nanos {
        let timeline = &self.shared.timeline;
        let awaited = self.shared.connections.slots_awaited();
        awaited.and_then(|awaited| slots.nth_tick(timeline, awaited)).unwrap_or(Nanos::MAX)
    }

    /// Handles a socket of `conn` that has connected.
    pub(super) fn connected(&mut self, conn: ConnId, at: Nanos) -> Action {
        if self.shared.connections.at(conn).state != SocketState::Connecting {
            return Action::None;
        }
        match self.shared.layers.are_plain {
            true => self.begin(conn, at),
            false => self.begin_layers(conn, at),
        }
    }

    /// Begins the protocol of `conn`.
    fn begin(&mut self, conn: ConnId, at: Nanos) -> Action {
        let after = self.lane.begin(&mut self.shared, conn, at);
        self.count_room(conn, at, false);
        self.follow(conn, after, at)
    }

    /// Starts the first layer of a connected socket.
    #[inline(never)]
    fn begin_layers(&mut self, conn: ConnId, at: Nanos) -> Action {
        let PoolState { connections, layers, .. } = &mut self.shared;
        connections.handshake(conn, at);
        let connect_ns = at.since(connections.at(conn).freed_at);
        match layers.begin(conn, connect_ns, at) {
            LayerStep::Tls => Action::None,
            LayerStep::Protocol => self.begin(conn, at),
        }
    }

    /// Passes received bytes through the layers of `conn`.
    #[inline(never)]
    pub(super) fn received_in_layers(
        &mut self,
        conn: ConnId,
        bytes: &mut [u8],
        at: Nanos,
    ) -> Action {
        match self.shared.layers.have_tls() {
            true => self.decrypt(conn, bytes, at),
            false => self.received(conn, bytes, at),
        }
    }

    /// Decrypts received bytes and handles the plain text.
    fn decrypt(&mut self, conn: ConnId, bytes: &mut [u8], at: Nanos) -> Action {
        let mut plain = std::mem::take(&mut self.shared.layers.plain);
        plain.clear();
        let decrypted = self.shared.layers.decrypt(conn, bytes, &mut plain);
        let Decrypted { read, has_ended_handshake, is_closed } = decrypted;
        let mut action = Action::None;
        if has_ended_handshake {
            self.secured(conn, at);
            self.shared.layers.begin_protocol(conn, at);
            action = self.begin(conn, at);
        }
        if !plain.is_empty() && action == Action::None {
            action = self.received(conn, &plain, at);
        }
        plain.clear();
        self.shared.layers.plain = plain;
        if action != Action::None {
            return action;
        }
        if let Err(error) = read {
            return self.fail_secure(conn, &error, at);
        }
        match is_closed {
            true => {
                // A close_notify is answered by one.
                self.shared.layers.announce_close(conn);
                self.ended_by_peer(conn, at)
            }
            false => Action::None,
        }
    }

    /// Records the handshake of `conn`, which ended at `at`.
    fn secured(&mut self, conn: ConnId, at: Nanos) {
        let PoolState { timeline, connections, layers, ledger, .. } = &mut self.shared;
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
