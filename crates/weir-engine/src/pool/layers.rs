//! The layers between a socket and the protocol, and the order in which a new socket passes them:
//! preambles, TLS, and the opening exchange of the protocol itself.

use std::collections::VecDeque;

use weir_http::{Preamble, PreambleFactory};
use weir_io::{ConnId, Nanos};

use super::clients::Clients;
use super::{Action, ConnectionPool};
use crate::connection::State;
use crate::job::Job;
use crate::tls::{Session, TlsError};

/// The layers of one worker's sockets.
#[derive(Debug)]
pub(crate) struct Layers {
    /// True if sockets are open as soon as they are connected, and carry plain HTTP/1.
    are_plain: bool,
    preambles: Vec<PreambleFactory>,
    /// Clients of TLS; `None` without TLS.
    pub(super) tls: Option<Clients>,
    /// Sockets that are connected and not yet open, by connection; empty if layers are plain.
    pub(super) openings: Vec<Option<Box<Opening>>>,
    /// TLS sessions by connection; empty without TLS.
    pub(super) sessions: Vec<Option<Box<Session>>>,
    /// Bytes that the layers themselves send on the connection of the last event: preambles,
    /// handshake messages, alerts, and frames of a multiplexed protocol.
    pub(crate) output: Vec<u8>,
    /// True if the last event took a step of a TLS handshake, which takes as long as many events.
    pub(crate) has_stepped: bool,
    /// Decrypted bytes of the last event, or bytes to encrypt.
    pub(super) plain: Vec<u8>,
}

/// The way of one socket from connected to open.
#[derive(Debug)]
pub(super) struct Opening {
    pub(super) step: Step,
    preambles: VecDeque<Box<dyn Preamble>>,
    /// Time that the connect and the preambles took, in nanoseconds.
    pub(super) connect_ns: u64,
    /// Begin of the protocol's opening exchange; [`Nanos::MAX`] before it.
    protocol_at: Nanos,
}

/// The layer that a new socket has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Preambles,
    Tls,
    Protocol,
}

impl Layers {
    /// Returns the layers of `connections` connections of `job`.
    pub(super) fn new(job: &Job, connections: u32) -> Layers {
        let connections = connections as usize;
        let are_plain = !job.opens_in_steps();
        let if_so = |wanted: bool| if wanted { connections } else { 0 };
        let (mut openings, mut sessions) = (Vec::new(), Vec::new());
        openings.resize_with(if_so(!are_plain), || None);
        sessions.resize_with(if_so(job.tls.is_some()), || None);
        Layers {
            are_plain,
            preambles: job.preambles.clone(),
            tls: job.tls.clone().map(|config| Clients::new(config, connections)),
            openings,
            sessions,
            output: Vec::new(),
            has_stepped: false,
            plain: Vec::new(),
        }
    }

    /// True if sockets are open as soon as they are connected, and carry plain HTTP/1.
    #[inline]
    pub(super) fn are_plain(&self) -> bool {
        self.are_plain
    }

    /// Returns the TLS session of a connection's socket, if there is one.
    #[inline]
    pub(crate) fn session(&mut self, conn: ConnId) -> Option<&mut Session> {
        self.sessions.get_mut(conn.index())?.as_deref_mut()
    }

    /// Returns the layer that the socket of `conn` has reached; `None` if it is open.
    pub(super) fn step(&self, conn: ConnId) -> Option<Step> {
        Some(self.openings.get(conn.index())?.as_ref()?.step)
    }

    /// Queues a close_notify for the peer of `conn`, if a TLS session is established
    /// (RFC 8446 §6.1).
    pub(crate) fn announce_close(&mut self, conn: ConnId) {
        let Layers { sessions, output, .. } = self;
        let session = sessions.get_mut(conn.index()).and_then(Option::as_mut);
        if let Some(session) = session.filter(|session| !session.is_handshaking()) {
            session.close(output);
        }
    }

    /// Drops the state of a socket of `conn`, which is closed.
    pub(super) fn forget(&mut self, conn: ConnId) {
        if let Some(opening) = self.openings.get_mut(conn.index()) {
            *opening = None;
        }
        if let Some(session) = self.sessions.get_mut(conn.index()) {
            *session = None;
        }
    }

    /// Moves the bytes in `plain` to `output`, encrypted if there is TLS.
    pub(super) fn seal(&mut self, conn: ConnId) -> Result<(), TlsError> {
        let Layers { sessions, output, plain, .. } = self;
        let session = sessions.get_mut(conn.index()).and_then(Option::as_mut);
        match session {
            Some(session) if !plain.is_empty() => session.send(plain, output)?,
            Some(_) => {}
            None => output.extend_from_slice(plain),
        }
        plain.clear();
        Ok(())
    }
}

impl ConnectionPool {
    /// Starts the first layer of a connected socket.
    #[inline(never)]
    pub(super) fn begin_layers(&mut self, conn: ConnId, at: Nanos) -> Action {
        let connection = &mut self.connections[conn.index()];
        connection.state = State::Handshaking;
        connection.at = at;
        self.deadlines.arm(conn, at.after(self.limits.connect_timeout_ns));
        let mut preambles: VecDeque<_> =
            self.layers.preambles.iter().map(PreambleFactory::make).collect();
        if let Some(first) = preambles.front_mut() {
            first.start(&mut self.layers.output);
        }
        let opening =
            Opening { step: Step::Preambles, preambles, connect_ns: 0, protocol_at: Nanos::MAX };
        self.layers.openings[conn.index()] = Some(Box::new(opening));
        self.pass_preambles(conn, at)
    }

    /// Passes received bytes through the layers of `conn`.
    #[inline(never)]
    pub(super) fn received_in_layers(
        &mut self,
        conn: ConnId,
        bytes: &mut [u8],
        at: Nanos,
    ) -> Action {
        let mut from = 0;
        while self.layers.step(conn) == Some(Step::Preambles) && from < bytes.len() {
            let Layers { openings, output, .. } = &mut self.layers;
            let opening = openings[conn.index()].as_mut().expect("it has a step");
            let preamble = opening.preambles.front_mut().expect("the step has not ended");
            match preamble.receive(&bytes[from..], output) {
                Ok(used) => from += used,
                Err(error) => return self.fail_protocol(conn, error, at),
            }
            let action = self.pass_preambles(conn, at);
            if action != Action::None {
                return action;
            }
        }
        match &mut bytes[from..] {
            [] => Action::None,
            rest if self.layers.tls.is_some() => self.decrypt(conn, rest, at),
            rest => self.received_plain(conn, rest, at),
        }
    }

    /// Passes plain bytes to the protocol of `conn`.
    pub(super) fn received_plain(&mut self, conn: ConnId, bytes: &[u8], at: Nanos) -> Action {
        match self.limits.streams {
            true => self.received_on_streams(conn, bytes, at),
            false => self.received(conn, bytes, at),
        }
    }

    /// Leaves the preambles of `conn` that are complete. After the last one, starts TLS or the
    /// protocol.
    fn pass_preambles(&mut self, conn: ConnId, at: Nanos) -> Action {
        let Layers { openings, output, .. } = &mut self.layers;
        let opening = openings[conn.index()].as_mut().expect("the socket is being opened");
        while opening.preambles.front().is_some_and(|preamble| preamble.is_complete()) {
            opening.preambles.pop_front();
            if let Some(next) = opening.preambles.front_mut() {
                next.start(output);
            }
        }
        if !opening.preambles.is_empty() {
            return Action::None;
        }
        opening.connect_ns = at.since(self.connections[conn.index()].freed_at);
        match self.layers.tls.is_some() {
            true => {
                self.shake_hands(conn, at);
                Action::None
            }
            false => self.begin_protocol(conn, at),
        }
    }

    /// Starts the protocol of `conn`, which needs an opening exchange if it is multiplexed.
    pub(super) fn begin_protocol(&mut self, conn: ConnId, at: Nanos) -> Action {
        let opening = self.layers.openings[conn.index()].as_mut().expect("it is being opened");
        (opening.step, opening.protocol_at) = (Step::Protocol, at);
        if self.limits.streams {
            return self.open_streams(conn, at);
        }
        self.end_opening(conn, at);
        Action::None
    }

    /// Marks `conn` as open for requests, past its last layer.
    pub(super) fn end_opening(&mut self, conn: ConnId, at: Nanos) {
        let opening = self.layers.openings[conn.index()].take().expect("it is being opened");
        if self.limits.streams {
            self.recorder.opened_protocol(at.since(opening.protocol_at));
        }
        self.opened(conn, opening.connect_ns, at);
    }
}
