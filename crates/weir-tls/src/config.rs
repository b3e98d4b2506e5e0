//! TLS configuration shared by all connections to one server: its name, the trusted issuers, the
//! protocols offered. Created once, before the run; all errors in the user's TLS options are found
//! here.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::client::Resumption;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::ServerName;
use thiserror::Error;

use crate::any_certificate::AnyCertificate;
use crate::given_certificates::GivenCertificates;
use crate::roots;

/// TLS options given by the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsOptions {
    /// The URL's host without brackets: a DNS name or an IP literal. The certificate must name it.
    pub server_name: String,
    /// True if the certificate must be valid, name the server and have a trusted issuer.
    pub verify: bool,
    /// PEM file of certificates to trust instead of the system's. Ignored without `verify`.
    pub ca_file: Option<PathBuf>,
    /// Content of `ca_file`; absent: it is read.
    pub ca_pem: Option<Vec<u8>>,
    /// Protocols to offer by ALPN (RFC 7301), the preferred first, each of 1 to 255 bytes. If
    /// empty, the extension is not sent.
    pub alpn: Vec<Vec<u8>>,
}

/// Errors in TLS options. They are the user's, and found before the run.
#[derive(Debug, Error)]
pub enum TlsConfigError {
    /// The host is neither a DNS name nor an IP literal, so no certificate can name it.
    #[error("host {0:?} is no name that a certificate can have; give a DNS name or an IP address")]
    BadServerName(String),
    /// The file cannot be opened or read.
    #[error("the CA file {path:?} cannot be read: {source}")]
    UnreadableCaFile {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system call.
        source: io::Error,
    },
    /// The file is readable, but has no section `CERTIFICATE` (RFC 7468 §5).
    #[error("the CA file {path:?} holds no certificate in PEM form")]
    EmptyCaFile {
        /// Path of the file.
        path: PathBuf,
    },
    /// A section `CERTIFICATE` is truncated, not base64, or does not contain a certificate.
    #[error("certificate {number} of the CA file {path:?} is broken: {reason}")]
    BrokenCaFile {
        /// Path of the file.
        path: PathBuf,
        /// Number of the certificate in the file, from 1.
        number: usize,
        /// Reason for the rejection.
        reason: String,
    },
}

/// Client configuration for connections to one server. Clones share everything.
#[derive(Clone, Debug)]
pub struct TlsConfig {
    pub(crate) client: Arc<ClientConfig>,
    pub(crate) server_name: ServerName<'static>,
}

impl TlsConfig {
    /// Creates the configuration. Trusts the certificates in `ca_file`, else those of the system,
    /// or, if it has none, those of the Mozilla programme.
    ///
    /// # Errors
    /// If the server name is invalid, or the CA file is unreadable, empty or broken.
    ///
    /// # Panics
    /// If a protocol in `alpn` is empty or longer than 255 bytes.
    pub fn new(options: &TlsOptions) -> Result<TlsConfig, TlsConfigError> {
        assert!(options.alpn.iter().all(|protocol| (1..=255).contains(&protocol.len())));
        let server_name = ServerName::try_from(options.server_name.clone())
            .map_err(|_| TlsConfigError::BadServerName(options.server_name.clone()))?;
        // Given explicitly: otherwise rustls uses a process-wide provider, and panics if the
        // dependencies include two.
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .expect("aws-lc-rs has ciphers for TLS 1.2 and 1.3");
        let builder = match &options.ca_file {
            _ if !options.verify => {
                let verifier = Arc::new(AnyCertificate::new(&provider));
                builder.dangerous().with_custom_certificate_verifier(verifier)
            }
            Some(path) => {
                let verifier = Arc::new(GivenCertificates::new(
                    roots::of_file(path, options.ca_pem.as_deref())?,
                    &provider,
                ));
                builder.dangerous().with_custom_certificate_verifier(verifier)
            }
            None => builder.with_root_certificates(roots::of_machine()),
        };
        let mut client = builder.with_no_client_auth();
        client.alpn_protocols.clone_from(&options.alpn);
        // Every connection represents a new client. With resumption, all but the first would save
        // the certificate and its signature, and reconnecting would seem cheaper than it is. For
        // the same reason there is no early data.
        client.resumption = Resumption::disabled();
        Ok(TlsConfig { client: Arc::new(client), server_name })
    }

    /// Returns this configuration with other protocols to offer by ALPN, as in
    /// [`TlsOptions::alpn`].
    ///
    /// # Panics
    /// If a protocol is empty or longer than 255 bytes.
    pub fn offering(&self, alpn: &[&[u8]]) -> TlsConfig {
        assert!(alpn.iter().all(|protocol| (1..=255).contains(&protocol.len())));
        let mut client = ClientConfig::clone(&self.client);
        client.alpn_protocols = alpn.iter().map(|protocol| protocol.to_vec()).collect();
        TlsConfig { client: Arc::new(client), server_name: self.server_name.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(server_name: &str) -> TlsOptions {
        let server_name = server_name.to_owned();
        TlsOptions { server_name, verify: false, ca_file: None, ca_pem: None, alpn: Vec::new() }
    }

    #[test]
    fn a_host_is_a_dns_name_or_an_address() {
        let check = |name: &str, is_name: bool| {
            let found = TlsConfig::new(&options(name));
            assert_eq!(found.is_ok(), is_name, "{name:?}");
            if let Err(error) = found {
                assert!(error.to_string().starts_with(&format!("host {name:?}")), "{error}");
            }
        };
        for name in ["localhost", "a.test", "a.test.", "my_host", "127.0.0.1", "::1", "xn--dmi-0na"]
        {
            check(name, true);
        }
        for name in ["", ".", "a..test", "a b", "d\u{f6}mi", "[::1]", "fe80::1%eth0", "a:80"] {
            check(name, false);
        }
    }

    #[test]
    fn without_a_ca_file_somebody_is_trusted() {
        assert!(!roots::of_machine().is_empty());
    }

    #[test]
    #[should_panic(expected = "protocol.len()")]
    fn a_protocol_has_a_name() {
        let _ = TlsConfig::new(&TlsOptions { alpn: vec![Vec::new()], ..options("localhost") });
    }
}
