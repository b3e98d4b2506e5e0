//! The authority of a fleet, which signs the certificates of all that connect to its bus.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, date_time_ymd,
};
use weir_machine::sys;

use crate::identity::{AUTHORITY, CERTIFICATE, KEY, read_file};
use crate::private_files::{make_directory, write};

/// File with the authority's key.
const AUTHORITY_KEY: &str = "ca.key";

/// Time before now from which certificates are valid: clocks differ.
const BEFORE: Duration = Duration::from_hours(1);

/// Signs certificates.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// Its own certificate.
    pem: String,
}

impl Authority {
    /// Makes an authority, which is valid for a time, and writes it to a directory.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn make(directory: &Path, valid: Duration) -> Result<Authority> {
        let issuer = CertifiedIssuer::self_signed(own(valid)?, KeyPair::generate()?)?;
        write(&directory.join(AUTHORITY), &issuer.pem())?;
        write(&directory.join(AUTHORITY_KEY), &issuer.key().serialize_pem())?;
        Authority::read(directory)
    }

    /// Reads the authority of a directory.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn read(directory: &Path) -> Result<Authority> {
        let read = |name: &str| read_file(&directory.join(name));
        let pem = read(AUTHORITY)?;
        let key = KeyPair::from_pem(&read(AUTHORITY_KEY)?)?;
        // A certificate names its issuer, and no time of it.
        Ok(Authority { issuer: Issuer::new(own(Duration::ZERO)?, key), pem })
    }

    /// Makes a directory with a key, a certificate for these names that is valid for a time, and
    /// the certificate of the authority.
    ///
    /// # Errors
    /// When the directory is there already, or cannot be written.
    pub(crate) fn sign(
        &self,
        directory: &Path,
        names: Vec<String>,
        purpose: ExtendedKeyUsagePurpose,
        valid: Duration,
    ) -> Result<()> {
        make_directory(directory)?;
        let mut parameters = parameters(names, valid)?;
        let name = directory.file_name().unwrap_or_default().to_string_lossy();
        parameters.distinguished_name.push(DnType::CommonName, name.as_ref());
        parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        parameters.insert_extended_key_usage(purpose);
        parameters.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let certificate = parameters.signed_by(&key, &self.issuer)?;
        write(&directory.join(AUTHORITY), &self.pem)?;
        write(&directory.join(CERTIFICATE), &certificate.pem())?;
        write(&directory.join(KEY), &key.serialize_pem())
    }
}

/// Returns the parameters of the authority's certificate.
fn own(valid: Duration) -> Result<CertificateParams> {
    let mut authority = parameters(Vec::new(), valid)?;
    authority.distinguished_name.push(DnType::CommonName, "weir fleet");
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    Ok(authority)
}

fn parameters(names: Vec<String>, valid: Duration) -> Result<CertificateParams> {
    let mut parameters = CertificateParams::new(names)?;
    let now = Duration::from_nanos(sys::realtime_ns());
    let epoch = date_time_ymd(1970, 1, 1);
    parameters.not_before = epoch + now.saturating_sub(BEFORE);
    parameters.not_after = epoch + now + valid;
    Ok(parameters)
}
