//! What all connections to one server have in common: its name, whom to trust, what to offer.
//! Made once, before the run; everything a user can get wrong about TLS is found here.

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

/// What the user says about TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsOptions {
    /// The URL's host without brackets: a DNS name or an IP literal. The certificate must name it.
    pub server_name: String,
    /// Whether the certificate must be valid, name the server and have a trusted issuer.
    pub verify: bool,
    /// Certificates in PEM to trust instead of the machine's. Not read without `verify`.
    pub ca_file: Option<PathBuf>,
    /// The protocols to offer (RFC 7301), the preferred first, each of 1 to 255 bytes. None: the
    /// extension is not sent.
    pub alpn: Vec<Vec<u8>>,
}

/// Why there is no TLS with these options. The user's error, found before the run.
#[derive(Debug, Error)]
pub enum TlsConfigError {
    /// The host is neither a DNS name nor an IP literal, so no certificate can name it.
    #[error("host {0:?} is no name that a certificate can have; give a DNS name or an IP address")]
    BadServerName(String),
    /// The file cannot be opened or read.
    #[error("the CA file {path:?} cannot be read: {source}")]
    UnreadableCaFile {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file can be read, but has no section `CERTIFICATE` (RFC 7468 §5).
    #[error("the CA file {path:?} holds no certificate in PEM form")]
    EmptyCaFile {
        /// Which file.
        path: PathBuf,
    },
    /// A section `CERTIFICATE` is cut off, no base64, or no certificate inside.
    #[error("certificate {number} of the CA file {path:?} is broken: {reason}")]
    BrokenCaFile {
        /// Which file.
        path: PathBuf,
        /// Which of its certificates, from 1.
        number: usize,
        /// What is wrong with it.
        reason: String,
    },
}

/// How to open connections to one server. Clones share everything.
#[derive(Clone, Debug)]
pub struct TlsConfig {
    pub(crate) client: Arc<ClientConfig>,
    pub(crate) server_name: ServerName<'static>,
}

impl TlsConfig {
    /// Reads whom to trust (`ca_file`; else the machine's certificates; else, where it has none,
    /// those of the Mozilla programme) and prepares what connections share.
    ///
    /// # Errors
    /// The name is none, or the CA file is unreadable, empty or broken.
    ///
    /// # Panics
    /// If a protocol in `alpn` is empty or longer than 255 bytes.
    pub fn new(options: &TlsOptions) -> Result<TlsConfig, TlsConfigError> {
        assert!(options.alpn.iter().all(|protocol| (1..=255).contains(&protocol.len())));
        let server_name = ServerName::try_from(options.server_name.clone())
            .map_err(|_| TlsConfigError::BadServerName(options.server_name.clone()))?;
        // Named here, because rustls would else look for one chosen for the whole process, and
        // panic where the dependencies bring two.
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
                let verifier = Arc::new(GivenCertificates::new(roots::read(path)?, &provider));
                builder.dangerous().with_custom_certificate_verifier(verifier)
            }
            None => builder.with_root_certificates(roots::of_machine()),
        };
        let mut client = builder.with_no_client_auth();
        client.alpn_protocols.clone_from(&options.alpn);
        // Every connection stands for a client the server has not met: with resumption all but the
        // first would be spared the certificate and its signature, and reconnecting would look
        // cheaper than it is. For the same reason there is no early data.
        client.resumption = Resumption::disabled();
        Ok(TlsConfig { client: Arc::new(client), server_name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(server_name: &str) -> TlsOptions {
        let server_name = server_name.to_owned();
        TlsOptions { server_name, verify: false, ca_file: None, alpn: Vec::new() }
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
