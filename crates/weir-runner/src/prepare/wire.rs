//! The bytes of a connection on the wire: in the clear, or as records of TLS. It converts them, and
//! sends and receives nothing itself.

use std::borrow::Cow;
use std::io;

use weir_tls::{Session, TlsConfig};

/// The bytes of a connection; in the clear by default.
#[derive(Debug, Default)]
pub(crate) struct Wire(Option<Session>);

impl Wire {
    /// Performs a TLS handshake. `exchange` sends bytes and, if it is true, returns the bytes
    /// received next; none means the end of the stream. Appends the data that came with the end of
    /// the handshake to `plain`.
    ///
    /// # Errors
    /// Errors of `exchange`; a [`weir_tls::TlsError`] if one side refuses, after the alert; and the
    /// end of the stream.
    pub(crate) fn secured(
        config: &TlsConfig,
        plain: &mut Vec<u8>,
        mut exchange: impl FnMut(&[u8], bool) -> io::Result<Vec<u8>>,
    ) -> io::Result<Wire> {
        let (mut session, mut out) = (Session::new(config), Vec::new());
        loop {
            session.take_output(&mut out);
            let is_open = session.is_handshaking();
            let mut received = exchange(&out, is_open)?;
            out.clear();
            if !is_open {
                return Ok(Wire(Some(session)));
            }
            if received.is_empty() {
                return Err(io::Error::other("the connection was closed in the TLS handshake"));
            }
            if let Err(error) = session.receive(&mut received, plain) {
                session.take_output(&mut out);
                let _is_sent = exchange(&out, false);
                return Err(io::Error::other(error));
            }
        }
    }

    /// Returns the bytes that carry `bytes`.
    ///
    /// # Errors
    /// When TLS cannot encrypt them.
    pub(crate) fn seal<'a>(&mut self, bytes: &'a [u8]) -> io::Result<Cow<'a, [u8]>> {
        let Some(session) = &mut self.0 else { return Ok(bytes.into()) };
        let mut out = Vec::new();
        session.send(bytes, &mut out).map_err(io::Error::other)?;
        Ok(out.into())
    }

    /// Appends the data in received bytes to `plain`. Overwrites `bytes`.
    ///
    /// # Errors
    /// When they are no records of this session.
    pub(crate) fn open(&mut self, bytes: &mut [u8], plain: &mut Vec<u8>) -> io::Result<()> {
        let Some(session) = &mut self.0 else {
            plain.extend_from_slice(bytes);
            return Ok(());
        };
        session.receive(bytes, plain).map_err(io::Error::other)
    }

    /// Returns the protocol that the server has chosen by ALPN.
    pub(crate) fn chosen(&self) -> Option<Vec<u8>> {
        self.0.as_ref()?.negotiated()?.alpn
    }

    /// True over TLS.
    pub(crate) fn is_secured(&self) -> bool {
        self.0.is_some()
    }

    /// True if the peer has said that its data end here (close_notify, RFC 8446 §6.1).
    pub(crate) fn is_closed(&self) -> bool {
        self.0.as_ref().is_some_and(Session::is_closed)
    }

    /// Returns the bytes that say so to the peer; none in the clear.
    pub(crate) fn close(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        self.0.iter_mut().for_each(|session| session.close(&mut out));
        out
    }
}
