//! Configuration of the server side of TLS: options, checked and turned into rustls's
//! configuration.

use std::str::FromStr;
use std::sync::Arc;

use rustls::crypto::aws_lc_rs;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig, SupportedProtocolVersion, version};

use super::error::TlsConfigError;
use super::identity::{Identity, certificates};
use crate::http_version::HttpVersion;
use crate::units::ParseError;

/// A version of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TlsVersion {
    /// TLS 1.2 (RFC 5246).
    Tls12,
    /// TLS 1.3 (RFC 8446).
    Tls13,
}

impl TlsVersion {
    /// All versions, with rustls's names for them.
    const ALL: [(TlsVersion, &SupportedProtocolVersion); 2] =
        [(TlsVersion::Tls12, &version::TLS12), (TlsVersion::Tls13, &version::TLS13)];
}

impl FromStr for TlsVersion {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<TlsVersion, ParseError> {
        match text {
            "1.2" => Ok(TlsVersion::Tls12),
            "1.3" => Ok(TlsVersion::Tls13),
            _ => Err(ParseError(format!("`{text}` is not a TLS version: choose 1.2 or 1.3"))),
        }
    }
}

/// Options of the server side of TLS.
#[derive(Debug)]
pub struct TlsOptions {
    /// Certificate and key.
    pub identity: Identity,
    /// `--client-ca`: authorities as PEM. If given, a client needs a certificate that one of them
    /// has signed.
    pub client_ca: Option<Vec<u8>>,
    /// `--tls-min`: the oldest version.
    pub min: TlsVersion,
    /// `--tls-max`: the newest version; not older than `min`.
    pub max: TlsVersion,
    /// `--tls-resume`: true to give tickets with which clients resume sessions.
    pub resumes: bool,
}

impl TlsOptions {
    /// Returns options with both versions, without client certificates, and without resumption:
    /// each connection costs a full handshake, like a new client's connection.
    pub fn new(identity: Identity) -> TlsOptions {
        TlsOptions {
            identity,
            client_ca: None,
            min: TlsVersion::Tls12,
            max: TlsVersion::Tls13,
            resumes: false,
        }
    }
}

/// Checked options of TLS, which all connections share.
#[derive(Clone, Debug)]
pub struct TlsConfig(Arc<ServerConfig>);

impl TlsConfig {
    /// Checks options.
    ///
    /// # Errors
    /// They cannot be used, or contradict each other.
    pub fn new(options: TlsOptions) -> Result<TlsConfig, TlsConfigError> {
        // Given explicitly: otherwise rustls uses a process-wide provider.
        let provider = Arc::new(aws_lc_rs::default_provider());
        let versions = TlsVersion::ALL.into_iter();
        let versions = versions.filter(|(of, _)| (options.min..=options.max).contains(of));
        let versions: Vec<_> = versions.map(|(_, version)| version).collect();
        if versions.is_empty() {
            return Err(TlsConfigError::NoVersion);
        }
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&versions)
            .expect("aws-lc-rs has ciphers for TLS 1.2 and 1.3");
        let builder = match &options.client_ca {
            None => builder.with_no_client_auth(),
            Some(pem) => {
                let mut roots = RootCertStore::empty();
                for certificate in certificates(pem, "--client-ca")? {
                    let added = roots.add(certificate);
                    added.map_err(|error| TlsConfigError::ClientAuthorities(error.into()))?;
                }
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
                builder.with_client_cert_verifier(
                    verifier.map_err(|error| TlsConfigError::ClientAuthorities(error.into()))?,
                )
            }
        };
        let Identity { chain, key } = options.identity;
        let mut config = builder.with_single_cert(chain, key).map_err(TlsConfigError::Unusable)?;
        config.session_storage = Arc::new(NoServerSessionStorage {});
        if options.resumes {
            // The tickets hold the session, so that any worker can resume it.
            config.ticketer = aws_lc_rs::Ticketer::new().map_err(TlsConfigError::Tickets)?;
        } else {
            config.send_tls13_tickets = 0;
        }
        Ok(TlsConfig(Arc::new(config)))
    }

    /// Returns the configuration that offers the protocols of `version` by ALPN (RFC 7301).
    pub(crate) fn offering(&self, version: HttpVersion) -> Arc<ServerConfig> {
        let protocols: &[&[u8]] = match version {
            HttpVersion::Auto => &[ALPN_HTTP2, ALPN_HTTP1],
            HttpVersion::Http1 => &[ALPN_HTTP1],
            HttpVersion::Http2 => &[ALPN_HTTP2],
        };
        let mut config = ServerConfig::clone(&self.0);
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        Arc::new(config)
    }
}

/// Name of HTTP/2 in ALPN (RFC 9113 §3.2).
pub(super) const ALPN_HTTP2: &[u8] = b"h2";
/// Name of HTTP/1.1 in ALPN.
const ALPN_HTTP1: &[u8] = b"http/1.1";
