//! Certificate and key of the server: given ones, or new ones with a certificate authority of their
//! own. Independent of files.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::error::TlsConfigError;

/// A server's certificate chain with its key.
#[derive(Debug)]
pub struct Identity {
    pub(super) chain: Vec<CertificateDer<'static>>,
    pub(super) key: PrivateKeyDer<'static>,
}

impl Identity {
    /// Reads a chain, the server's certificate first, and its key, both as PEM.
    ///
    /// # Errors
    /// One of them has no such content.
    pub fn from_pem(chain: &[u8], key: &[u8]) -> Result<Identity, TlsConfigError> {
        let chain = certificates(chain, "--cert")?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| TlsConfigError::NoKey)?;
        Ok(Identity { chain, key })
    }

    /// Makes a certificate for `localhost`, both loopback addresses and `addresses`, signed by an
    /// authority that is made too and signs no other. Returns it with the authority's certificate
    /// as PEM. Both are valid as long as X.509 permits: the keys end with the process.
    ///
    /// # Errors
    /// The cryptography library cannot make keys.
    pub fn generate(addresses: &[IpAddr]) -> Result<(Identity, String), TlsConfigError> {
        let mut authority = CertificateParams::default();
        authority.distinguished_name.push(DnType::CommonName, "weir serve, own authority");
        authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let issuer = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;

        let loopback = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        let others = addresses.iter().filter(|address| !loopback.contains(address));
        let literals = loopback.iter().chain(others).map(IpAddr::to_string);
        let names: Vec<String> = ["localhost".to_owned()].into_iter().chain(literals).collect();
        let mut server = CertificateParams::new(names)?;
        server.distinguished_name.push(DnType::CommonName, "weir serve");
        server.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        server.insert_extended_key_usage(ExtendedKeyUsagePurpose::ServerAuth);
        server.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let certificate = server.signed_by(&key, &issuer)?;
        let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        let identity = Identity { chain: vec![certificate.der().clone()], key };
        Ok((identity, issuer.pem()))
    }
}

/// Reads all certificates of a PEM text that `flag` gave.
pub(super) fn certificates(
    pem: &[u8],
    flag: &'static str,
) -> Result<Vec<CertificateDer<'static>>, TlsConfigError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let found = found.map_err(|_| TlsConfigError::NoCertificate(flag))?;
    if found.is_empty() { Err(TlsConfigError::NoCertificate(flag)) } else { Ok(found) }
}
