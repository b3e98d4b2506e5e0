//! Whom to trust: the certificates of a file, of the machine, or those built in.

use std::fs;
use std::path::Path;

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::TlsConfigError;

/// All certificates in a PEM file, as roots and as they are; other sections (keys, comments) are
/// skipped. One broken certificate is an error: it may be the very one the user means.
pub(crate) fn read(
    path: &Path,
) -> Result<(RootCertStore, Vec<CertificateDer<'static>>), TlsConfigError> {
    let pem = fs::read(path)
        .map_err(|source| TlsConfigError::UnreadableCaFile { path: path.into(), source })?;
    let (mut roots, mut given) = (RootCertStore::empty(), Vec::new());
    for (number, certificate) in (1..).zip(CertificateDer::pem_slice_iter(&pem)) {
        let broken = |reason| TlsConfigError::BrokenCaFile { path: path.into(), number, reason };
        let certificate = certificate.map_err(|error| broken(error.to_string()))?;
        roots.add(certificate.clone()).map_err(|error| broken(error.to_string()))?;
        given.push(certificate);
    }
    if roots.is_empty() {
        return Err(TlsConfigError::EmptyCaFile { path: path.into() });
    }
    Ok((roots, given))
}

/// The machine's certificates, or those built in where it has none, as in many containers. Of a
/// machine's hundreds some may be broken without harm, so those are skipped.
pub(crate) fn of_machine() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    roots
}
