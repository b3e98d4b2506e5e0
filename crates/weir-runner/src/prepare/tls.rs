//! TLS of a run: the options of the connections, from the specification and its files.

use anyhow::{Result, anyhow, bail};
use weir_result::document::InputRole;
use weir_result::{TlsPlan, TlsVersion};
use weir_text::Setting;
use weir_text::setting::{
    CA_FILE, CERT, CIPHERS, KEY, SERVER_NAME, TLS_MAX, TLS_MIN, TLS_RESUME, URL,
};
use weir_tls::{ClientIdentity, TlsConfig, TlsConfigError, TlsOptions};

use crate::errors::shown;
use crate::input::SETTINGS_MAX_BYTES;
use crate::prepare::planned::Planned;
use crate::spec::url::Url;
use crate::spec::{RunSpec, TlsSpec};

/// Returns the TLS of a load on `url`, whose connections offer `alpn`; `None` for an http URL. The
/// files of watched pages are read too.
///
/// # Errors
/// As [`config`], or when nothing uses a choice.
pub(crate) fn of_load(
    spec: &RunSpec,
    url: &Url,
    alpn: &[&[u8]],
) -> Result<Planned<Option<TlsConfig>>> {
    if url.is_secure {
        let Planned { value, inputs, .. } = config(&spec.tls, url, alpn)?;
        return Ok(Planned::read(Some(value), inputs));
    }
    check_unused(spec, url)?;
    if !spec.watch.has_secure_page() {
        return Ok(Planned::of(None));
    }
    // The files are inputs of the run, although the load does not use them.
    let of_pages = config(&of_pages(&spec.tls), url, alpn)?;
    Ok(Planned::read(None, of_pages.inputs))
}

/// Returns the configuration of connections to `url` that offer `alpn`. Its inputs are the files
/// that were read, but for those that hold a private key.
///
/// # Errors
/// When a file cannot be read or used, or two choices exclude each other; the message names the
/// flag and the remedy.
pub(crate) fn config(spec: &TlsSpec, url: &Url, alpn: &[&[u8]]) -> Result<Planned<TlsConfig>> {
    let alpn = alpn.iter().map(|protocol| protocol.to_vec()).collect();
    let Planned { value, inputs, .. } = options(spec, url)?;
    let config = TlsConfig::new(&TlsOptions { alpn, ..value });
    let config = config.map_err(|error| anyhow!("{}: {error}", setting_of(&error, spec)))?;
    Ok(Planned::read(config, inputs))
}

/// Returns the choices for watched pages: the run's, without the server name of its target and
/// without session resumption.
pub(crate) fn of_pages(spec: &TlsSpec) -> TlsSpec {
    TlsSpec { server_name: None, resume: false, ..spec.clone() }
}

/// Returns the options of connections to `url`, without ALPN.
fn options(spec: &TlsSpec, url: &Url) -> Result<Planned<TlsOptions>> {
    let mut inputs = Vec::new();
    let ca_file = spec.ca_file.as_ref();
    let ca_pem = ca_file.map(|file| file.read(CA_FILE, SETTINGS_MAX_BYTES)).transpose()?;
    if let (Some(file), Some(pem)) = (ca_file, &ca_pem) {
        inputs.push(file.verify(InputRole::CaFile, pem)?);
    }
    let server_name = spec.server_name.as_ref().unwrap_or(&url.host);
    if spec.server_name.is_some() && server_name.parse::<std::net::IpAddr>().is_ok() {
        bail!(
            "{SERVER_NAME} {server_name} is an address, which is never sent as a name (RFC 6066 \
             §3); give a DNS name, or the address in the URL"
        );
    }
    let identity = identity(spec)?;
    inputs.extend(identity.inputs);
    let options = TlsOptions {
        verify: !spec.insecure,
        ca_file: ca_file.map(|file| file.path.clone()),
        ca_pem,
        identity: identity.value,
        min_version: version(spec.min_version.unwrap_or(TlsVersion::Tls12)),
        max_version: version(spec.max_version.unwrap_or(TlsVersion::Tls13)),
        ciphers: spec.ciphers.clone(),
        resume: spec.resume,
        ..TlsOptions::new(server_name)
    };
    Ok(Planned::read(options, inputs))
}

/// Returns the part of the plan.
pub(crate) fn plan(spec: &TlsSpec) -> TlsPlan {
    TlsPlan {
        server_name: spec.server_name.clone(),
        min_version: spec.min_version,
        max_version: spec.max_version,
        ciphers: spec.ciphers.clone(),
        resume: spec.resume,
        client_certificate: spec.cert.is_some(),
    }
}

/// Checks that an http URL comes with no choice of TLS that nothing uses, neither the load nor a
/// watched page. Accepting any certificate is a habit, and harmless.
///
/// # Errors
/// When it does; the message names the setting.
pub(crate) fn check_unused(spec: &RunSpec, url: &Url) -> Result<()> {
    if url.is_secure {
        return Ok(());
    }
    let has_secure_page = spec.watch.has_secure_page();
    let spec = &spec.tls;
    let of_load = [(SERVER_NAME, spec.server_name.is_some()), (TLS_RESUME, spec.resume)];
    let of_all = [
        (CA_FILE, spec.ca_file.is_some()),
        (CERT, spec.cert.is_some()),
        (KEY, spec.key.is_some()),
        (TLS_MIN, spec.min_version.is_some()),
        (TLS_MAX, spec.max_version.is_some()),
        (CIPHERS, !spec.ciphers.is_empty()),
    ];
    let of_all = of_all.into_iter().filter(|_| !has_secure_page);
    match of_all.chain(of_load).find(|(_, is_given)| *is_given) {
        Some((setting, _)) => {
            bail!("{setting} needs an https URL, and the URL is http; use https://")
        }
        None => Ok(()),
    }
}

/// Returns the setting that causes an error.
fn setting_of(error: &TlsConfigError, spec: &TlsSpec) -> Setting {
    match error {
        TlsConfigError::BadServerName(_) if spec.server_name.is_some() => SERVER_NAME,
        TlsConfigError::BadServerName(_) => URL,
        TlsConfigError::UnreadableCaFile { .. }
        | TlsConfigError::EmptyCaFile { .. }
        | TlsConfigError::BrokenCaFile { .. } => CA_FILE,
        TlsConfigError::NoVersion { .. } => TLS_MIN,
        TlsConfigError::UnknownCipher(_) | TlsConfigError::NoCipher { .. } => CIPHERS,
    }
}

/// The client's certificate with its key, if it has one.
fn identity(spec: &TlsSpec) -> Result<Planned<Option<ClientIdentity>>> {
    let Some(file) = &spec.cert else {
        if spec.key.is_some() {
            bail!("{KEY} needs {CERT}: give the file with the certificate of that key");
        }
        return Ok(Planned::of(None));
    };
    let certificates = file.read(CERT, SETTINGS_MAX_BYTES)?;
    let is_public = !ClientIdentity::is_secret(&certificates);
    let input = is_public.then(|| file.verify(InputRole::CertFile, &certificates)).transpose()?;
    let key = spec.key.as_ref().map(|file| file.read(KEY, SETTINGS_MAX_BYTES)).transpose()?;
    let key = key.as_ref().unwrap_or(&certificates);
    let identity = ClientIdentity::from_pem(&certificates, key);
    let identity = identity.map_err(|error| {
        let (setting, file) = match &spec.key {
            Some(key) if !error.is_of_certificate() => (KEY, key),
            _ => (CERT, file),
        };
        anyhow!("{setting} {}: {error}", shown(&file.path))
    })?;
    Ok(Planned::read(Some(identity), input.into_iter().collect()))
}

fn version(version: TlsVersion) -> weir_tls::TlsVersion {
    match version {
        TlsVersion::Tls12 => weir_tls::TlsVersion::Tls12,
        TlsVersion::Tls13 => weir_tls::TlsVersion::Tls13,
    }
}
