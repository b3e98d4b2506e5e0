//! Certificates created for a test: an authority, and those it signs.

use std::path::PathBuf;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// A certificate authority.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate with its key.
pub(crate) struct Identity {
    pub(crate) certificate: CertificateDer<'static>,
    pub(crate) key: PrivateKeyDer<'static>,
    /// The same as PEM.
    pub(crate) certificate_pem: String,
    pub(crate) key_pem: String,
}

impl Authority {
    pub(crate) fn new() -> Authority {
        Authority::named("an authority")
    }

    pub(crate) fn named(name: &str) -> Authority {
        let mut params = CertificateParams::new([]).expect("no name can be wrong");
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, key()).expect("parameters are complete");
        Authority { issuer }
    }

    pub(crate) fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// Writes the authority's certificate to a file; `test` makes its name unique.
    pub(crate) fn file(&self, test: &str) -> PathBuf {
        file(test, self.pem().as_bytes())
    }

    /// Signs a certificate for these names or IP literals, valid in these years.
    pub(crate) fn sign(&self, names: &[&str], years: std::ops::Range<i32>) -> Identity {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("names are well formed");
        params.not_before = date_time_ymd(years.start, 1, 1);
        params.not_after = date_time_ymd(years.end, 1, 1);
        let key = key();
        let certificate = params.signed_by(&key, &self.issuer).expect("parameters are complete");
        Identity::new(certificate.der().clone(), certificate.pem(), &key)
    }
}

impl Identity {
    /// Creates a server that is its own authority, as by `openssl req -x509`, and its file.
    pub(crate) fn self_signed(
        names: &[&str],
        years: std::ops::Range<i32>,
        test: &str,
    ) -> (Identity, PathBuf) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("names are well formed");
        params.not_before = date_time_ymd(years.start, 1, 1);
        params.not_after = date_time_ymd(years.end, 1, 1);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = key();
        let certificate = params.self_signed(&key).expect("parameters are complete");
        let path = file(test, certificate.pem().as_bytes());
        (Identity::new(certificate.der().clone(), certificate.pem(), &key), path)
    }

    fn new(certificate: CertificateDer<'static>, pem: String, key: &KeyPair) -> Identity {
        Identity {
            certificate,
            key: PrivateKeyDer::try_from(key.serialize_der()).expect("rcgen writes PKCS #8"),
            certificate_pem: pem,
            key_pem: key.serialize_pem(),
        }
    }

    /// Creates an identity with a key and arbitrary bytes as its certificate.
    pub(crate) fn unreadable(bytes: &'static [u8]) -> Identity {
        Identity::new(CertificateDer::from(bytes), String::new(), &key())
    }
}

/// Writes these bytes to a file of this test alone.
pub(crate) fn file(test: &str, bytes: &[u8]) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}.pem"));
    std::fs::write(&path, bytes).expect("the target directory can be written");
    path
}

fn key() -> KeyPair {
    KeyPair::generate().expect("random bytes do not fail")
}
