//! Names of the cipher suites that can be offered: the registered ones, and those of OpenSSL.

use rustls::{CipherSuite, SupportedCipherSuite};

/// The suites with their registered names and, where OpenSSL has another one, its name; in the
/// order in which they are offered.
const NAMES: [(CipherSuite, &str, Option<&str>); 9] = [
    (CipherSuite::TLS13_AES_256_GCM_SHA384, "TLS_AES_256_GCM_SHA384", None),
    (CipherSuite::TLS13_AES_128_GCM_SHA256, "TLS_AES_128_GCM_SHA256", None),
    (CipherSuite::TLS13_CHACHA20_POLY1305_SHA256, "TLS_CHACHA20_POLY1305_SHA256", None),
    (
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
        "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
        Some("ECDHE-ECDSA-AES256-GCM-SHA384"),
    ),
    (
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
        "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
        Some("ECDHE-ECDSA-AES128-GCM-SHA256"),
    ),
    (
        CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
        "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
        Some("ECDHE-ECDSA-CHACHA20-POLY1305"),
    ),
    (
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
        "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
        Some("ECDHE-RSA-AES256-GCM-SHA384"),
    ),
    (
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        Some("ECDHE-RSA-AES128-GCM-SHA256"),
    ),
    (
        CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
        "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
        Some("ECDHE-RSA-CHACHA20-POLY1305"),
    ),
];

/// Returns the registered name of a suite, as `TLS_AES_128_GCM_SHA256`.
pub(crate) fn name_of(suite: CipherSuite) -> &'static str {
    let named = NAMES.iter().find(|(known, ..)| *known == suite);
    named.map_or_else(|| suite.as_str().unwrap_or("unknown"), |(_, name, _)| name)
}

/// Returns the suite among `suites` that has this name, of either kind, in upper or lower case.
pub(crate) fn find(name: &str, suites: &[SupportedCipherSuite]) -> Option<SupportedCipherSuite> {
    let is_name = |known: &str| known.eq_ignore_ascii_case(name);
    let named = NAMES
        .iter()
        .find(|(_, registered, openssl)| is_name(registered) || openssl.is_some_and(is_name));
    let (wanted, ..) = named?;
    suites.iter().find(|suite| suite.suite() == *wanted).copied()
}

/// Returns the shortest name of each suite, separated by commas.
pub(crate) fn all_names() -> String {
    let shortest = NAMES.map(|(_, name, openssl)| openssl.unwrap_or(name));
    shortest.join(", ")
}

#[cfg(test)]
mod tests {
    use rustls::crypto::aws_lc_rs;

    use super::*;

    #[test]
    fn every_suite_of_the_provider_has_its_names() {
        let suites = aws_lc_rs::ALL_CIPHER_SUITES;
        assert_eq!(suites.len(), NAMES.len());
        for (suite, (listed, name, openssl)) in suites.iter().zip(NAMES) {
            assert_eq!(suite.suite(), listed, "the order is the provider's");
            // rustls marks the suites of TLS 1.3; their registered names begin like the others.
            let own = format!("{listed:?}").replacen("TLS13_", "TLS_", 1);
            assert_eq!((name_of(listed), own.as_str()), (name, name));
            for name in openssl.into_iter().chain([name]) {
                for name in [name.to_owned(), name.to_ascii_lowercase()] {
                    let found = find(&name, suites).map(|found| found.suite());
                    assert_eq!(found, Some(listed), "{name}");
                }
            }
        }
        assert!(find("AES128-SHA", suites).is_none() && find("", suites).is_none());
        assert!(find("TLS_AES_128_GCM_SHA256", &[]).is_none());
    }
}
