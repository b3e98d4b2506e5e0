//! One connection on a backend, in the clear or over TLS, for the one request before the load. Each
//! step waits for the next event, at most until the end of the attempt.

use std::io;
use std::net::IpAddr;

use weir_http::Multiplexed;
use weir_io::{
    Backend, Close, ConnId, Endpoint, EventKind, Nanos, Segment, SocketOptions, WaitPolicy,
};
use weir_tls::TlsConfig;

use crate::prepare::wire::Wire;

/// The only connection of the backend.
const CONN: ConnId = ConnId(0);

/// A connection, open until it is dropped, which says so to a peer of TLS.
pub(super) struct Link<B: Backend> {
    backend: B,
    wire: Wire,
    /// Data that came with the end of the handshake.
    plain: Vec<u8>,
    /// End of the attempt.
    until: Nanos,
}

/// Something that happened to the connection.
enum LinkStep {
    Connected,
    Received(Vec<u8>),
    Ended,
}

impl<B: Backend> Link<B> {
    /// Connects to `endpoint`, from the address `source` if one is given.
    ///
    /// # Errors
    /// When that fails, or takes until `until`.
    pub(super) fn connect(
        backend: B,
        source: Option<IpAddr>,
        endpoint: &Endpoint,
        until: Nanos,
    ) -> io::Result<Link<B>> {
        let mut link = Link { backend, wire: Wire::default(), plain: Vec::new(), until };
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
    pub(super) fn complete_handshake(&mut self, config: &TlsConfig) -> io::Result<()> {
        let mut plain = Vec::new();
        self.wire = Wire::secured(config, &mut plain, |out, is_open| {
            self.put(out);
            match is_open.then(|| self.step()).transpose()? {
                Some(LinkStep::Received(bytes)) => Ok(bytes),
                Some(LinkStep::Connected | LinkStep::Ended) | None => Ok(Vec::new()),
            }
        })?;
        self.plain = plain;
        Ok(())
    }

    /// Sends bytes.
    ///
    /// # Errors
    /// When TLS cannot encrypt them. A failure of the network follows from [`Link::receive`].
    pub(super) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let sealed = self.wire.seal(bytes)?;
        self.put(&sealed);
        Ok(())
    }

    /// Sends the bytes that a protocol has queued, and returns them.
    ///
    /// # Errors
    /// As [`Link::send`].
    pub(super) fn transmit(&mut self, protocol: &mut dyn Multiplexed) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        protocol.poll_transmit(&mut out);
        if !out.is_empty() {
            self.send(&out)?;
        }
        Ok(out)
    }

    /// Returns the protocol that the server has chosen by ALPN.
    pub(super) fn chosen(&self) -> Option<Vec<u8>> {
        self.wire.chosen()
    }

    /// Receives the next bytes; none at the end of the stream.
    ///
    /// # Errors
    /// When the connection fails, or the time is over.
    pub(super) fn receive(&mut self) -> io::Result<Vec<u8>> {
        while self.plain.is_empty() && !self.wire.is_closed() {
            let LinkStep::Received(mut bytes) = self.step()? else { break };
            self.wire.open(&mut bytes, &mut self.plain)?;
        }
        Ok(std::mem::take(&mut self.plain))
    }

    /// Ends the attempt after this time from now, in nanoseconds.
    pub(super) fn wait_at_most(&mut self, patience_ns: u64) {
        self.until = self.backend.now().after(patience_ns);
    }

    /// Returns the time on the backend's clock.
    pub(super) fn now(&mut self) -> Nanos {
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
                        self.wire = Wire::default();
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
        let out = self.wire.close();
        self.put(&out);
        self.backend.close(CONN, Close::Graceful);
        self.backend.submit();
    }
}

/// True if an attempt ended because its time is over.
pub(super) fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}
