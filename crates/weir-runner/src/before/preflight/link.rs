//! One connection on a backend, in the clear or over TLS, for the one request before the load. Each
//! step waits for the next event, at most until the end of the attempt.

use std::io;
use std::sync::Arc;

use weir_io::{Backend, Close, ConnId, EventKind, Nanos, Segment, SocketOptions, WaitPolicy};
use weir_tls::{Session, TlsConfig, TlsError};

use crate::prepare::draft::Draft;

/// The only connection of the backend.
const CONN: ConnId = ConnId(0);

/// A connection, open until it is dropped, which says so to a peer of TLS.
pub(super) struct Link<B: Backend> {
    backend: B,
    session: Option<Session>,
    /// Decrypted bytes that came with the end of the handshake.
    plain: Vec<u8>,
    /// End of the attempt.
    until: Nanos,
}

/// The cause of a failed handshake.
pub(super) enum Refused {
    /// A TLS error.
    Tls(TlsError),
    /// A network error.
    Io(io::Error),
}

/// Something that happened to the connection.
enum Step {
    Connected,
    Received(Vec<u8>),
    Ended,
}

impl<B: Backend> Link<B> {
    /// Connects to the target of `draft`.
    ///
    /// # Errors
    /// When that fails, or takes until `until`.
    pub(super) fn connect(backend: B, draft: &Draft, until: Nanos) -> io::Result<Link<B>> {
        let mut link = Link { backend, session: None, plain: Vec::new(), until };
        let source = draft.plan.connection.source(0);
        let options = SocketOptions { source, ..SocketOptions::default() };
        link.backend.connect(CONN, &draft.endpoint, options);
        match link.step()? {
            Step::Connected => Ok(link),
            Step::Received(_) | Step::Ended => {
                Err(io::Error::other("the connection was closed at once"))
            }
        }
    }

    /// Performs the TLS handshake.
    ///
    /// # Errors
    /// When the server or this client refuses it, the connection ends, or the time is over.
    pub(super) fn complete_handshake(&mut self, config: &TlsConfig) -> Result<(), Refused> {
        let mut session = Session::new(config);
        loop {
            self.send_output(&mut session);
            if !session.is_handshaking() {
                self.session = Some(session);
                return Ok(());
            }
            let Step::Received(mut bytes) = self.step().map_err(Refused::Io)? else {
                let text = "the connection was closed in the TLS handshake";
                return Err(Refused::Io(io::Error::other(text)));
            };
            if let Err(error) = session.receive(&mut bytes, &mut self.plain) {
                // Sends the alert to the server, if the connection is still open.
                self.send_output(&mut session);
                return Err(Refused::Tls(error));
            }
        }
    }

    /// Sends bytes.
    ///
    /// # Errors
    /// When TLS cannot encrypt them. A failure of the network follows from [`Link::receive`].
    pub(super) fn send(&mut self, bytes: &Arc<[u8]>) -> io::Result<()> {
        let segment = match &mut self.session {
            Some(session) => {
                let mut out = Vec::new();
                session.send(bytes, &mut out).map_err(io::Error::other)?;
                Segment::Pooled(self.backend.pool(&out))
            }
            None => Segment::Template {
                id: self.backend.template(Arc::clone(bytes)),
                bytes: u32::try_from(bytes.len()).map_err(io::Error::other)?,
            },
        };
        self.backend.send(CONN, &[segment]);
        self.backend.submit();
        Ok(())
    }

    /// Sends the bytes of a protocol that makes them by itself.
    ///
    /// # Errors
    /// As [`Link::send`].
    pub(super) fn send_made(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut sealed = Vec::new();
        let out = match &mut self.session {
            Some(session) => {
                session.send(bytes, &mut sealed).map_err(io::Error::other)?;
                &sealed[..]
            }
            None => bytes,
        };
        let segment = Segment::Pooled(self.backend.pool(out));
        self.backend.send(CONN, &[segment]);
        self.backend.submit();
        Ok(())
    }

    /// Returns the protocol that the server has chosen by ALPN.
    pub(super) fn chosen(&self) -> Option<Vec<u8>> {
        self.session.as_ref()?.negotiated()?.alpn
    }

    /// Receives the next bytes; none at the end of the stream.
    ///
    /// # Errors
    /// When the connection fails, or the time is over.
    pub(super) fn receive(&mut self) -> io::Result<Vec<u8>> {
        loop {
            if !self.plain.is_empty() {
                return Ok(std::mem::take(&mut self.plain));
            }
            if self.session.as_ref().is_some_and(Session::is_closed) {
                return Ok(Vec::new());
            }
            match (self.step()?, &mut self.session) {
                (Step::Received(mut bytes), Some(session)) => {
                    session.receive(&mut bytes, &mut self.plain).map_err(io::Error::other)?;
                }
                (Step::Received(bytes), None) => return Ok(bytes),
                (Step::Connected | Step::Ended, _) => return Ok(Vec::new()),
            }
        }
    }

    /// Returns the time on the backend's clock.
    pub(super) fn now(&mut self) -> Nanos {
        self.backend.now()
    }

    /// Sends the bytes of TLS itself.
    fn send_output(&mut self, session: &mut Session) {
        let mut out = Vec::new();
        if session.take_output(&mut out) {
            let segment = Segment::Pooled(self.backend.pool(&out));
            self.backend.send(CONN, &[segment]);
            self.backend.submit();
        }
    }

    /// Waits for the next event.
    fn step(&mut self) -> io::Result<Step> {
        loop {
            while let Some(event) = self.backend.next() {
                match event.kind {
                    EventKind::Connected => return Ok(Step::Connected),
                    EventKind::Received { bytes, .. } => return Ok(Step::Received(bytes.to_vec())),
                    EventKind::Closed => return Ok(Step::Ended),
                    EventKind::Failed(error) => {
                        // There is nothing left to close.
                        self.session = None;
                        return Err(error);
                    }
                    EventKind::Accepted
                    | EventKind::Discarded(_)
                    | EventKind::Transmitted { .. } => {}
                }
            }
            if self.backend.now() >= self.until {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.backend.wait(self.until, WaitPolicy::Sleep)?;
        }
    }
}

impl<B: Backend> Drop for Link<B> {
    fn drop(&mut self) {
        let mut out = Vec::new();
        if let Some(session) = &mut self.session {
            session.close(&mut out);
        }
        if !out.is_empty() {
            let segment = Segment::Pooled(self.backend.pool(&out));
            self.backend.send(CONN, &[segment]);
        }
        self.backend.close(CONN, Close::Graceful);
        self.backend.submit();
    }
}
