//! Flags of TLS of `weir serve`, and the files that they name.

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use weir_io::Endpoint;
use weir_serve::{Identity, TlsConfig, TlsOptions, TlsVersion};

use super::authority_file::AuthorityFile;
use crate::args::choices::Switch;
use crate::terminal::shown;

/// File of the authority's certificate, in the current directory.
const AUTHORITY_FILE: &str = "weir-serve-ca.pem";

/// Flags of TLS.
#[derive(Debug, Args)]
pub(super) struct TlsArgs {
    /// Serve https, with a new certificate for localhost and a new authority that signs it
    #[arg(long, help_heading = "TLS")]
    tls: bool,
    /// File for the authority's certificate, removed at exit [default: weir-serve-ca.pem]
    #[arg(long, value_name = "FILE", conflicts_with = "cert", help_heading = "TLS")]
    tls_ca: Option<PathBuf>,
    /// Serve https with this certificate chain (PEM)
    #[arg(long, value_name = "FILE", requires = "key", help_heading = "TLS")]
    cert: Option<PathBuf>,
    /// Key of --cert (PEM)
    #[arg(long, value_name = "FILE", requires = "cert", help_heading = "TLS")]
    key: Option<PathBuf>,
    /// Require client certificates signed by an authority in this file (PEM)
    #[arg(long, value_name = "FILE", help_heading = "TLS")]
    client_ca: Option<PathBuf>,
    /// Oldest version of TLS
    #[arg(long, value_name = "1.2|1.3", default_value = "1.2", help_heading = "TLS")]
    tls_min: TlsVersion,
    /// Newest version of TLS
    #[arg(long, value_name = "1.2|1.3", default_value = "1.3", help_heading = "TLS")]
    tls_max: TlsVersion,
    /// Give tickets with which clients resume sessions instead of full handshakes
    #[arg(
        long,
        value_name = "off|on",
        default_value = "off",
        hide_possible_values = true,
        help_heading = "TLS"
    )]
    tls_resume: Switch,
}

impl TlsArgs {
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
            resumes: self.tls_resume == Switch::On,
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
    fs::read(path).with_context(|| format!("failed to read {flag} {}", shown(path)))
}
