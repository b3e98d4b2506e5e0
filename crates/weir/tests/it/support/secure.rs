//! Servers that speak TLS, with certificates made for the test.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd,
};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{
    RootCertStore, ServerConfig, ServerConnection, StreamOwned, SupportedProtocolVersion,
};

use super::directory::Directory;
use super::raw::Raw;

/// A certificate authority.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    directory: Directory,
}

/// A server's certificate with its key.
pub(crate) struct Identity {
    pem: String,
    key_pem: String,
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

impl Authority {
    pub(crate) fn new() -> Authority {
        Authority::named("an authority")
    }

    pub(crate) fn named(name: &str) -> Authority {
        let mut params = CertificateParams::new([]).expect("no name can be wrong");
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, key()).expect("parameters are complete");
        let directory = Directory::new();
        let file = directory.file("authority.pem");
        std::fs::write(file, issuer.pem()).expect("the directory is the test's own");
        Authority { issuer, directory }
    }

    /// A file with its certificate.
    pub(crate) fn file(&self) -> String {
        self.directory.file("authority.pem")
    }

    /// Signs a certificate for these names (IP literals become such), valid in these years.
    pub(crate) fn sign(&self, names: &[&str], years: Range<i32>) -> Identity {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("names are well formed");
        params.not_before = date_time_ymd(years.start, 1, 1);
        params.not_after = date_time_ymd(years.end, 1, 1);
        let key = key();
        let certificate = params.signed_by(&key, &self.issuer).expect("parameters are complete");
        let pem = certificate.pem();
        let key_pem = key.serialize_pem();
        let certificate = certificate.der().clone();
        let key = PrivateKeyDer::try_from(key.serialize_der()).expect("rcgen writes PKCS #8");
        Identity { pem, key_pem, certificate, key }
    }

    /// Writes a certificate for a client, and its key, to two files in `directory`; returns their
    /// names.
    pub(crate) fn sign_client(&self, directory: &Directory) -> (String, String) {
        let params = CertificateParams::new(["client".to_owned()]).expect("names are well formed");
        let key = key();
        let certificate = params.signed_by(&key, &self.issuer).expect("parameters are complete");
        let files = (directory.file("client.pem"), directory.file("client.key"));
        std::fs::write(&files.0, certificate.pem()).expect("the directory is the test's own");
        std::fs::write(&files.1, key.serialize_pem()).expect("the directory is the test's own");
        files
    }

    /// Signs a valid certificate for the addresses on which test servers listen.
    pub(crate) fn sign_loopback(&self) -> Identity {
        self.sign(&["127.0.0.1", "localhost"], 2000..2100)
    }
}

impl Identity {
    /// Writes both in PEM form: `cert.pem` and `key.pem`.
    pub(crate) fn write_to(&self, directory: &Directory) {
        for (name, text) in [("cert.pem", &self.pem), ("key.pem", &self.key_pem)] {
            std::fs::write(directory.file(name), text).expect("the directory is the test's own");
        }
    }

    /// The configuration of a server with these versions, which requires a client certificate of
    /// `client_issuer`, if there is one.
    pub(crate) fn config(
        &self,
        versions: &[&'static SupportedProtocolVersion],
        client_issuer: Option<&Authority>,
    ) -> ServerConfig {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions)
            .expect("the provider has ciphers for each");
        let builder = match client_issuer {
            None => builder.with_no_client_auth(),
            Some(authority) => {
                let mut roots = RootCertStore::empty();
                roots.add(authority.issuer.der().clone()).expect("it is a certificate");
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
                builder.with_client_cert_verifier(verifier.expect("there is a root"))
            }
        };
        let config = builder.with_single_cert(vec![self.certificate.clone()], self.key.clone_key());
        config.expect("the key is of a known kind")
    }
}

fn key() -> KeyPair {
    KeyPair::generate().expect("random bytes do not fail")
}

/// A server on a free port, with a thread per connection.
#[derive(Debug)]
pub(crate) struct Secure {
    pub(crate) raw: Raw,
    handshakes: Arc<AtomicU64>,
}

/// A connection after its TLS handshake.
pub(crate) struct SecurePeer<'a> {
    tls: StreamOwned<ServerConnection, TcpStream>,
    raw: &'a super::raw::Peer,
    buffer: Vec<u8>,
}

impl Secure {
    /// Serves each connection by `serve`, which ends it by returning; without a close_notify.
    pub(crate) fn start(
        identity: &Identity,
        serve: impl Fn(&mut SecurePeer<'_>) -> io::Result<()> + Send + Sync + 'static,
    ) -> Secure {
        Secure::serving(identity.config(rustls::ALL_VERSIONS, None), serve)
    }

    /// Serves with this configuration.
    pub(crate) fn serving(
        config: ServerConfig,
        serve: impl Fn(&mut SecurePeer<'_>) -> io::Result<()> + Send + Sync + 'static,
    ) -> Secure {
        let config = Arc::new(config);
        let handshakes = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&handshakes);
        let raw = Raw::start(move |peer| {
            let conn = ServerConnection::new(Arc::clone(&config)).expect("no limit is set");
            let mut tls = StreamOwned::new(conn, peer.stream()?);
            while tls.conn.is_handshaking() {
                tls.conn.complete_io(&mut tls.sock)?;
            }
            counted.fetch_add(1, Ordering::AcqRel);
            serve(&mut SecurePeer { tls, raw: peer, buffer: Vec::new() })
        });
        Secure { raw, handshakes }
    }

    /// Responds to every request with the same bytes, and keeps connections open.
    pub(crate) fn answering(identity: &Identity, answer: &'static str) -> Secure {
        Secure::start(identity, move |peer| {
            while peer.read_request()?.is_some() {
                peer.write(answer)?;
            }
            Ok(())
        })
    }

    pub(crate) fn url(&self) -> String {
        format!("https://{}/", self.raw.authority())
    }

    /// Handshakes that succeeded.
    pub(crate) fn handshakes(&self) -> u64 {
        self.handshakes.load(Ordering::Acquire)
    }
}

impl SecurePeer<'_> {
    /// Reads the next request's head; `None` if the client has closed.
    pub(crate) fn read_request(&mut self) -> io::Result<Option<String>> {
        loop {
            if let Some(at) = self.buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                let head: Vec<u8> = self.buffer.drain(..at + 4).collect();
                self.raw.count_request();
                return Ok(Some(String::from_utf8_lossy(&head).into_owned()));
            }
            let mut chunk = [0; 4096];
            match self.tls.read(&mut chunk)? {
                0 => return Ok(None),
                count => self.buffer.extend_from_slice(&chunk[..count]),
            }
        }
    }

    /// Reads the next bytes, which are the body of the last request.
    pub(crate) fn read_body(&mut self, bytes: usize) -> io::Result<Vec<u8>> {
        let mut body: Vec<u8> = self.buffer.drain(..bytes.min(self.buffer.len())).collect();
        let rest = body.len();
        body.resize(bytes, 0);
        self.tls.read_exact(&mut body[rest..])?;
        Ok(body)
    }

    pub(crate) fn write(&mut self, text: &str) -> io::Result<()> {
        self.tls.write_all(text.as_bytes())?;
        self.tls.flush()
    }

    /// The server name that the client sent, if it did.
    pub(crate) fn server_name(&self) -> Option<String> {
        self.tls.conn.server_name().map(str::to_owned)
    }

    /// Ends the connection with a close_notify (RFC 8446 §6.1).
    pub(crate) fn close_in_order(&mut self) -> io::Result<()> {
        self.tls.conn.send_close_notify();
        self.tls.flush()?;
        self.break_off()
    }

    /// Ends the connection without a close_notify, as if it had been cut.
    pub(crate) fn break_off(&mut self) -> io::Result<()> {
        self.tls.sock.shutdown(Shutdown::Write)?;
        // Unread bytes would turn the end into a reset.
        let mut chunk = [0; 4096];
        while self.tls.sock.read(&mut chunk)? > 0 {}
        Ok(())
    }
}
