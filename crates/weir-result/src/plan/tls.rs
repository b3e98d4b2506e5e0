//! TLS of a run's connections, as far as it differs from the default.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Choices of TLS. By default versions and ciphers are those of the client, every handshake is
/// full, and the client has no certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TlsPlan {
    /// Server name in the handshake and in the check of the certificate, if it is not the URL's
    /// host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_name: Option<String>,
    /// Lowest version offered; absent: 1.2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_version: Option<TlsVersion>,
    /// Highest version offered; absent: 1.3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_version: Option<TlsVersion>,
    /// Ciphers offered, by name, the preferred first; absent: all that are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ciphers: Vec<String>,
    /// True if each connection keeps its sessions and resumes them when it is renewed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resume: bool,
    /// True if the client has a certificate.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub client_certificate: bool,
}

/// A version of TLS, ordered by age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum TlsVersion {
    /// TLS 1.2 (RFC 5246).
    #[serde(rename = "1.2")]
    Tls12,
    /// TLS 1.3 (RFC 8446).
    #[serde(rename = "1.3")]
    Tls13,
}

impl TlsVersion {
    /// Every version.
    pub const ALL: [TlsVersion; 2] = [TlsVersion::Tls12, TlsVersion::Tls13];
}

/// The number alone: `1.2`.
impl fmt::Display for TlsVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Reads the number alone. The error is a part of a sentence.
impl FromStr for TlsVersion {
    type Err = String;

    fn from_str(text: &str) -> Result<TlsVersion, String> {
        let found = TlsVersion::ALL.into_iter().find(|version| version.to_string() == text);
        found.ok_or_else(|| "must be 1.2 or 1.3".to_owned())
    }
}
