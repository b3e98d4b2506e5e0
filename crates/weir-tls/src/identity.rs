//! The client's own certificate and its key, for servers that require one.

use std::sync::Arc;

use rustls::Error;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use thiserror::Error;
use weir_text::setting::KEY;

/// Ends of the first lines of PEM sections with a private key (RFC 7468 §10, §11; RFC 5958).
const KEY_LABEL: &str = "PRIVATE KEY-----";

/// Marks of encrypted keys: a section of PKCS #8, and a header of OpenSSL's older form (RFC 1421
/// §4.6.1.1).
const ENCRYPTED_MARKS: [&str; 2] = ["-----BEGIN ENCRYPTED PRIVATE KEY-----", "4,ENCRYPTED"];

/// A client's certificate, the chain to its issuer, and the private key. Its `Debug` form leaves
/// out the key. Clones share everything.
#[derive(Clone, Debug)]
pub struct ClientIdentity {
    pub(crate) key: Arc<CertifiedKey>,
}

/// Reason why files hold no usable identity. Messages are about the file, without its name.
#[derive(Debug, PartialEq, Eq, Error)]
pub enum IdentityError {
    /// There is no section `CERTIFICATE` (RFC 7468 §5).
    #[error("it holds no certificate in PEM form; openssl x509 or openssl pkcs12 converts others")]
    NoCertificate,
    /// A section `CERTIFICATE` is not base64, or does not contain a certificate.
    #[error("certificate {number} of it is broken: {reason}")]
    BrokenCertificate {
        /// Number of the certificate in the file, from 1.
        number: usize,
        /// Reason for the rejection.
        reason: String,
    },
    /// There is no section with a private key.
    #[error("it holds no private key in PEM form; give the file with the key to {KEY}")]
    NoKey,
    /// The private key is encrypted with a password.
    #[error("its private key is encrypted; decrypt it: openssl pkey -in FILE -out KEY")]
    EncryptedKey,
    /// The private key is damaged, or of a kind that cannot sign.
    #[error("its private key cannot be used: {0}")]
    BrokenKey(
        /// Reason for the rejection.
        String,
    ),
    /// The private key does not belong to the certificate.
    #[error("its private key is not that of the first certificate; give the one that fits it")]
    OtherKey,
}

impl IdentityError {
    /// True if the fault is in the file with the certificates, false if it is in that with the key.
    pub fn is_of_certificate(&self) -> bool {
        matches!(self, IdentityError::NoCertificate | IdentityError::BrokenCertificate { .. })
    }
}

impl ClientIdentity {
    /// Reads the chain of `certificates`, the client's own first, and the first private key of
    /// `key`; both are PEM. They may be the same bytes.
    ///
    /// # Errors
    /// If one is missing or broken, the key is encrypted, or it belongs to another certificate.
    pub fn from_pem(certificates: &[u8], key: &[u8]) -> Result<ClientIdentity, IdentityError> {
        let mut chain = Vec::new();
        for (number, certificate) in (1..).zip(CertificateDer::pem_slice_iter(certificates)) {
            chain.push(certificate.map_err(|error| IdentityError::BrokenCertificate {
                number,
                reason: error.to_string(),
            })?);
        }
        if chain.is_empty() {
            return Err(IdentityError::NoCertificate);
        }
        let key = private_key(key)?;
        let identity = CertifiedKey::from_der(chain, key, &aws_lc_rs::default_provider());
        identity.map(|key| ClientIdentity { key: Arc::new(key) }).map_err(|error| match error {
            Error::InconsistentKeys(_) => IdentityError::OtherKey,
            Error::InvalidCertificate(reason) => {
                IdentityError::BrokenCertificate { number: 1, reason: reason.to_string() }
            }
            Error::General(reason) => IdentityError::BrokenKey(reason),
            error => IdentityError::BrokenKey(error.to_string()),
        })
    }

    /// True if PEM bytes hold a private key, encrypted or not: they are a secret.
    pub fn is_secret(pem: &[u8]) -> bool {
        String::from_utf8_lossy(pem).contains(KEY_LABEL)
    }
}

fn private_key(pem: &[u8]) -> Result<PrivateKeyDer<'static>, IdentityError> {
    let text = String::from_utf8_lossy(pem);
    match PrivateKeyDer::from_pem_slice(pem) {
        Ok(key) => Ok(key),
        Err(_) if ENCRYPTED_MARKS.iter().any(|mark| text.contains(mark)) => {
            Err(IdentityError::EncryptedKey)
        }
        Err(pem::Error::NoItemsFound) => Err(IdentityError::NoKey),
        Err(error) => Err(IdentityError::BrokenKey(error.to_string())),
    }
}
