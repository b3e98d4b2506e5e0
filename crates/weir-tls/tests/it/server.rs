//! Server side of a connection, in memory, and the exchange of bytes with the client.

use std::io::{Read, Write};
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::server::{ClientHello, ResolvesServerCert, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use rustls::{RootCertStore, ServerConfig, ServerConnection, SupportedProtocolVersion, version};
use weir_tls::{Session, TlsConfig, TlsError, TlsOptions};

use crate::certificates::{Authority, Identity};

pub(crate) const VERSIONS: [&SupportedProtocolVersion; 2] = [&version::TLS12, &version::TLS13];

/// The server side of one connection.
pub(crate) struct Server {
    pub(crate) conn: ServerConnection,
}

/// Presents the same certificate to every client, also one that a client cannot parse.
#[derive(Debug)]
struct Shown(Arc<CertifiedKey>);

impl ResolvesServerCert for Shown {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.clone())
    }
}

/// Creates a server's configuration: one version, one identity. `client_issuer` must have issued
/// the clients' certificates, if any are required.
pub(crate) fn config(
    version: &'static SupportedProtocolVersion,
    identity: &Identity,
    client_issuer: Option<&Authority>,
) -> ServerConfig {
    config_with(aws_lc_rs::default_provider(), version, identity, client_issuer)
}

/// Like [`config`], with the ciphers and groups of `provider`.
pub(crate) fn config_with(
    provider: CryptoProvider,
    version: &'static SupportedProtocolVersion,
    identity: &Identity,
    client_issuer: Option<&Authority>,
) -> ServerConfig {
    let provider = Arc::new(provider);
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[version])
        .expect("the provider has ciphers for it");
    let builder = match client_issuer {
        None => builder.with_no_client_auth(),
        Some(authority) => {
            use rustls::pki_types::{CertificateDer, pem::PemObject};
            let mut roots = RootCertStore::empty();
            let certificate = CertificateDer::from_pem_slice(authority.pem().as_bytes());
            roots.add(certificate.expect("it is PEM")).expect("it is a certificate");
            let verifier =
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone());
            builder.with_client_cert_verifier(verifier.build().expect("there is a root"))
        }
    };
    let key = provider.key_provider.load_private_key(identity.key.clone_key());
    let certificates = vec![identity.certificate.clone()];
    let shown = CertifiedKey::new(certificates, key.expect("the key is of a known kind"));
    builder.with_cert_resolver(Arc::new(Shown(Arc::new(shown))))
}

/// Returns a client's options for `localhost` without verification.
pub(crate) fn insecure() -> TlsOptions {
    TlsOptions { verify: false, ..TlsOptions::new("localhost") }
}

pub(crate) fn client(options: &TlsOptions) -> Session {
    Session::new(&TlsConfig::new(options).expect("the options are right"))
}

impl Server {
    pub(crate) fn new(config: &ServerConfig) -> Server {
        let mut conn = ServerConnection::new(Arc::new(config.clone())).expect("no limit is set");
        conn.set_buffer_limit(None);
        Server { conn }
    }

    /// Processes bytes from the client and returns the plaintext. An error of the server reaches
    /// the client as an alert.
    pub(crate) fn receive(&mut self, mut bytes: &[u8]) -> Vec<u8> {
        let mut plain = Vec::new();
        while !bytes.is_empty() {
            self.conn.read_tls(&mut bytes).expect("a slice can be read");
            if self.conn.process_new_packets().is_err() {
                break;
            }
            // Until the client closes, the reader returns an error at the end of the data, which is
            // expected.
            let _ = self.conn.reader().read_to_end(&mut plain);
        }
        plain
    }

    pub(crate) fn say(&mut self, plain: &[u8]) {
        self.conn.writer().write_all(plain).expect("there is no buffer limit");
    }

    /// Returns all bytes that the server has to send.
    pub(crate) fn output(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        while self.conn.wants_write() {
            self.conn.write_tls(&mut bytes).expect("a Vec takes all");
        }
        bytes
    }
}

/// Exchanges flights until neither side has output. The server's bytes reach the client in the
/// pieces that `cut` makes of each flight.
pub(crate) fn talk(
    client: &mut Session,
    server: &mut Server,
    cut: impl Fn(Vec<u8>) -> Vec<Vec<u8>>,
) -> Result<Vec<u8>, TlsError> {
    let mut plain = Vec::new();
    loop {
        let mut out = Vec::new();
        client.take_output(&mut out);
        server.receive(&out);
        let output = server.output();
        if out.is_empty() && output.is_empty() {
            return Ok(plain);
        }
        for mut piece in cut(output) {
            client.receive(&mut piece, &mut plain)?;
        }
    }
}

/// Like [`talk`], each flight in one piece.
pub(crate) fn shake(client: &mut Session, server: &mut Server) -> Result<Vec<u8>, TlsError> {
    talk(client, server, |flight| vec![flight])
}

/// Returns a client and a server after the handshake.
pub(crate) fn established(config: &ServerConfig, options: &TlsOptions) -> (Session, Server) {
    let mut client = client(options);
    let mut server = Server::new(config);
    shake(&mut client, &mut server).expect("nothing is wrong with the server");
    assert!(!client.is_handshaking());
    (client, server)
}
