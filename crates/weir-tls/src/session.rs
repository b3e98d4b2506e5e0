//! TLS state of one connection: bytes from the server become plaintext, plaintext becomes records.
//! Independent of HTTP, of sockets and of time.

use std::{fmt, mem};

use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncodeTlsData, EncryptError, UnbufferedStatus,
};
use rustls::{Error, HandshakeKind, InvalidMessage, ProtocolVersion};

use crate::certificate::Certificate;
use crate::cipher;
use crate::config::TlsConfig;
use crate::error::TlsError;

/// The client side of one TLS connection. It holds no buffer between calls unless a record is
/// incomplete. Records are decrypted in the caller's bytes, so idle connections stay small.
///
/// Bytes appended by [`send`](Session::send), [`take_output`](Session::take_output) and
/// [`close`](Session::close) must reach the server in the order of the calls.
pub struct Session {
    conn: UnbufferedClientConnection,
    /// Start of an incomplete record or handshake message.
    partial: Vec<u8>,
    /// Handshake messages and alerts for the server, until the caller takes them.
    waiting: Vec<u8>,
    stage: ReceiveStage,
}

/// State of the receiving direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReceiveStage {
    Open,
    /// The server sent close_notify.
    Closed,
    /// An error was returned.
    Failed,
}

/// Parameters that client and server have negotiated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Negotiated {
    /// `TLS 1.2` or `TLS 1.3`.
    pub version: &'static str,
    /// The cipher suite by its registered name, like `TLS_AES_128_GCM_SHA256`.
    pub cipher: &'static str,
    /// The protocol that the server chose from those offered (RFC 7301), if any.
    pub alpn: Option<Vec<u8>>,
    /// The key exchange group, like `X25519`; `None` if a session was resumed without one.
    pub group: Option<&'static str>,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("stage", &self.stage).finish_non_exhaustive()
    }
}

impl Session {
    /// Starts a connection; [`take_output`](Self::take_output) returns the ClientHello.
    pub fn new(config: &TlsConfig) -> Session {
        let conn =
            UnbufferedClientConnection::new(config.client.clone(), config.server_name.clone())
                .expect("the configuration has no limit to refuse, and random bytes do not fail");
        let mut session =
            Session { conn, partial: Vec::new(), waiting: Vec::new(), stage: ReceiveStage::Open };
        session.advance(&mut [], &mut Vec::new()).1.expect("without input nothing can be wrong");
        session
    }

    /// Decrypts bytes from the server, cut anywhere, and appends the plaintext. Overwrites `bytes`.
    /// There may be output afterwards, also after an error: the alert for the server. Bytes after
    /// close_notify (RFC 8446 §6.1) or after an error are ignored.
    ///
    /// # Errors
    /// If the connection is lost. Plaintext appended before the error is valid.
    pub fn receive(&mut self, bytes: &mut [u8], plain: &mut Vec<u8>) -> Result<(), TlsError> {
        if self.stage != ReceiveStage::Open {
            return Ok(());
        }
        if self.partial.is_empty() {
            let (used, result) = self.advance(bytes, plain);
            self.settle(result, &bytes[used..])?;
            if self.stage == ReceiveStage::Open {
                self.partial.extend_from_slice(&bytes[used..]);
            }
        } else {
            let mut joined = mem::take(&mut self.partial);
            joined.extend_from_slice(bytes);
            let (used, result) = self.advance(&mut joined, plain);
            self.settle(result, &joined[used..])?;
            joined.drain(..used);
            // An empty buffer is freed.
            if self.stage == ReceiveStage::Open && !joined.is_empty() {
                self.partial = joined;
            }
        }
        Ok(())
    }

    /// True if plaintext cannot be sent yet. The end of the handshake may leave output to send.
    pub fn is_handshaking(&self) -> bool {
        self.conn.is_handshaking()
    }

    /// True if the server has sent close_notify. An end of the byte stream without it is a
    /// truncation (RFC 8446 §6.1).
    pub fn is_closed(&self) -> bool {
        self.stage == ReceiveStage::Closed
    }

    /// Appends `plain` as records of at most 16 KiB each, after all pending output. Must not be
    /// called before the end of the handshake, nor after [`close`](Self::close) or an error.
    ///
    /// # Errors
    /// [`TlsError::KeysExhausted`], with nothing sent, only in TLS 1.2, after 2^24 records: the
    /// connection has to be reopened. TLS 1.3 changes its keys by itself (RFC 8446 §5.5).
    pub fn send(&mut self, plain: &[u8], out: &mut Vec<u8>) -> Result<(), TlsError> {
        debug_assert!(!self.is_handshaking() && self.stage != ReceiveStage::Failed);
        self.take_output(out);
        let result = match self.conn.process_tls_records(&mut self.partial).state {
            Ok(ConnectionState::WriteTraffic(mut traffic)) => {
                append(out, |room| traffic.encrypt(plain, room))
            }
            Ok(state) => unreachable!("sending is not possible in {state:?}"),
            Err(error) => Err(TlsError::from(error)),
        };
        if result.is_err() {
            self.fail();
        }
        result
    }

    /// Appends handshake messages and alerts, which must reach the server before anything else.
    /// Returns true if there were any.
    pub fn take_output(&mut self, out: &mut Vec<u8>) -> bool {
        let mut waiting = mem::take(&mut self.waiting);
        let any = !waiting.is_empty();
        out.append(&mut waiting);
        any
    }

    /// Appends all pending output and a close_notify, which proves to the server that nothing was
    /// truncated. Omits the close_notify during the handshake, after an error or if already sent.
    pub fn close(&mut self, out: &mut Vec<u8>) {
        self.take_output(out);
        if self.stage == ReceiveStage::Failed {
            return;
        }
        let state = self.conn.process_tls_records(&mut self.partial).state;
        if let Ok(ConnectionState::WriteTraffic(mut traffic)) = state {
            append(out, |room| traffic.queue_close_notify(room))
                .expect("an alert is sent even with the last key");
        }
    }

    /// Returns the negotiated parameters; `None` until the handshake has ended.
    pub fn negotiated(&self) -> Option<Negotiated> {
        if self.is_handshaking() {
            return None;
        }
        let version = match self.conn.protocol_version()? {
            ProtocolVersion::TLSv1_2 => "TLS 1.2",
            ProtocolVersion::TLSv1_3 => "TLS 1.3",
            _ => unreachable!("no other version was offered"),
        };
        let cipher = cipher::name_of(self.conn.negotiated_cipher_suite()?.suite());
        let alpn = self.conn.alpn_protocol().map(<[u8]>::to_vec);
        let group = self.conn.negotiated_key_exchange_group();
        let group = group.map(|group| group.name().as_str().unwrap_or("unknown"));
        Some(Negotiated { version, cipher, alpn, group })
    }

    /// Returns the kind of the handshake; `None` until it has ended.
    pub fn handshake_kind(&self) -> Option<HandshakeKind> {
        self.conn.handshake_kind().filter(|_| !self.is_handshaking())
    }

    /// Returns the memory that it holds for bytes received and to be sent, in bytes, without
    /// rustls's.
    pub fn held_bytes(&self) -> usize {
        self.partial.capacity() + self.waiting.capacity()
    }

    /// Summarizes the server's certificates, its own first; empty before they came.
    pub fn certificates(&self) -> Vec<Certificate> {
        let chain = self.conn.peer_certificates().unwrap_or_default();
        chain.iter().map(|der| Certificate::of_der(der)).collect()
    }

    /// Runs rustls until it needs more input. Returns the number of `bytes` that it has consumed.
    fn advance(&mut self, bytes: &mut [u8], plain: &mut Vec<u8>) -> (usize, Result<(), Error>) {
        let mut used = 0;
        loop {
            let UnbufferedStatus { discard, state, .. } =
                self.conn.process_tls_records(&mut bytes[used..]);
            used += discard;
            match state {
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    while let Some(record) = traffic.next_record() {
                        match record {
                            Ok(record) => {
                                used += record.discard;
                                plain.extend_from_slice(record.payload);
                            }
                            Err(error) => return (used, Err(error)),
                        }
                    }
                }
                Ok(ConnectionState::EncodeTlsData(data)) => encode(data, &mut self.waiting),
                Ok(ConnectionState::TransmitTlsData(data)) => data.done(),
                Ok(ConnectionState::PeerClosed) => self.stage = ReceiveStage::Closed,
                Ok(_) => return (used, Ok(())),
                Err(error) => return (used, Err(error)),
            }
        }
    }

    /// Converts an error of rustls. `rest` begins with the bytes that rustls could not use.
    fn settle(&mut self, result: Result<(), Error>, rest: &[u8]) -> Result<(), TlsError> {
        let Err(error) = result else { return Ok(()) };
        self.fail();
        // An invalid record header before the ServerHello means that the server does not speak TLS.
        let is_header = matches!(
            error,
            Error::InvalidMessage(
                InvalidMessage::InvalidContentType | InvalidMessage::UnknownProtocolVersion
            )
        );
        if is_header && self.conn.protocol_version().is_none() {
            return Err(TlsError::not_tls(rest));
        }
        Err(TlsError::from(error))
    }

    fn fail(&mut self) {
        self.stage = ReceiveStage::Failed;
        self.drain();
    }

    /// Moves rustls's queued output to `waiting` without reading on: after an error it would meet
    /// the same bytes again.
    fn drain(&mut self) {
        while self.conn.wants_write() {
            match self.conn.process_tls_records(&mut []).state {
                Ok(ConnectionState::EncodeTlsData(data)) => encode(data, &mut self.waiting),
                _ => return,
            }
        }
    }
}

/// Appends one queued message.
fn encode(mut data: EncodeTlsData<'_, ClientConnectionData>, out: &mut Vec<u8>) {
    let Err(EncodeError::InsufficientSize(needed)) = data.encode(&mut []) else { return };
    let start = out.len();
    out.resize(start + needed.required_size, 0);
    data.encode(&mut out[start..]).expect("this is the room it requires");
}

/// Appends the output of `write`, which reports the exact size it needs when called without room,
/// for every version and cipher.
fn append(
    out: &mut Vec<u8>,
    mut write: impl FnMut(&mut [u8]) -> Result<usize, EncryptError>,
) -> Result<(), TlsError> {
    let start = out.len();
    loop {
        match write(&mut out[start..]) {
            Ok(_) => return Ok(()),
            Err(EncryptError::InsufficientSize(needed)) => {
                out.resize(start + needed.required_size, 0);
            }
            Err(EncryptError::EncryptExhausted) => {
                out.truncate(start);
                return Err(TlsError::KeysExhausted);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, KeyPair};
    use rustls::crypto::{CipherSuiteCommon, CryptoProvider, aws_lc_rs};
    use rustls::pki_types::{PrivateKeyDer, ServerName};
    use rustls::{ClientConfig, RootCertStore, ServerConfig, ServerConnection};
    use rustls::{SupportedCipherSuite, Tls12CipherSuite, Tls13CipherSuite};
    use std::io::Read;
    use std::sync::Arc;

    /// Returns the default provider, but each key encrypts only `limit` records.
    fn provider(limit: u64) -> Arc<CryptoProvider> {
        let common = |common: &CipherSuiteCommon| CipherSuiteCommon {
            suite: common.suite,
            hash_provider: common.hash_provider,
            confidentiality_limit: limit,
        };
        let mut provider = aws_lc_rs::default_provider();
        for suite in &mut provider.cipher_suites {
            *suite = match *suite {
                SupportedCipherSuite::Tls12(suite) => {
                    let common = common(&suite.common);
                    let suite = Tls12CipherSuite { common, ..*suite };
                    SupportedCipherSuite::Tls12(Box::leak(Box::new(suite)))
                }
                SupportedCipherSuite::Tls13(suite) => {
                    let common = common(&suite.common);
                    let suite = Tls13CipherSuite { common, ..*suite };
                    SupportedCipherSuite::Tls13(Box::leak(Box::new(suite)))
                }
            };
        }
        Arc::new(provider)
    }

    fn server(version: &'static rustls::SupportedProtocolVersion) -> (ServerConnection, TlsConfig) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(["localhost".to_owned()]).unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(certificate.der().clone()).unwrap();
        let client = ClientConfig::builder_with_provider(provider(5))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let client = Arc::new(client);
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let server = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_protocol_versions(&[version])
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        let server_name = ServerName::try_from("localhost").unwrap();
        (
            ServerConnection::new(Arc::new(server)).unwrap(),
            TlsConfig { client, server_name, resumes: false },
        )
    }

    /// Returns the plaintext of these bytes at the server, and true if they close the connection.
    fn decrypted(server: &mut ServerConnection, mut bytes: &[u8]) -> (Vec<u8>, bool) {
        let mut plain = Vec::new();
        let mut is_closed = false;
        while server.read_tls(&mut bytes).unwrap() > 0 {
            is_closed |= server.process_new_packets().unwrap().peer_has_closed();
            let _ = server.reader().read_to_end(&mut plain);
        }
        (plain, is_closed)
    }

    /// Sends "0" to "19", one each time. Returns the number that arrived, and the first error.
    fn sends(version: &'static rustls::SupportedProtocolVersion) -> (usize, Option<TlsError>) {
        let (mut server, config) = server(version);
        let mut session = Session::new(&config);
        let mut out = Vec::new();
        while session.is_handshaking() {
            session.take_output(&mut out);
            decrypted(&mut server, &mem::take(&mut out));
            let mut response = Vec::new();
            server.write_tls(&mut response).unwrap();
            session.receive(&mut response, &mut Vec::new()).unwrap();
        }
        for count in 0..20 {
            let result = session.send(count.to_string().as_bytes(), &mut out);
            let is_last = result.is_err() && session.take_output(&mut out);
            let (plain, is_closed) = decrypted(&mut server, &mem::take(&mut out));
            assert_eq!(is_closed, is_last);
            if let Err(error) = result {
                assert_eq!(plain, b"");
                return (count, Some(error));
            }
            assert_eq!(plain, count.to_string().as_bytes());
        }
        (20, None)
    }

    #[test]
    fn used_up_keys_are_changed_or_end_the_connection() {
        // The Finished message used the first of five.
        assert_eq!(sends(&rustls::version::TLS12), (4, Some(TlsError::KeysExhausted)));
        assert_eq!(sends(&rustls::version::TLS13), (20, None));
    }
}
