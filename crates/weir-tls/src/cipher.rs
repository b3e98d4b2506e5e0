//! Names of the cipher suites that can be offered: the registered ones, and OpenSSL's.

use rustls::{CipherSuite, SupportedCipherSuite};

/// The suites with their shortest names, in the order in which they are offered: OpenSSL's, or the
/// registered one where OpenSSL has no other.
const NAMES: [(CipherSuite, &str); 9] = [
    (CipherSuite::TLS13_AES_256_GCM_SHA384, "TLS_AES_256_GCM_SHA384"),
    (CipherSuite::TLS13_AES_128_GCM_SHA256, "TLS_AES_128_GCM_SHA256"),
    (CipherSuite::TLS13_CHACHA20_POLY1305_SHA256, "TLS_CHACHA20_POLY1305_SHA256"),
    (CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, "ECDHE-ECDSA-AES256-GCM-SHA384"),
    (CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, "ECDHE-ECDSA-AES128-GCM-SHA256"),
    (CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, "ECDHE-ECDSA-CHACHA20-POLY1305"),
    (CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, "ECDHE-RSA-AES256-GCM-SHA384"),
    (CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, "ECDHE-RSA-AES128-GCM-SHA256"),
    (CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256, "ECDHE-RSA-CHACHA20-POLY1305"),
];

/// Returns the registered name of a suite, such as `TLS_AES_128_GCM_SHA256`. rustls has the same
/// names, except for TLS 1.3.
pub(crate) fn name_of(suite: CipherSuite) -> &'static str {
    let mut registered = NAMES.iter().filter(|(_, name)| name.starts_with("TLS_"));
    let named = registered.find(|(known, _)| *known == suite);
    named.map_or_else(|| suite.as_str().unwrap_or("unknown"), |(_, name)| name)
}

/// Returns the suite among `suites` that has this name, of either kind, in upper or lower case.
pub(crate) fn find(name: &str, suites: &[SupportedCipherSuite]) -> Option<SupportedCipherSuite> {
    let is_name = |known: &str| known.eq_ignore_ascii_case(name);
    let mut known = NAMES.iter();
    let (wanted, _) = known.find(|(suite, short)| is_name(short) || is_name(name_of(*suite)))?;
    suites.iter().find(|suite| suite.suite() == *wanted).copied()
}

/// Returns the shortest name of each suite, separated by commas.
pub(crate) fn all_names() -> String {
    NAMES.map(|(_, shortest)| shortest).join(", ")
}

#[cfg(test)]
mod tests {
    use rustls::crypto::aws_lc_rs;

    use super::*;

    #[test]
    fn every_suite_of_the_provider_has_its_names() {
        let suites = aws_lc_rs::ALL_CIPHER_SUITES;
        assert_eq!(suites.len(), NAMES.len());
        for (suite, (listed, shortest)) in suites.iter().zip(NAMES) {
            assert_eq!(suite.suite(), listed, "the order is the provider's");
            // rustls marks the suites of TLS 1.3; their registered names begin like the others.
            let own = format!("{listed:?}").replacen("TLS13_", "TLS_", 1);
            assert_eq!(name_of(listed), own);
            for name in [shortest, &own] {
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
