//! Versions of TLS.

use std::fmt;

use rustls::SupportedProtocolVersion;
use rustls::version::{TLS12, TLS13};

/// A version of TLS, ordered by age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TlsVersion {
    /// TLS 1.2 (RFC 5246).
    Tls12,
    /// TLS 1.3 (RFC 8446).
    Tls13,
}

impl TlsVersion {
    /// Returns the versions from `min` to `max`.
    pub(crate) fn between(
        min: TlsVersion,
        max: TlsVersion,
    ) -> Vec<&'static SupportedProtocolVersion> {
        let all = [(TlsVersion::Tls12, &TLS12), (TlsVersion::Tls13, &TLS13)];
        let within = all.into_iter().filter(|(version, _)| (min..=max).contains(version));
        within.map(|(_, version)| version).collect()
    }
}

/// The number alone: `1.2`.
impl fmt::Display for TlsVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TlsVersion::Tls12 => "1.2",
            TlsVersion::Tls13 => "1.3",
        })
    }
}
