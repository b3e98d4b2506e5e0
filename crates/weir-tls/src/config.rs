//! TLS configuration shared by all connections to one server: its name, the trusted issuers, the
//! protocols offered. Created once, before the run; all errors in the user's TLS options are found
//! here.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::ServerName;
use rustls::sign::SingleCertAndKey;

use crate::any_certificate::AnyCertificate;
use crate::config_error::TlsConfigError;
use crate::given_certificates::GivenCertificates;
use crate::identity::ClientIdentity;
#[cfg(feature = "seeded")]
use crate::seeded::SeededRandom;
use crate::version::TlsVersion;
use crate::{cipher, roots};

/// TLS options given by the user.
#[derive(Clone, Debug)]
pub struct TlsOptions {
    /// The server's name, usually the URL's host without brackets: a DNS name or an IP literal. The
    /// certificate must name it, and a DNS name is sent in the handshake.
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
    /// The client's own certificate, sent if the server requires one.
    pub identity: Option<ClientIdentity>,
    /// Lowest version to offer.
    pub min_version: TlsVersion,
    /// Highest version to offer.
    pub max_version: TlsVersion,
    /// Names of the ciphers to offer, registered ones or OpenSSL's, the preferred first; if empty,
    /// all that are known.
    pub ciphers: Vec<String>,
    /// True if clients made by [`TlsConfig::returning_client`] resume their sessions.
    pub resume: bool,
}

impl TlsOptions {
    /// Returns the options for a server whose certificate is verified, without further wishes.
    pub fn new(server_name: impl Into<String>) -> TlsOptions {
        TlsOptions {
            server_name: server_name.into(),
            verify: true,
            ca_file: None,
            ca_pem: None,
            alpn: Vec::new(),
            identity: None,
            min_version: TlsVersion::Tls12,
            max_version: TlsVersion::Tls13,
            ciphers: Vec::new(),
            resume: false,
        }
    }
}

/// Client configuration for connections to one server. Clones share everything.
#[derive(Clone, Debug)]
pub struct TlsConfig {
    pub(crate) client: Arc<ClientConfig>,
    pub(crate) server_name: ServerName<'static>,
    pub(crate) resumes: bool,
}

impl TlsConfig {
    /// Creates the configuration. Trusts the certificates in `ca_file`, else the system's, or, if
    /// it has none, the certificates of the Mozilla programme.
    ///
    /// # Errors
    /// If the server name is invalid, the CA file is unreadable, empty or broken, or no version or
    /// cipher is left to offer.
    ///
    /// # Panics
    /// If a protocol in `alpn` is empty or longer than 255 bytes.
    pub fn new(options: &TlsOptions) -> Result<TlsConfig, TlsConfigError> {
        TlsConfig::with_provider(options, provider(options)?)
    }

    /// Creates the configuration of a simulated client, as [`TlsConfig::new`]: equal seeds give
    /// equal handshakes. The time stands still.
    ///
    /// # Errors
    /// As of [`TlsConfig::new`].
    ///
    /// # Panics
    /// As [`TlsConfig::new`].
    #[cfg(feature = "seeded")]
    pub fn seeded(options: &TlsOptions, seed: u64) -> Result<TlsConfig, TlsConfigError> {
        let provider = SeededRandom::replace(seed, provider(options)?);
        let config = TlsConfig::with_provider(options, provider)?;
        let mut client = ClientConfig::clone(&config.client);
        client.time_provider = SeededRandom::clock();
        Ok(TlsConfig { client: Arc::new(client), ..config })
    }

    fn with_provider(
        options: &TlsOptions,
        provider: CryptoProvider,
    ) -> Result<TlsConfig, TlsConfigError> {
        assert!(options.alpn.iter().all(|protocol| (1..=255).contains(&protocol.len())));
        let server_name = ServerName::try_from(options.server_name.clone())
            .map_err(|_| TlsConfigError::BadServerName(options.server_name.clone()))?;
        // Given explicitly: otherwise rustls uses a process-wide provider, and panics if the
        // dependencies include two.
        let provider = Arc::new(provider);
        let versions = TlsVersion::between(options.min_version, options.max_version);
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&versions)
            .expect("the provider has a cipher for one of them");
        let builder = match &options.ca_file {
            _ if !options.verify => {
                let verifier = Arc::new(AnyCertificate::new(&provider));
                builder.dangerous().with_custom_certificate_verifier(verifier)
            }
            Some(path) => {
                let (roots, given) = roots::of_file(path, options.ca_pem.as_deref())?;
                let verifier = Arc::new(GivenCertificates::new(roots, given, &provider));
                builder.dangerous().with_custom_certificate_verifier(verifier)
            }
            None => builder.with_root_certificates(roots::of_machine()),
        };
        let mut client = match &options.identity {
            None => builder.with_no_client_auth(),
            Some(identity) => {
                let identity = SingleCertAndKey::from(Arc::clone(&identity.key));
                builder.with_client_cert_resolver(Arc::new(identity))
            }
        };
        client.alpn_protocols.clone_from(&options.alpn);
        // Every connection represents a new client. With a cache shared by all, all but the first
        // would save the certificate and its signature, and reconnecting would seem cheaper than it
        // is. For the same reason there is no early data.
        client.resumption = Resumption::disabled();
        Ok(TlsConfig { client: Arc::new(client), server_name, resumes: options.resume })
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
        TlsConfig { client: Arc::new(client), ..self.clone() }
    }

    /// Returns the configuration of one client that keeps its sessions, up to eight, and resumes
    /// them in its later connections; `None` unless the options ask for it. It shares all but the
    /// sessions with this one and other clients.
    pub fn returning_client(&self) -> Option<TlsConfig> {
        self.resumes.then(|| {
            let mut client = ClientConfig::clone(&self.client);
            client.resumption = Resumption::in_memory_sessions(1);
            TlsConfig { client: Arc::new(client), ..self.clone() }
        })
    }
}

/// Returns the provider with the ciphers to offer.
fn provider(options: &TlsOptions) -> Result<CryptoProvider, TlsConfigError> {
    let TlsOptions { min_version: min, max_version: max, .. } = *options;
    let versions = TlsVersion::between(min, max);
    if versions.is_empty() {
        return Err(TlsConfigError::NoVersion { min, max });
    }
    let mut provider = aws_lc_rs::default_provider();
    if options.ciphers.is_empty() {
        return Ok(provider);
    }
    let known = std::mem::take(&mut provider.cipher_suites);
    for name in &options.ciphers {
        let suite = cipher::find(name, &known);
        let suite = suite.ok_or_else(|| TlsConfigError::UnknownCipher(name.clone()))?;
        if !provider.cipher_suites.contains(&suite) {
            provider.cipher_suites.push(suite);
        }
    }
    if !provider.cipher_suites.iter().any(|suite| versions.contains(&suite.version())) {
        let versions = if min == max { min.to_string() } else { format!("{min} or {max}") };
        return Err(TlsConfigError::NoCipher { versions });
    }
    Ok(provider)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(server_name: &str) -> TlsOptions {
        TlsOptions { verify: false, ..TlsOptions::new(server_name) }
    }

    #[test]
    fn a_version_and_a_cipher_are_left_to_offer() {
        use TlsVersion::{Tls12, Tls13};
        let check = |(min_version, max_version), ciphers: &[&str], part: Option<&str>| {
            let ciphers = ciphers.iter().map(|name| (*name).to_owned()).collect();
            let options = TlsOptions { min_version, max_version, ciphers, ..options("localhost") };
            let error = TlsConfig::new(&options).err().map(|error| error.to_string());
            let is_right = match part {
                None => error.is_none(),
                Some(part) => error.as_ref().is_some_and(|error| error.starts_with(part)),
            };
            assert!(is_right, "{error:?}");
        };
        let new = "TLS_AES_128_GCM_SHA256";
        let old = "ecdhe-rsa-aes128-gcm-sha256";
        check((Tls12, Tls13), &[new, old, new], None);
        check((Tls12, Tls13), &[old], None);
        check((Tls13, Tls13), &[new], None);
        check((Tls13, Tls13), &[old], Some("no cipher in the list is one of TLS 1.3; known are"));
        check((Tls12, Tls12), &[new], Some("no cipher in the list is one of TLS 1.2; known are"));
        check((Tls13, Tls12), &[], Some("TLS 1.3 is above TLS 1.2"));
        let unknown = "\"AES128-SHA\" is not known; known are TLS_AES_256_GCM_SHA384, ";
        check((Tls12, Tls13), &[new, "AES128-SHA"], Some(unknown));
    }

    #[test]
    fn a_returning_client_is_made_only_if_requested() {
        let config = |resume| TlsConfig::new(&TlsOptions { resume, ..options("localhost") });
        assert!(config(false).expect("a name").returning_client().is_none());
        assert!(config(true).expect("a name").returning_client().is_some());
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
    fn without_a_ca_file_the_roots_of_the_system_are_trusted() {
        assert!(!roots::of_machine().is_empty());
    }

    #[test]
    #[should_panic(expected = "protocol.len()")]
    fn a_protocol_has_a_name() {
        let _ = TlsConfig::new(&TlsOptions { alpn: vec![Vec::new()], ..options("localhost") });
    }
}
