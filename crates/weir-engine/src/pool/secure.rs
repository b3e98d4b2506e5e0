//! TLS between the backend and the protocol: the handshake before a connection is open, and the
//! decryption after it.

use std::io;

use weir_io::{Close, ConnId, Nanos};
use weir_result::{ErrorKind, FailureCause};

use super::layers::{Layers, Step};
use super::{Action, ConnectionPool};
use crate::protocol_slots::NONE;
use crate::tls::{self, Session, TlsError};

impl ConnectionPool {
    /// Starts the handshake on a socket.
    pub(super) fn shake_hands(&mut self, conn: ConnId, at: Nanos) {
        let Layers { tls, openings, sessions, output, has_stepped, .. } = &mut self.layers;
        let clients = tls.as_mut().expect("only called if there is TLS");
        let mut session = Box::new(Session::new(clients.config(conn)));
        session.take_output(output);
        *has_stepped = true;
        sessions[conn.index()] = Some(session);
        openings[conn.index()].as_mut().expect("the socket is being opened").step = Step::Tls;
        self.connections[conn.index()].at = at;
        self.deadlines.arm(conn, at.after(self.limits.connect_timeout_ns));
    }

    /// Decrypts received bytes and handles the plain text.
    pub(super) fn decrypt(&mut self, conn: ConnId, bytes: &mut [u8], at: Nanos) -> Action {
        let Layers { sessions, output, plain, has_stepped, .. } = &mut self.layers;
        let Some(session) = &mut sessions[conn.index()] else { return Action::None };
        *has_stepped |= session.is_handshaking();
        let mut plain = std::mem::take(plain);
        plain.clear();
        let read = session.receive(bytes, &mut plain);
        session.take_output(output);
        let (is_handshaking, is_closed) = (session.is_handshaking(), session.is_closed());
        let mut action = Action::None;
        if !is_handshaking && self.layers.step(conn) == Some(Step::Tls) {
            self.shook_hands(conn, at);
            action = self.begin_protocol(conn, at);
        }
        if !plain.is_empty() && action == Action::None {
            action = self.received_plain(conn, &plain, at);
        }
        plain.clear();
        self.layers.plain = plain;
        if action != Action::None {
            return action;
        }
        if let Err(error) = read {
            return Action::Close(self.fail_secure(conn, &error, at));
        }
        match is_closed {
            true => {
                // A close_notify is answered by one.
                self.layers.announce_close(conn);
                self.ended_by_peer(conn, at)
            }
            false => Action::None,
        }
    }

    /// Records the handshake of `conn`, which ended at `at`.
    fn shook_hands(&mut self, conn: ConnId, at: Nanos) {
        let Layers { tls: clients, sessions, .. } = &mut self.layers;
        let clients = clients.as_mut().expect("there was a handshake");
        let session = sessions[conn.index()].as_ref().expect("there was a handshake");
        if self.recorder.lacks_certificates() {
            self.recorder.certificates(tls::certificates(session));
        }
        let handshake = tls::handshake(session, clients.met_server(conn));
        let took_ns = at.since(self.connections[conn.index()].at);
        self.recorder.shook_hands(handshake, took_ns, at);
    }

    /// Handles a socket that has failed. A reset in the handshake is a failure of TLS: servers
    /// reset connections whose handshake they refuse.
    #[cold]
    pub(super) fn fail_socket(&mut self, conn: ConnId, error: &io::Error, at: Nanos) {
        let is_reset = error.kind() == io::ErrorKind::ConnectionReset;
        let (kind, cause) = if is_reset && self.layers.step(conn) == Some(Step::Tls) {
            let code = "reset_in_handshake";
            (ErrorKind::Tls(code), FailureCause::Tls(code))
        } else {
            let errno = error.raw_os_error().unwrap_or(0);
            (ErrorKind::Errno(errno), FailureCause::Errno(errno))
        };
        self.fail(conn, at, kind, cause);
    }

    /// Handles a TLS failure on `conn`; returns the way to close it.
    pub(crate) fn fail_secure(&mut self, conn: ConnId, error: &TlsError, at: Nanos) -> Close {
        let code = error.code();
        self.fail(conn, at, ErrorKind::Tls(code), FailureCause::Tls(code));
        Close::Reset
    }

    /// Handles an end of the stream while the socket is being opened, or one that TLS has not
    /// announced: the current response may have been truncated (RFC 9112 §9.8). Returns `None` if
    /// neither is the case.
    pub(super) fn ended_insecurely(&mut self, conn: ConnId, at: Nanos) -> Option<Action> {
        let place = self.connections[conn.index()].place;
        let is_mid_response = place != NONE && self.places.protocol(place).is_mid_response();
        let session = self.layers.sessions.get(conn.index()).and_then(Option::as_ref);
        let is_cut = session.is_some_and(|session| !session.is_closed()) && is_mid_response;
        let (kind, cause) = match self.layers.step(conn) {
            Some(Step::Tls) => {
                let code = "closed_in_handshake";
                (ErrorKind::Tls(code), FailureCause::Tls(code))
            }
            Some(Step::Preambles | Step::Protocol) => {
                (ErrorKind::ClosedBeforeAnswer, FailureCause::Closed)
            }
            None if is_cut => (ErrorKind::ClosedInAnswer, FailureCause::Closed),
            None => return None,
        };
        self.fail(conn, at, kind, cause);
        Some(Action::Close(Close::Graceful))
    }
}
