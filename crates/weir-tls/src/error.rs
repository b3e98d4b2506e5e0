//! TLS errors of connections: a closed set of codes for documents, each with a message that states
//! the problem and the command-line option that avoids it.

use std::net::IpAddr;

use rustls::pki_types::{ServerName, UnixTime};
use rustls::{AlertDescription, CertificateError, Error as RustlsError};
use thiserror::Error;
use weir_text::setting::{
    CA_FILE, CERT, CIPHERS, HTTP, INSECURE, KEY, SERVER_NAME, TLS_MAX, TLS_MIN,
};

/// Reason for a connection lost to TLS. It is data of the run, like a refused connection.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TlsError {
    /// The certificate names other hosts (RFC 9525).
    #[error("{}", misnamed(.expected, .presented))]
    WrongName {
        /// The requested host.
        expected: String,
        /// The names in the certificate.
        presented: Vec<String>,
    },
    /// The certificate's last day of validity has passed.
    #[error("the certificate expired on {0}: renew it, or {INSECURE} to accept any certificate")]
    ExpiredCertificate(
        /// Last day of validity, as `2024-01-01`, in UTC.
        String,
    ),
    /// The certificate's first day of validity is in the future.
    #[error(
        "the certificate is not valid before {0}: set this machine's clock, or {INSECURE} to \
         accept any certificate"
    )]
    NotYetValidCertificate(
        /// First day of validity, as `2024-01-01`, in UTC.
        String,
    ),
    /// No chain leads from the certificate to a trusted one.
    #[error(
        "the certificate's issuer is not trusted: give it with {CA_FILE} FILE, or {INSECURE} to \
         accept any certificate"
    )]
    UnknownIssuer,
    /// The issuer has revoked the certificate.
    #[error("the certificate was revoked: replace it, or {INSECURE} to accept any certificate")]
    Revoked,
    /// The certificate is of a version without extensions, and so names no host (RFC 5280
    /// §4.1.2.1).
    #[error(
        "the certificate is of X.509 version 1, which names no host: replace it by one of version \
         3 with subjectAltName, or {INSECURE} to accept any certificate"
    )]
    OldCertificate,
    /// The certificate, or a signature made with its key, is unacceptable for another reason.
    #[error(
        "the certificate cannot be accepted ({0}): replace it, or {INSECURE} to accept any \
         certificate"
    )]
    BadCertificate(
        /// The reason.
        String,
    ),
    /// The first bytes from the server are not a TLS record (RFC 8446 §5.1).
    #[error("{}", not_tls(.first_line))]
    NotTls {
        /// First line of the bytes received, if it is text, at most 40 characters.
        first_line: Option<String>,
    },
    /// The server ended the connection with an alert (RFC 8446 §6).
    #[error("the server refused TLS with the alert {}{}", alert_name(.0), alert_advice(.0))]
    Alert(
        /// The error's code: `alert_` and the registered name of the alert.
        &'static str,
    ),
    /// The server requires a version, a cipher or a feature that is not offered.
    #[error(
        "server and client share no version or cipher of TLS ({0}); weir offers 1.2 and 1.3, \
         unless {TLS_MIN}, {TLS_MAX} or {CIPHERS} exclude some"
    )]
    NoCommonVersionOrCipher(
        /// The missing feature.
        String,
    ),
    /// The connection's keys have encrypted as much as is safe, and TLS 1.2 cannot change them.
    #[error("the connection's keys are used up (TLS 1.2 cannot change them): let it be reopened")]
    KeysExhausted,
    /// The server's bytes violate the TLS protocol.
    #[error("the server's TLS is broken: {0}")]
    Protocol(
        /// The violated rule.
        String,
    ),
}

impl TlsError {
    /// Returns the error's name in documents. Stable: changing a name changes the document format.
    pub fn code(&self) -> &'static str {
        match self {
            TlsError::WrongName { .. } => "wrong_name",
            TlsError::ExpiredCertificate(_) => "expired_certificate",
            TlsError::NotYetValidCertificate(_) => "not_yet_valid_certificate",
            TlsError::UnknownIssuer => "unknown_issuer",
            TlsError::Revoked => "revoked",
            TlsError::OldCertificate | TlsError::BadCertificate(_) => "bad_certificate",
            TlsError::NotTls { .. } => "not_tls",
            TlsError::Alert(code) => code,
            TlsError::NoCommonVersionOrCipher(_) => "no_common_version_or_cipher",
            TlsError::KeysExhausted => "keys_exhausted",
            TlsError::Protocol(_) => "protocol",
        }
    }

    /// Creates the error for a server that does not speak TLS, from the first bytes received.
    pub(crate) fn not_tls(bytes: &[u8]) -> TlsError {
        let line = bytes.split(|&byte| matches!(byte, b'\r' | b'\n')).next().unwrap_or_default();
        let line = &line[..line.len().min(40)];
        let is_text = !line.is_empty() && line.iter().all(|byte| matches!(byte, b' '..=b'~'));
        let first_line = is_text.then(|| String::from_utf8_lossy(line).into_owned());
        TlsError::NotTls { first_line }
    }
}

/// Error name in webpki for a certificate of X.509 version 1 or 2.
pub(crate) const OLD_VERSION: &str = "UnsupportedCertVersion";

/// Error name in webpki for a CA certificate used as a server's. rustls has no variant for it.
pub(crate) const AUTHORITY_AS_SERVER: &str = "CaUsedAsEndEntity";

impl From<RustlsError> for TlsError {
    fn from(error: RustlsError) -> TlsError {
        match error {
            RustlsError::InvalidCertificate(error) => of_certificate(error),
            RustlsError::NoCertificatesPresented => {
                TlsError::BadCertificate("the server has none".to_owned())
            }
            RustlsError::AlertReceived(alert) => TlsError::Alert(alert_code(alert)),
            RustlsError::PeerIncompatible(why) => {
                TlsError::NoCommonVersionOrCipher(format!("{why:?}"))
            }
            error => TlsError::Protocol(error.to_string()),
        }
    }
}

fn of_certificate(error: CertificateError) -> TlsError {
    let reason = match error {
        CertificateError::NotValidForNameContext { expected, presented } => {
            let expected = match expected {
                ServerName::IpAddress(address) => IpAddr::from(address).to_string(),
                name => name.to_str().into_owned(),
            };
            let presented = presented.iter().map(|name| bare_name(name)).collect();
            return TlsError::WrongName { expected, presented };
        }
        CertificateError::ExpiredContext { not_after, .. } => {
            return TlsError::ExpiredCertificate(day(not_after));
        }
        CertificateError::NotValidYetContext { not_before, .. } => {
            return TlsError::NotYetValidCertificate(day(not_before));
        }
        CertificateError::UnknownIssuer => return TlsError::UnknownIssuer,
        CertificateError::Revoked => return TlsError::Revoked,
        CertificateError::BadEncoding => "it is malformed".to_owned(),
        // The usual cause is an authority that was recreated under its old name.
        CertificateError::BadSignature => "a signature does not fit the issuer's key".to_owned(),
        CertificateError::InvalidPurposeContext { .. } => "it is not for servers".to_owned(),
        CertificateError::UnhandledCriticalExtension => {
            "it has a critical extension that is not known".to_owned()
        }
        CertificateError::UnsupportedSignatureAlgorithmContext { .. }
        | CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => {
            "it is signed in a way that is not known".to_owned()
        }
        CertificateError::Other(error) => match error.to_string() {
            // A self-signed server certificate: no trusted issuer.
            text if text.contains(AUTHORITY_AS_SERVER) => return TlsError::UnknownIssuer,
            text if text.contains(OLD_VERSION) => return TlsError::OldCertificate,
            text => text,
        },
        error => format!("{error:?}"),
    };
    TlsError::BadCertificate(reason)
}

/// Extracts the plain name from rustls's form for a name in a certificate, as
/// `DnsName("example.test")` or `IpAddress(0::1)`.
fn bare_name(name: &str) -> String {
    let inner = name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    let bare = inner.unwrap_or(name).trim_matches('"');
    bare.parse::<IpAddr>().map_or_else(|_| bare.to_owned(), |address| address.to_string())
}

fn day(time: UnixTime) -> String {
    let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    match jiff::Timestamp::from_second(seconds) {
        Ok(instant) => instant.strftime("%Y-%m-%d").to_string(),
        // The last day of the calendar means no expiry (RFC 5280 §4.1.2.5).
        Err(_) => "9999-12-31".to_owned(),
    }
}

fn misnamed(expected: &str, presented: &[String]) -> String {
    const SHOWN: usize = 3;
    let remedy = format!("or {INSECURE} to accept any certificate");
    if presented.is_empty() {
        return format!(
            "the certificate is not valid for {expected:?}: it names no host (subjectAltName); \
             replace it, {remedy}"
        );
    }
    let shown: Vec<String> = presented.iter().take(SHOWN).map(|name| format!("{name:?}")).collect();
    let more = match presented.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "the certificate is not valid for {expected:?}: it names {}{more}; load the host it \
         names, {remedy}",
        shown.join(", ")
    )
}

fn not_tls(first_line: &Option<String>) -> String {
    let sent = first_line.as_ref().map_or_else(String::new, |line| format!(" (it sent {line:?})"));
    format!("the server does not speak TLS{sent}: load http:// instead, or ws:// for WebSocket")
}

fn alert_name(code: &'static str) -> &'static str {
    code.strip_prefix("alert_").unwrap_or(code)
}

/// Returns advice for the user on an alert; empty if there is none.
fn alert_advice(code: &'static str) -> String {
    match alert_name(code) {
        "handshake_failure" | "protocol_version" | "insufficient_security" => format!(
            ": it supports no offered version or cipher, or requires a client certificate ({CERT})"
        ),
        "certificate_required" => {
            format!(": it requires a client certificate; give one with {CERT} FILE and {KEY} FILE")
        }
        "bad_certificate"
        | "unsupported_certificate"
        | "certificate_revoked"
        | "certificate_expired"
        | "certificate_unknown"
        | "unknown_ca"
        | "access_denied" => {
            format!(": it does not accept the client's certificate; give another with {CERT} FILE")
        }
        "unrecognized_name" => format!(
            ": it does not serve the host named; load one that it serves, or name it with \
             {SERVER_NAME}"
        ),
        "no_application_protocol" => {
            format!(": it supports none of the protocols offered (ALPN); offer another with {HTTP}")
        }
        _ => String::new(),
    }
}

/// Returns the registered name of an alert (RFC 8446 §6; RFC 5246 §7.2 for those dropped in TLS
/// 1.3).
fn alert_code(alert: AlertDescription) -> &'static str {
    match alert {
        AlertDescription::CloseNotify => "alert_close_notify",
        AlertDescription::UnexpectedMessage => "alert_unexpected_message",
        AlertDescription::BadRecordMac => "alert_bad_record_mac",
        AlertDescription::DecryptionFailed => "alert_decryption_failed",
        AlertDescription::RecordOverflow => "alert_record_overflow",
        AlertDescription::DecompressionFailure => "alert_decompression_failure",
        AlertDescription::HandshakeFailure => "alert_handshake_failure",
        AlertDescription::NoCertificate => "alert_no_certificate",
        AlertDescription::BadCertificate => "alert_bad_certificate",
        AlertDescription::UnsupportedCertificate => "alert_unsupported_certificate",
        AlertDescription::CertificateRevoked => "alert_certificate_revoked",
        AlertDescription::CertificateExpired => "alert_certificate_expired",
        AlertDescription::CertificateUnknown => "alert_certificate_unknown",
        AlertDescription::IllegalParameter => "alert_illegal_parameter",
        AlertDescription::UnknownCA => "alert_unknown_ca",
        AlertDescription::AccessDenied => "alert_access_denied",
        AlertDescription::DecodeError => "alert_decode_error",
        AlertDescription::DecryptError => "alert_decrypt_error",
        AlertDescription::ExportRestriction => "alert_export_restriction",
        AlertDescription::ProtocolVersion => "alert_protocol_version",
        AlertDescription::InsufficientSecurity => "alert_insufficient_security",
        AlertDescription::InternalError => "alert_internal_error",
        AlertDescription::InappropriateFallback => "alert_inappropriate_fallback",
        AlertDescription::UserCanceled => "alert_user_canceled",
        AlertDescription::NoRenegotiation => "alert_no_renegotiation",
        AlertDescription::MissingExtension => "alert_missing_extension",
        AlertDescription::UnsupportedExtension => "alert_unsupported_extension",
        AlertDescription::CertificateUnobtainable => "alert_certificate_unobtainable",
        AlertDescription::UnrecognisedName => "alert_unrecognized_name",
        AlertDescription::BadCertificateStatusResponse => "alert_bad_certificate_status_response",
        AlertDescription::BadCertificateHashValue => "alert_bad_certificate_hash_value",
        AlertDescription::UnknownPSKIdentity => "alert_unknown_psk_identity",
        AlertDescription::CertificateRequired => "alert_certificate_required",
        AlertDescription::NoApplicationProtocol => "alert_no_application_protocol",
        AlertDescription::EncryptedClientHelloRequired => "alert_ech_required",
        _ => "alert_unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::time::Duration;

    use rustls::pki_types::CertificateDer;
    use rustls::server::ParsedCertificate;

    #[test]
    fn codes_of_alerts_are_distinct_and_in_snake_case() {
        let codes: BTreeSet<_> =
            (0..=255).map(|alert| alert_code(AlertDescription::from(alert))).collect();
        // The 35 alerts defined in rustls, and one for the rest.
        assert_eq!(codes.len(), 36);
        for code in codes {
            assert!(code.starts_with("alert_"), "{code}");
            assert!(code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{code}");
        }
    }

    #[test]
    fn names_are_shown_as_they_are_typed() {
        let check = |name: &str, expected: &str| assert_eq!(bare_name(name), expected);
        check("DnsName(\"example.test\")", "example.test");
        check("IpAddress(10.0.0.1)", "10.0.0.1");
        check("IpAddress(0::1)", "::1");
        check("DirectoryName", "DirectoryName");
        check("", "");
    }

    #[test]
    fn days_are_of_utc() {
        let check = |seconds: u64, expected: &str| {
            assert_eq!(day(UnixTime::since_unix_epoch(Duration::from_secs(seconds))), expected);
        };
        check(0, "1970-01-01");
        check(951_782_399, "2000-02-28");
        check(951_782_400, "2000-02-29");
        check(1_704_067_200, "2024-01-01");
        check(253_402_300_799, "9999-12-31");
        check(u64::MAX, "9999-12-31");
    }

    #[test]
    fn what_is_rare_has_a_sentence_too() {
        let check = |error: RustlsError, code: &str, sentence: &str| {
            let error = TlsError::from(error);
            assert_eq!((error.code(), error.to_string().as_str()), (code, sentence));
        };
        let of = |error: CertificateError| RustlsError::InvalidCertificate(error);
        check(
            of(CertificateError::Revoked),
            "revoked",
            "the certificate was revoked: replace it, or `tls.insecure` to accept any certificate",
        );
        check(
            of(CertificateError::BadEncoding),
            "bad_certificate",
            "the certificate cannot be accepted (it is malformed): replace it, or `tls.insecure` \
             to accept any certificate",
        );
        // By `openssl x509 -req`, without a file of extensions.
        let version_1 = CertificateDer::from(&include_bytes!("../tests/version_1.der")[..]);
        check(
            ParsedCertificate::try_from(&version_1).err().expect("it is too old"),
            "bad_certificate",
            "the certificate is of X.509 version 1, which names no host: replace it by one of \
             version 3 with subjectAltName, or `tls.insecure` to accept any certificate",
        );
        check(
            RustlsError::DecryptError,
            "protocol",
            "the server's TLS is broken: cannot decrypt peer's message",
        );
    }
}
