//! Errors in the options of TLS.

/// Error in the options of TLS: a lower-case fragment that includes the remedy.
#[derive(Debug, thiserror::Error)]
pub enum TlsConfigError {
    /// A PEM text has no certificate, or an invalid one.
    #[error("{0} has no valid certificate: give a file in PEM format")]
    NoCertificate(&'static str),
    /// A PEM text has no private key.
    #[error("--key has no private key: give a file in PEM format")]
    NoKey,
    /// The certificate and the key do not fit together, or are of an unsupported kind.
    #[error("--cert and --key cannot be used together: give a certificate and its own key")]
    Unusable(#[source] rustls::Error),
    /// No version is left.
    #[error("--tls-min is above --tls-max: leave out one of the two")]
    NoVersion,
    /// An authority of client certificates cannot be used.
    #[error("--client-ca cannot be used: give certificates of authorities")]
    ClientAuthorities(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The server's own certificate cannot be made.
    #[error("the certificate of --tls cannot be made: use --cert and --key")]
    Generate(#[from] rcgen::Error),
    /// The key of tickets cannot be made.
    #[error("tickets cannot be made: use --tls-resume off")]
    Tickets(#[source] rustls::Error),
}
