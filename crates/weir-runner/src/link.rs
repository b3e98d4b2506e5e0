//! One connection on a backend, in the clear or over TLS, for the exchanges beside the load. Each
//! step waits for the next event, as long as the patience of its user permits.

use std::fmt::{self, Debug};
use std::io::{self, ErrorKind};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use weir_http::{ExchangeError, SingleExchange};
use weir_io::{
    Backend, BackendOptions, Clock, Close, ConnId, Endpoint, Epoll, EventKind, Nanos, Segment,
    SocketOptions, WaitPolicy,
};
use weir_tls::{Session, TlsConfig};

use crate::patience::{Hurry, Over, Patience};

/// The only connection of the backend.
const CONN: ConnId = ConnId(0);

/// Returns the options of a backend with one connection.
pub(crate) fn one_connection() -> BackendOptions {
    BackendOptions { clock: Clock::start(), connections: 1, backends: 1, waker: None }
}

/// A connection, open until it is dropped, which announces its end to a peer of TLS.
pub(crate) struct Link<B: Backend> {
    backend: B,
    /// TLS; `None` in the clear.
    session: Option<Session>,
    /// Data that was received and not taken.
    plain: Vec<u8>,
    /// True if an end of the stream over TLS without close_notify is an error (RFC 8446 §6.1).
    needs_close_notify: bool,
    patience: Patience,
}

/// Something that happened to the connection.
enum LinkStep {
    Connected,
    Received(Vec<u8>),
    Ended,
}

/// A step of an exchange.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ExchangeStep<'a> {
    /// These bytes were sent.
    Sent(&'a [u8]),
    /// Bytes were received, or the end of the stream.
    Received,
}

impl Link<Epoll> {
    /// Connects as [`Link::connect`], on a backend of its own.
    ///
    /// # Errors
    /// As there, and when no descriptor is left.
    pub(crate) fn open(
        source: Option<IpAddr>,
        endpoint: &Endpoint,
        patience: Patience,
    ) -> io::Result<Link<Epoll>> {
        Link::connect(Epoll::new(one_connection())?, source, endpoint, patience)
    }
}

impl<B: Backend> Link<B> {
    /// Connects to `endpoint`, from the address `source` if one is given.
    ///
    /// # Errors
    /// When that fails, or takes too long.
    pub(crate) fn connect(
        backend: B,
        source: Option<IpAddr>,
        endpoint: &Endpoint,
        patience: Patience,
    ) -> io::Result<Link<B>> {
        let mut link =
            Link { backend, session: None, plain: Vec::new(), needs_close_notify: false, patience };
        let options = SocketOptions { source, ..SocketOptions::default() };
        link.backend.connect(CONN, endpoint, options);
        match link.step()? {
            LinkStep::Connected => Ok(link),
            LinkStep::Received(_) | LinkStep::Ended => {
                Err(io::Error::other("the connection was closed at once"))
            }
        }
    }

    /// Performs the TLS handshake.
    ///
    /// # Errors
    /// When the server or this client refuses it, the connection ends, or the time is over.
    pub(crate) fn complete_handshake(&mut self, config: &TlsConfig) -> io::Result<()> {
        let mut session = Session::new(config);
        let mut out = Vec::new();
        loop {
            session.take_output(&mut out);
            self.put(&out);
            out.clear();
            if !session.is_handshaking() {
                self.session = Some(session);
                return Ok(());
            }
            let LinkStep::Received(mut bytes) = self.step()? else {
                return Err(io::Error::other("the connection was closed in the TLS handshake"));
            };
            if let Err(error) = session.receive(&mut bytes, &mut self.plain) {
                // The alert.
                session.take_output(&mut out);
                self.put(&out);
                return Err(io::Error::other(error));
            }
        }
    }

    /// Sends bytes.
    ///
    /// # Errors
    /// When TLS cannot encrypt them. A failure of the network follows from [`Link::receive`].
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(session) = &mut self.session else {
            self.put(bytes);
            return Ok(());
        };
        let mut sealed = Vec::new();
        session.send(bytes, &mut sealed).map_err(io::Error::other)?;
        self.put(&sealed);
        Ok(())
    }

    /// Carries out an exchange until it is complete, or `look` returns true: it is called after
    /// each step, with its time.
    ///
    /// # Errors
    /// When there will be no response: an [`ExchangeError`], one of the connection, or the end of
    /// the patience, unless the server gave a reason before.
    pub(crate) fn exchange(
        &mut self,
        exchange: &mut SingleExchange,
        mut look: impl FnMut(&SingleExchange, ExchangeStep<'_>, Nanos) -> bool,
    ) -> io::Result<()> {
        loop {
            let sent = self.transmit(exchange)?;
            if !sent.is_empty() && look(exchange, ExchangeStep::Sent(&sent), self.now()) {
                return Ok(());
            }
            let received = self.receive();
            let bytes =
                received.map_err(|error| exchange.refusal().map_or(error, io::Error::other))?;
            let now = self.now();
            let read = exchange.receive(&bytes, now.0);
            if look(exchange, ExchangeStep::Received, now) || exchange.progress().is_complete {
                return Ok(());
            }
            if let Err(error) = read {
                if !matches!(error, ExchangeError::Protocol(_) | ExchangeError::Upgrade(_)) {
                    // A Close frame is answered.
                    self.transmit(exchange)?;
                }
                return Err(io::Error::other(error));
            }
            // Also if the bytes never pause.
            self.patience.left().map_err(error_of)?;
        }
    }

    /// Sends the bytes that an exchange has queued, and returns them.
    ///
    /// # Errors
    /// As [`Link::send`].
    pub(crate) fn transmit(&mut self, exchange: &mut SingleExchange) -> io::Result<Arc<[u8]>> {
        let out = exchange.take_output(self.now().0);
        if !out.is_empty() {
            self.send(&out)?;
        }
        Ok(out)
    }

    /// Returns the protocol that the server has chosen by ALPN.
    pub(crate) fn chosen(&self) -> Option<Vec<u8>> {
        self.session.as_ref()?.negotiated()?.alpn
    }

    /// Receives the next bytes; none at the end of the stream.
    ///
    /// # Errors
    /// When the connection fails, or the time is over.
    pub(crate) fn receive(&mut self) -> io::Result<Vec<u8>> {
        while self.plain.is_empty() && !self.session.as_ref().is_some_and(Session::is_closed) {
            match (self.step()?, &mut self.session) {
                (LinkStep::Received(bytes), None) => return Ok(bytes),
                (LinkStep::Received(mut bytes), Some(session)) => {
                    session.receive(&mut bytes, &mut self.plain).map_err(io::Error::other)?;
                }
                (LinkStep::Ended, Some(_)) if self.needs_close_notify => {
                    let text = "the connection ended without close_notify";
                    return Err(io::Error::new(ErrorKind::UnexpectedEof, text));
                }
                (LinkStep::Connected | LinkStep::Ended, _) => break,
            }
        }
        Ok(std::mem::take(&mut self.plain))
    }

    /// Refuses an end of the stream over TLS that may be a truncation.
    pub(crate) fn require_close_notify(&mut self) {
        self.needs_close_notify = true;
    }

    /// Sets the limits of the next steps.
    pub(crate) fn set_patience(&mut self, patience: Patience) {
        self.patience = patience;
    }

    /// Returns an idle connection unless the server has closed it: a request on it would be lost.
    /// Session tickets that came late are no end.
    pub(crate) fn if_idle(mut self) -> Option<Link<B>> {
        self.patience = Patience::new(Duration::ZERO, &Hurry::default());
        let now = self.now();
        self.backend.wait(now, WaitPolicy::Sleep).ok()?;
        let received = self.receive();
        // An error with a number is that of a connection that has failed.
        let is_idle =
            received.is_err_and(|error| is_late(&error) && error.raw_os_error().is_none());
        is_idle.then_some(self)
    }

    /// Returns the time on the backend's clock.
    pub(crate) fn now(&mut self) -> Nanos {
        self.backend.now()
    }

    /// Sends bytes of the wire, if there are any.
    fn put(&mut self, out: &[u8]) {
        if !out.is_empty() {
            let segment = Segment::Pooled(self.backend.pool(out));
            self.backend.send(CONN, &[segment]);
            self.backend.submit();
        }
    }

    /// Waits for the next event.
    fn step(&mut self) -> io::Result<LinkStep> {
        loop {
            while let Some(event) = self.backend.next() {
                match event.kind {
                    EventKind::Connected => return Ok(LinkStep::Connected),
                    EventKind::Received { bytes, .. } => {
                        return Ok(LinkStep::Received(bytes.to_vec()));
                    }
                    EventKind::Closed => return Ok(LinkStep::Ended),
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
            let until = self.backend.now() + self.patience.slice().map_err(error_of)?;
            self.backend.wait(until, WaitPolicy::Sleep)?;
        }
    }
}

impl<B: Backend> Debug for Link<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").finish_non_exhaustive()
    }
}

impl<B: Backend> Drop for Link<B> {
    fn drop(&mut self) {
        let mut out = Vec::new();
        self.session.iter_mut().for_each(|session| session.close(&mut out));
        self.put(&out);
        self.backend.close(CONN, Close::Graceful);
        self.backend.submit();
    }
}

/// The error of a step whose limit is reached.
fn error_of(over: Over) -> io::Error {
    match over {
        Over::Late(_) => ErrorKind::TimedOut.into(),
        Over::Signal => io::Error::other(over),
    }
}

/// True if a step ended because its time is over.
pub(crate) fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}
