//! Errors of TLS options.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::cipher;
use crate::version::TlsVersion;

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
    /// The lowest version is above the highest one.
    #[error("TLS {min} is above TLS {max}, the highest version to offer; lower or raise one")]
    NoVersion {
        /// Lowest version to offer.
        min: TlsVersion,
        /// Highest version to offer.
        max: TlsVersion,
    },
    /// A cipher of this name is not known.
    #[error("{0:?} is not known; known are {names}", names = cipher::all_names())]
    UnknownCipher(String),
    /// No cipher in the list belongs to a version that is offered.
    #[error("no cipher in the list is one of TLS {versions}; known are {}", cipher::all_names())]
    NoCipher {
        /// The versions offered: `1.2`, `1.2 or 1.3`.
        versions: String,
    },
}
