//! Closing a connection: failures, timeouts, the end of the peer's stream, and planned renewal.

use std::io;

use weir_io::{Close, ConnId, Nanos};
use weir_result::{ErrorKind, FailureCause, FailureKind, FailurePhase};

use super::{Action, Handler};
use crate::connections::{LayerStep, SocketState};
use crate::exchange::Outcome;
use crate::lane::Lane;
use crate::pool::ConnectionPool;

impl<L: Lane> Handler<L> {
    /// Handles a failed connection. The oldest request in flight fails for the given reason.
    fn fail(
        &mut self,
        pool: &mut ConnectionPool,
        conn: ConnId,
        at: Nanos,
        kind: ErrorKind,
        cause: FailureCause,
    ) {
        let connection = pool.connections.at(conn);
        let phase = match connection.state {
            SocketState::Connecting | SocketState::Handshaking => FailurePhase::Connect,
            _ if connection.load == 0 => FailurePhase::Idle,
            _ => FailurePhase::InUse,
        };
        pool.ledger.connection_failed(conn, FailureKind { phase, cause });
        self.lane.end_all(pool, conn, at, Outcome::TransportError(kind));
        self.shut(pool, conn, at);
    }

    /// Handles a connection that its peer made fail; returns the way to close it.
    #[cold]
    pub(super) fn fail_by_peer(
        &mut self,
        pool: &mut ConnectionPool,
        conn: ConnId,
        at: Nanos,
    ) -> Action {
        let (kind, cause) = pool.fault;
        self.fail(pool, conn, at, kind, cause);
        Action::Close(Close::Reset)
    }

    /// Handles a socket that has failed. A reset in the handshake is a failure of TLS: servers
    /// reset connections whose handshake they refuse.
    #[cold]
    pub(super) fn fail_socket(
        &mut self,
        pool: &mut ConnectionPool,
        conn: ConnId,
        error: &io::Error,
        at: Nanos,
    ) {
        let is_reset = error.kind() == io::ErrorKind::ConnectionReset;
        let (kind, cause) = if is_reset && pool.layers.step(conn) == Some(LayerStep::Tls) {
            let code = "reset_in_handshake";
            (ErrorKind::Tls(code), FailureCause::Tls(code))
        } else {
            let errno = error.raw_os_error().unwrap_or(0);
            (ErrorKind::Errno(errno), FailureCause::Errno(errno))
        };
        self.fail(pool, conn, at, kind, cause);
    }

    /// Handles a connection that was not open in time.
    pub(super) fn fail_connect(
        &mut self,
        pool: &mut ConnectionPool,
        conn: ConnId,
        now: Nanos,
    ) -> Action {
        self.fail(pool, conn, now, ErrorKind::Errno(0), FailureCause::Timeout);
        Action::Close(Close::Graceful)
    }

    /// Handles a connection whose oldest request has timed out.
    #[cold]
    pub(super) fn time_out(
        &mut self,
        pool: &mut ConnectionPool,
        conn: ConnId,
        now: Nanos,
    ) -> Action {
        let phase = FailurePhase::InUse;
        let cause = FailureCause::Timeout;
        pool.ledger.connection_failed(conn, FailureKind { phase, cause });
        self.lane.end_all(pool, conn, now, Outcome::TimedOut);
        self.shut(pool, conn, now);
        Action::Close(Close::Graceful)
    }

    /// Closes a connection that its peer has not closed after its last response.
    pub(super) fn close_unanswered(
        &mut self,
        pool: &mut ConnectionPool,
        conn: ConnId,
        now: Nanos,
    ) -> Action {
        let outcome = Outcome::TransportError(ErrorKind::ClosedBeforeAnswer);
        self.lane.end_all(pool, conn, now, outcome);
        self.shut(pool, conn, now);
        Action::Close(Close::Graceful)
    }

    /// Handles the end of the peer's stream: the proper end of a response, a clean close, or a
    /// failure.
    pub(super) fn ended_by_peer(
        &mut self,
        pool: &mut ConnectionPool,
        conn: ConnId,
        at: Nanos,
    ) -> Action {
        if let Some((kind, cause)) = self.unexpected_end(pool, conn) {
            self.fail(pool, conn, at, kind, cause);
            return Action::Close(Close::Graceful);
        }
        let kind = self.lane.end_of_stream(pool, conn, at);
        if pool.connections.at(conn).load == 0 {
            pool.ledger.connections.closed_by_peer();
            self.shut(pool, conn, at);
        } else {
            self.fail(pool, conn, at, kind, FailureCause::Closed);
        }
        Action::Close(Close::Graceful)
    }

    /// Returns the error of an end of the stream while the socket is being opened, or of one that
    /// TLS has not announced: the current response may have been truncated (RFC 9112 §9.8).
    fn unexpected_end(
        &self,
        pool: &ConnectionPool,
        conn: ConnId,
    ) -> Option<(ErrorKind, FailureCause)> {
        let layers = &pool.layers;
        if layers.step(conn) == Some(LayerStep::Tls) {
            let code = "closed_in_handshake";
            return Some((ErrorKind::Tls(code), FailureCause::Tls(code)));
        }
        if layers.step(conn).is_some() {
            return Some((ErrorKind::ClosedBeforeAnswer, FailureCause::Closed));
        }
        let is_cut = layers.has_open_session(conn) && self.lane.is_mid_response(pool, conn);
        is_cut.then_some((ErrorKind::ClosedInAnswer, FailureCause::Closed))
    }

    /// Retires `conn`, which has reached its limit of age.
    pub(super) fn outlive(
        &mut self,
        pool: &mut ConnectionPool,
        conn: ConnId,
        now: Nanos,
    ) -> Action {
        pool.connections.retire(conn);
        self.lane.retired(pool, conn, now);
        if pool.connections.at(conn).load == 0 {
            return self.renew(pool, conn, now);
        }
        // Its requests may time out; the timer checks that next.
        pool.connections.deadlines.arm(conn, now);
        Action::None
    }

    /// Ends the socket of `conn`, on which nothing is in flight, and queues the next one.
    pub(super) fn renew(&mut self, pool: &mut ConnectionPool, conn: ConnId, at: Nanos) -> Action {
        let ConnectionPool { timeline, connections, ledger, .. } = pool;
        // If the peer announced the end before its first response, the next socket has to wait.
        if !self.lane.is_announced(conn) {
            if connections.presence.leaves_at(conn, connections.at(conn).at) <= at {
                ledger.left(timeline, conn, at);
                // A late response may keep it until it is there again.
                if connections.presence.comes_at(conn, at) <= at {
                    ledger.connections.joined();
                }
            } else {
                ledger.connections.renewed();
            }
            connections.at_mut(conn).has_responded = true;
        }
        // A reset drops what was sent before.
        let close = connections.renewal.close;
        if close == Close::Graceful {
            self.announce_close(pool, conn);
        }
        self.shut(pool, conn, at);
        Action::Close(close)
    }

    /// Queues what announces the end of an open socket of `conn` to its peer: of the protocol, and
    /// of TLS.
    pub(crate) fn announce_close(&mut self, pool: &mut ConnectionPool, conn: ConnId) {
        self.lane.announce_close(pool, conn);
        pool.layers.announce_close(conn);
    }

    /// Updates the state of `conn` for a socket that is closed or about to be.
    fn shut(&mut self, pool: &mut ConnectionPool, conn: ConnId, at: Nanos) {
        self.count_room(pool, conn, at, true);
        if pool.connections.closed(conn, at) {
            pool.layers.forget(conn);
            self.lane.closed(pool, conn, at);
        }
    }
}
