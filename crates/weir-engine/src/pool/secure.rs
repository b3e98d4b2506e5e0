//! TLS between the backend and the protocol: the handshake before a connection is open, and the
//! decryption after it.

use weir_io::{Close, ConnId, Nanos};
use weir_result::{ErrorKind, FailureCause};
use weir_tls::{Session, TlsConfig, TlsError};

use super::{Action, ConnectionPool};
use crate::connection::State;
use crate::protocol_slots::NONE;

/// The TLS sessions of one worker's sockets.
#[derive(Debug)]
pub(crate) struct TlsLayer {
    config: Option<TlsConfig>,
    /// Sessions by connection; empty without TLS.
    sessions: Vec<Option<Box<Session>>>,
    /// Output of TLS itself on the connection of the last event: handshake messages and alerts.
    pub(crate) output: Vec<u8>,
    /// Decrypted bytes of the last event.
    plain: Vec<u8>,
}

impl TlsLayer {
    /// Returns the layer for `connections` connections; no TLS if `config` is `None`.
    pub(super) fn new(config: Option<TlsConfig>, connections: u32) -> TlsLayer {
        let connections = if config.is_some() { connections } else { 0 };
        let sessions = (0..connections).map(|_| None).collect();
        TlsLayer { config, sessions, output: Vec::new(), plain: Vec::new() }
    }

    /// True if connections use TLS.
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.config.is_some()
    }

    /// Returns the session of a connection's socket, if there is one.
    #[inline]
    pub(crate) fn session(&mut self, conn: ConnId) -> Option<&mut Session> {
        self.sessions.get_mut(conn.index())?.as_deref_mut()
    }

    /// Drops the session of `conn`, whose socket is closed.
    pub(super) fn forget(&mut self, conn: ConnId) {
        if let Some(session) = self.sessions.get_mut(conn.index()) {
            *session = None;
        }
    }

    fn start(&mut self, conn: ConnId) {
        let config = self.config.as_ref().expect("only called if there is TLS");
        let mut session = Box::new(Session::new(config));
        session.take_output(&mut self.output);
        self.sessions[conn.index()] = Some(session);
    }
}

impl ConnectionPool {
    /// Starts the handshake on a connected socket.
    pub(super) fn shake_hands(&mut self, conn: ConnId, at: Nanos) {
        self.tls.start(conn);
        let connection = &mut self.connections[conn.index()];
        connection.state = State::Handshaking;
        connection.at = at;
        self.deadlines.arm(conn, at.after(self.limits.connect_timeout_ns));
    }

    /// Decrypts received bytes and handles the plain text.
    pub(super) fn decrypt(&mut self, conn: ConnId, bytes: &mut [u8], at: Nanos) -> Action {
        let TlsLayer { sessions, output, plain, .. } = &mut self.tls;
        let Some(session) = &mut sessions[conn.index()] else { return Action::None };
        let mut plain = std::mem::take(plain);
        plain.clear();
        let read = session.receive(bytes, &mut plain);
        session.take_output(output);
        let (is_handshaking, is_closed) = (session.is_handshaking(), session.is_closed());
        let connection = &self.connections[conn.index()];
        if connection.state == State::Handshaking && !is_handshaking {
            let connect_ns = connection.at.since(connection.freed_at);
            self.recorder.shook_hands(at.since(connection.at));
            self.opened(conn, connect_ns, at);
        }
        let mut action = Action::None;
        if !plain.is_empty() {
            action = self.received(conn, &plain, at);
        }
        self.tls.plain = plain;
        if action != Action::None {
            return action;
        }
        if let Err(error) = read {
            return Action::Close(self.fail_secure(conn, &error, at));
        }
        match is_closed {
            true => self.ended_by_peer(conn, at),
            false => Action::None,
        }
    }

    /// Handles a TLS failure on `conn`; returns the way to close it.
    pub(crate) fn fail_secure(&mut self, conn: ConnId, error: &TlsError, at: Nanos) -> Close {
        let code = error.code();
        self.fail(conn, at, ErrorKind::Tls(code), FailureCause::Tls(code));
        Close::Reset
    }

    /// Handles an end of the stream that TLS has not announced: the handshake failed, or the
    /// current response may have been truncated (RFC 9112 §9.8). Returns `None` if neither is the
    /// case.
    pub(super) fn ended_insecurely(&mut self, conn: ConnId, at: Nanos) -> Option<Action> {
        let connection = &self.connections[conn.index()];
        let place = connection.place;
        let is_mid_answer = place != NONE && self.places.protocol(place).is_mid_answer();
        let session = self.tls.sessions.get(conn.index())?.as_ref()?;
        let (kind, cause) = match connection.state {
            State::Handshaking => {
                let code = "closed_in_handshake";
                (ErrorKind::Tls(code), FailureCause::Tls(code))
            }
            _ if !session.is_closed() && is_mid_answer => {
                (ErrorKind::ClosedInAnswer, FailureCause::Closed)
            }
            _ => return None,
        };
        self.fail(conn, at, kind, cause);
        Some(Action::Close(Close::Graceful))
    }
}
