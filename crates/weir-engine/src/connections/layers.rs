//! The layers between a socket and the protocol, and the order in which a new socket passes them:
//! TLS, and the opening exchange of the protocol itself.

mod clients;

use weir_io::{Backend, ConnId, Nanos, Segment};

use crate::job::Job;
use crate::tls::{Session, TlsError};
use clients::Clients;

/// The layers of one worker's sockets.
#[derive(Debug)]
pub(crate) struct Layers {
    /// True if sockets are open as soon as they are connected, and carry plain HTTP/1.
    pub(crate) are_plain: bool,
    /// Clients of TLS; `None` without TLS.
    tls: Option<Clients>,
    /// Sockets that are connected and not yet open, by connection; empty if layers are plain.
    openings: Vec<Option<Box<Opening>>>,
    /// TLS sessions by connection; empty without TLS.
    sessions: Vec<Option<Box<Session>>>,
    /// Bytes that the layers themselves send on the connection of the last event: handshake
    /// messages, alerts, and frames of a multiplexed protocol.
    output: Vec<u8>,
    /// True if the last event took a step of a TLS handshake, which takes as long as many events.
    has_stepped: bool,
    /// Decrypted bytes of the last event, or bytes to encrypt.
    pub(crate) plain: Vec<u8>,
}

/// The way of one socket from connected to open.
#[derive(Debug)]
pub(crate) struct Opening {
    step: LayerStep,
    /// Time that the connect took, in nanoseconds.
    pub(crate) connect_ns: u64,
    /// Begin of the protocol's opening exchange; [`Nanos::MAX`] before it.
    pub(crate) protocol_at: Nanos,
}

/// The layer that a new socket has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LayerStep {
    Tls,
    Protocol,
}

/// A read of encrypted bytes.
#[derive(Debug)]
pub(crate) struct Decrypted {
    /// An error that the bytes end with.
    pub(crate) read: Result<(), TlsError>,
    /// True if the handshake ended with these bytes.
    pub(crate) has_ended_handshake: bool,
    /// True if the peer has closed the session.
    pub(crate) is_closed: bool,
}

impl Layers {
    /// Returns the layers of `connections` connections of `job`.
    pub(crate) fn new(job: &Job, connections: u32) -> Layers {
        let connections = connections as usize;
        let are_plain = !job.opens_in_steps();
        let if_so = |wanted: bool| if wanted { connections } else { 0 };
        Layers {
            are_plain,
            tls: job.target.tls.clone().map(|config| Clients::new(config, connections)),
            openings: (0..if_so(!are_plain)).map(|_| None).collect(),
            sessions: (0..if_so(job.target.tls.is_some())).map(|_| None).collect(),
            output: Vec::new(),
            has_stepped: false,
            plain: Vec::new(),
        }
    }

    /// Returns the TLS session of a connection's socket, if there is one.
    #[inline]
    pub(crate) fn session(&mut self, conn: ConnId) -> Option<&mut Session> {
        self.sessions.get_mut(conn.index())?.as_deref_mut()
    }

    /// Returns the layer that the socket of `conn` has reached; `None` if it is open.
    pub(crate) fn step(&self, conn: ConnId) -> Option<LayerStep> {
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
    pub(crate) fn forget(&mut self, conn: ConnId) {
        drop(self.end_opening(conn));
        if let Some(session) = self.sessions.get_mut(conn.index()) {
            *session = None;
        }
    }

    /// Moves the bytes in `plain` to `output`, encrypted if there is TLS.
    pub(crate) fn seal(&mut self, conn: ConnId) -> Result<(), TlsError> {
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

    /// True if a step of a TLS handshake was taken since the last call.
    #[inline]
    pub(crate) fn take_has_stepped(&mut self) -> bool {
        std::mem::take(&mut self.has_stepped)
    }

    /// True if there is TLS.
    pub(crate) fn have_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Hands what the layers have to send on `conn` to the backend.
    #[inline]
    pub(crate) fn send_output(&mut self, conn: ConnId, backend: &mut impl Backend) {
        if !self.output.is_empty() {
            let pooled = backend.pool(&self.output);
            self.output.clear();
            backend.send(conn, &[Segment::Pooled(pooled)]);
        }
    }

    /// Starts the first layer of a socket, whose connect has taken `connect_ns`: TLS, or the
    /// protocol's opening exchange at `at`. Returns that layer.
    pub(crate) fn begin(&mut self, conn: ConnId, connect_ns: u64, at: Nanos) -> LayerStep {
        let Layers { tls, openings, sessions, output, has_stepped, .. } = self;
        let (step, protocol_at) = match tls {
            Some(clients) => {
                let mut session = Box::new(Session::new(clients.config(conn)));
                session.take_output(output);
                *has_stepped = true;
                sessions[conn.index()] = Some(session);
                (LayerStep::Tls, Nanos::MAX)
            }
            None => (LayerStep::Protocol, at),
        };
        openings[conn.index()] = Some(Box::new(Opening { step, connect_ns, protocol_at }));
        step
    }

    /// Decrypts received bytes of `conn` to `plain`. Bytes without a session are dropped.
    pub(crate) fn decrypt(
        &mut self,
        conn: ConnId,
        bytes: &mut [u8],
        plain: &mut Vec<u8>,
    ) -> Decrypted {
        let Layers { sessions, output, has_stepped, .. } = self;
        let Some(session) = &mut sessions[conn.index()] else {
            return Decrypted { read: Ok(()), has_ended_handshake: false, is_closed: false };
        };
        *has_stepped |= session.is_handshaking();
        let read = session.receive(bytes, plain);
        session.take_output(output);
        let is_handshaking = session.is_handshaking();
        let is_closed = session.is_closed();
        let has_ended_handshake = !is_handshaking && self.step(conn) == Some(LayerStep::Tls);
        Decrypted { read, has_ended_handshake, is_closed }
    }

    /// Returns the session of `conn`, whose handshake has ended, and true if its client had made
    /// one before and was to resume it.
    pub(crate) fn handshake(&mut self, conn: ConnId) -> Option<(&Session, bool)> {
        let Layers { tls, sessions, .. } = self;
        let session = sessions[conn.index()].as_deref()?;
        Some((session, tls.as_mut()?.met_server(conn)))
    }

    /// Starts the protocol's opening exchange on `conn`.
    pub(crate) fn begin_protocol(&mut self, conn: ConnId, at: Nanos) {
        if let Some(opening) = &mut self.openings[conn.index()] {
            (opening.step, opening.protocol_at) = (LayerStep::Protocol, at);
        }
    }

    /// Removes the way of `conn`, which has come to its end; `None` if layers are plain.
    pub(crate) fn end_opening(&mut self, conn: ConnId) -> Option<Box<Opening>> {
        self.openings.get_mut(conn.index())?.take()
    }

    /// True if `conn` has a TLS session whose end the peer has not announced.
    pub(crate) fn has_open_session(&self, conn: ConnId) -> bool {
        let session = self.sessions.get(conn.index()).and_then(Option::as_ref);
        session.is_some_and(|session| !session.is_closed())
    }
}
