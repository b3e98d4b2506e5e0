//! Opening a connection: its socket, its layers, and the start of its protocol; and received bytes
//! on their way through the layers.

use weir_io::{ConnId, Nanos};

use super::{Action, Handler};
use crate::connections::{Decrypted, LayerStep, SocketState};
use crate::lane::Lane;
use crate::pool::ConnectionPool;

impl<L: Lane> Handler<L> {
    /// Handles a socket of `conn` that has connected.
    pub(super) fn connected(
        &mut self,
        pool: &mut ConnectionPool,
        conn: ConnId,
        at: Nanos,
    ) -> Action {
        if pool.connections.at(conn).state != SocketState::Connecting {
            return Action::None;
        }
        match pool.layers.are_plain {
            true => self.begin(pool, conn, at),
            false => self.begin_layers(pool, conn, at),
        }
    }

    /// Begins the protocol of `conn`.
    fn begin(&mut self, pool: &mut ConnectionPool, conn: ConnId, at: Nanos) -> Action {
        let after = self.lane.begin(pool, conn, at);
        self.count_room(pool, conn, at, false);
        self.follow(pool, conn, after, at)
    }

    /// Starts the first layer of a connected socket.
    #[inline(never)]
    fn begin_layers(&mut self, pool: &mut ConnectionPool, conn: ConnId, at: Nanos) -> Action {
        let ConnectionPool { connections, layers, .. } = pool;
        connections.handshake(conn, at);
        let connect_ns = at.since(connections.at(conn).freed_at);
        match layers.begin(conn, connect_ns, at) {
            LayerStep::Tls => Action::None,
            LayerStep::Protocol => self.begin(pool, conn, at),
        }
    }

    /// Passes received bytes through the layers of `conn`.
    #[inline(never)]
    pub(super) fn received_in_layers(
        &mut self,
        pool: &mut ConnectionPool,
        conn: ConnId,
        bytes: &mut [u8],
        at: Nanos,
    ) -> Action {
        match pool.layers.have_tls() {
            true => self.decrypt(pool, conn, bytes, at),
            false => self.received(pool, conn, bytes, at),
        }
    }

    /// Decrypts received bytes and handles the plain text.
    fn decrypt(
        &mut self,
        pool: &mut ConnectionPool,
        conn: ConnId,
        bytes: &mut [u8],
        at: Nanos,
    ) -> Action {
        let mut plain = std::mem::take(&mut pool.layers.plain);
        plain.clear();
        let decrypted = pool.layers.decrypt(conn, bytes, &mut plain);
        let Decrypted { read, has_ended_handshake, is_closed } = decrypted;
        let mut action = Action::None;
        if has_ended_handshake {
            pool.secured(conn, at);
            pool.layers.begin_protocol(conn, at);
            action = self.begin(pool, conn, at);
        }
        if !plain.is_empty() && action == Action::None {
            action = self.received(pool, conn, &plain, at);
        }
        plain.clear();
        pool.layers.plain = plain;
        if action != Action::None {
            return action;
        }
        if let Err(error) = read {
            return self.fail_secure(pool, conn, &error, at);
        }
        match is_closed {
            true => {
                // A close_notify is answered by one.
                pool.layers.announce_close(conn);
                self.ended_by_peer(pool, conn, at)
            }
            false => Action::None,
        }
    }
}
