//! TLS: trust in the server's certificate, the client's own, and what is offered.

use serde::{Deserialize, Serialize};
use weir_result::TlsVersion;
use weir_tls::ClientIdentity;

use super::InputFile;

/// Choices of TLS for an https URL.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsSpec {
    /// True if the certificate is not verified.
    #[serde(default)]
    pub insecure: bool,
    /// PEM file of the only certificates to trust; absent: the system's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<InputFile>,
    /// PEM file of the client's certificate and the chain to its issuer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cert: Option<InputFile>,
    /// PEM file of its private key; absent: the key is in `cert`. It is a secret: it is never
    /// digested, and [`RunSpec::redacted`](super::RunSpec::redacted) keeps its path alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<InputFile>,
    /// Server name to send, and to check the certificate for; absent: the URL's host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_name: Option<String>,
    /// Lowest version to offer; absent: 1.2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_version: Option<TlsVersion>,
    /// Highest version to offer; absent: 1.3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_version: Option<TlsVersion>,
    /// Names of the ciphers to offer, registered ones or OpenSSL's, the preferred first; empty: all
    /// that are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ciphers: Vec<String>,
    /// True if each connection keeps its sessions and resumes them when it is renewed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resume: bool,
}

impl TlsSpec {
    /// Drops everything about private keys but the paths of their files.
    pub(crate) fn forget_keys(&mut self) {
        let is_secret = |content: &Vec<u8>| ClientIdentity::is_secret(content);
        let cert = self.cert.as_mut().filter(|file| file.content.as_ref().is_some_and(is_secret));
        for file in cert.into_iter().chain(&mut self.key) {
            *file = InputFile::at(&file.path);
        }
    }
}
