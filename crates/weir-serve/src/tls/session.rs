//! TLS state of one accepted connection: bytes from the client become plaintext, plaintext becomes
//! records. Independent of sockets.

use std::io::{Read, Write};
use std::sync::Arc;

use rustls::{Error, HandshakeKind, InvalidMessage, ServerConfig, ServerConnection};
use weir_http::h2::frame::PREFACE;

use super::config::ALPN_HTTP2;

/// The server side of one TLS connection.
#[derive(Debug)]
pub(crate) struct Session {
    conn: ServerConnection,
    /// True once bytes have arrived.
    has_begun: bool,
    /// True once the client has sent close_notify.
    is_closed: bool,
    /// Bytes of the preface of HTTP/2 that the plaintext began with; `None` once it is checked
    /// against the protocol that ALPN has chosen.
    preface_bytes: Option<usize>,
}

/// Reason for which TLS ends a connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct TlsFailure(String);

/// Effect of received bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Received {
    /// The handshake ended with these bytes; true if it resumed a session.
    pub(crate) handshake: Option<bool>,
    /// True if the client has sent close_notify: it sends no more data (RFC 8446 §6.1).
    pub(crate) is_closed: bool,
}

impl Session {
    pub(crate) fn new(config: &Arc<ServerConfig>) -> Session {
        let conn = ServerConnection::new(Arc::clone(config));
        let mut conn = conn.expect("the configuration has no fragment size to refuse");
        // The backend keeps what the kernel does not take.
        conn.set_buffer_limit(None);
        Session { conn, has_begun: false, is_closed: false, preface_bytes: Some(0) }
    }

    /// Decrypts bytes from the client, cut anywhere, and appends the plaintext. There may be output
    /// afterwards, also after an error: the alert for the client. Bytes after close_notify are
    /// ignored.
    ///
    /// # Errors
    /// If the connection is lost; the plaintext is then incomplete.
    pub(crate) fn receive(
        &mut self,
        mut bytes: &[u8],
        plain: &mut Vec<u8>,
    ) -> Result<Received, TlsFailure> {
        self.has_begun = true;
        let was_handshaking = self.conn.is_handshaking();
        let start = plain.len();
        let mut received = Received::default();
        while !bytes.is_empty() && !self.is_closed {
            let taken = self.conn.read_tls(&mut bytes);
            taken.map_err(|error| TlsFailure(error.to_string()))?;
            let state = self.conn.process_new_packets().map_err(|error| self.failure(&error))?;
            let begin = plain.len();
            plain.resize(begin + state.plaintext_bytes_to_read(), 0);
            let read = self.conn.reader().read_exact(&mut plain[begin..]);
            read.expect("rustls has so many bytes of plaintext");
            received.is_closed = state.peer_has_closed();
            self.is_closed = received.is_closed;
        }
        if was_handshaking && !self.conn.is_handshaking() {
            let kind = self.conn.handshake_kind();
            received.handshake = Some(kind == Some(HandshakeKind::Resumed));
        }
        self.check_opening(&plain[start..])?;
        Ok(received)
    }

    /// Handles the end of the byte stream. Returns false if the client has announced it. In the
    /// middle of the handshake it is a failure, unless the client has sent nothing at all.
    ///
    /// # Errors
    /// If the handshake has begun and not ended.
    pub(crate) fn end(&mut self) -> Result<bool, TlsFailure> {
        if self.has_begun && self.conn.is_handshaking() {
            return Err(TlsFailure("the client ended the connection in the handshake".to_owned()));
        }
        Ok(!std::mem::replace(&mut self.is_closed, true))
    }

    /// Encrypts `plain`, and appends it and all earlier output to `out`.
    pub(crate) fn send(&mut self, plain: &[u8], out: &mut Vec<u8>) {
        self.conn.writer().write_all(plain).expect("there is no buffer limit");
        self.take_output(out);
    }

    /// Appends a close_notify and all earlier output to `out`.
    pub(crate) fn close(&mut self, out: &mut Vec<u8>) {
        self.conn.send_close_notify();
        self.take_output(out);
    }

    /// Appends the output that waits: handshake messages, tickets and alerts.
    pub(crate) fn take_output(&mut self, out: &mut Vec<u8>) {
        while self.conn.wants_write() {
            self.conn.write_tls(out).expect("a vector takes all bytes");
        }
    }

    fn failure(&self, error: &Error) -> TlsFailure {
        // An invalid header of the first record means that the client does not speak TLS.
        let is_header = matches!(
            error,
            Error::InvalidMessage(
                InvalidMessage::InvalidContentType | InvalidMessage::UnknownProtocolVersion
            )
        );
        match is_header && self.conn.protocol_version().is_none() {
            true => {
                TlsFailure("the client speaks no TLS; its URL must begin with https".to_owned())
            }
            false => TlsFailure(error.to_string()),
        }
    }

    /// Checks that the client speaks HTTP/2 if, and only if, ALPN has chosen it.
    fn check_opening(&mut self, plain: &[u8]) -> Result<(), TlsFailure> {
        let Some(seen) = self.preface_bytes else { return Ok(()) };
        let is_http2 = self.conn.alpn_protocol() == Some(ALPN_HTTP2);
        let expected = &PREFACE[seen..];
        let length = plain.len().min(expected.len());
        let is_preface = plain[..length] == expected[..length];
        let is_whole = length == expected.len();
        self.preface_bytes = (is_preface && !is_whole).then_some(seen + length);
        match (is_http2, is_preface) {
            (true, false) => {
                Err(TlsFailure("ALPN chose h2, but the client spoke another".to_owned()))
            }
            (false, true) if is_whole => {
                Err(TlsFailure("the client spoke HTTP/2 without ALPN h2".to_owned()))
            }
            _ => Ok(()),
        }
    }
}
