//! Flags of TLS of `weir serve`, and the files that they name.

use std::net::IpAddr;
use std::path::Path;

use anyhow::{Result, bail};
use weir_io::Endpoint;
use weir_runner::{SETTINGS_MAX_BYTES, read_input};
use weir_serve::{Identity, TlsConfig, TlsOptions};

use super::authority_file::AuthorityFile;
use crate::args::serve::ServerTlsArgs;

/// File of the authority's certificate, in the current directory.
const AUTHORITY_FILE: &str = "weir-serve-ca.pem";

impl ServerTlsArgs {
    /// Returns the configuration that the flags describe, and the file of weir's own authority, if
    /// there are any.
    ///
    /// # Errors
    /// When the flags do not fit together, or a file cannot be read or written.
    pub(super) fn config(
        &self,
        listen: &[Endpoint],
    ) -> Result<(Option<TlsConfig>, Option<AuthorityFile>)> {
        let (identity, own) = match (&self.cert, &self.key) {
            (Some(cert), Some(key)) => {
                (Identity::from_pem(&read("--cert", cert)?, &read("--key", key)?)?, None)
            }
            _ if self.tls => {
                let (identity, pem) = Identity::generate(&addresses(listen))?;
                (identity, Some(pem))
            }
            _ => {
                let given = [("--tls-ca", &self.tls_ca), ("--client-ca", &self.client_ca)];
                if let Some((flag, _)) = given.iter().find(|(_, path)| path.is_some()) {
                    bail!("{flag} needs TLS: add --tls");
                }
                return Ok((None, None));
            }
        };
        let client_ca = self.client_ca.as_deref().map(|path| read("--client-ca", path));
        let config = TlsConfig::new(TlsOptions {
            client_ca: client_ca.transpose()?,
            min: self.tls_min,
            max: self.tls_max,
            resumes: self.tls_resume,
            ..TlsOptions::new(identity)
        })?;
        let path = self.tls_ca.as_deref().unwrap_or(Path::new(AUTHORITY_FILE));
        let file = own.map(|pem| AuthorityFile::create(path, pem)).transpose()?;
        Ok((Some(config), file))
    }
}

/// Returns the addresses of TCP endpoints, which the own certificate has to name.
fn addresses(listen: &[Endpoint]) -> Vec<IpAddr> {
    let tcp = listen.iter().filter_map(|endpoint| match endpoint {
        Endpoint::Tcp(address) => Some(address.ip()),
        Endpoint::Unix(_) => None,
    });
    tcp.filter(|address| !address.is_unspecified()).collect()
}

fn read(flag: &str, path: &Path) -> Result<Vec<u8>> {
    read_input(flag, path, SETTINGS_MAX_BYTES)
}
