//! Trusted root certificates: from a file, from the system, or built in.

use std::borrow::Cow;
use std::fs;
use std::path::Path;

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::config_error::TlsConfigError;
use crate::error::OLD_VERSION;

/// Reason why a certificate of X.509 version 1 or 2 is no authority.
const OLD_AUTHORITY: &str = "it is of X.509 version 1 or 2, which has no extensions; make one of \
                             version 3: openssl req -x509 -key KEY -out FILE";

/// Returns all certificates in a PEM file, both as roots and in DER; other sections (keys,
/// comments) are skipped. One broken certificate is an error, as it may be the one the user needs.
/// The file is read unless its content is given as `pem`.
pub(crate) fn of_file(
    path: &Path,
    pem: Option<&[u8]>,
) -> Result<(RootCertStore, Vec<CertificateDer<'static>>), TlsConfigError> {
    let pem = match pem {
        Some(pem) => Cow::Borrowed(pem),
        None => Cow::Owned(
            fs::read(path)
                .map_err(|source| TlsConfigError::UnreadableCaFile { path: path.into(), source })?,
        ),
    };
    let mut roots = RootCertStore::empty();
    let mut given = Vec::new();
    for (number, certificate) in (1..).zip(CertificateDer::pem_slice_iter(&pem)) {
        let broken = |reason| TlsConfigError::BrokenCaFile { path: path.into(), number, reason };
        let certificate = certificate.map_err(|error| broken(error.to_string()))?;
        roots.add(certificate.clone()).map_err(|error| match error.to_string() {
            text if text.contains(OLD_VERSION) => broken(OLD_AUTHORITY.to_owned()),
            text => broken(text),
        })?;
        given.push(certificate);
    }
    if roots.is_empty() {
        return Err(TlsConfigError::EmptyCaFile { path: path.into() });
    }
    Ok((roots, given))
}

/// Returns the system's certificates, or the built-in ones if it has none, as in many containers.
/// Broken ones among the hundreds of a system are harmless and skipped.
pub(crate) fn of_machine() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    roots
}
