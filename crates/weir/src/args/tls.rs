//! The flags of TLS: trust, the client's own certificate, and what is offered.

use std::path::PathBuf;

use clap::Args;
use weir_result::TlsVersion;
use weir_runner::{InputFile, TlsSpec};

use super::choices::{SWITCH, one_of};

/// Heading of the flags.
pub(super) const HEADING: &str = "TLS and credentials";

/// The flags of TLS.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = HEADING)]
pub(crate) struct TlsArgs {
    /// Do not verify the server's certificate (ab's -k, keep-alive, is the default)
    #[arg(short = 'k', long)]
    insecure: bool,
    /// Trust only the certificates in this PEM file
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    cacert: Option<PathBuf>,
    /// The client's certificate and its chain, as PEM, for servers that require one
    #[arg(long, value_name = "FILE")]
    cert: Option<PathBuf>,
    /// Its private key, as PEM, not encrypted [default: in the file of --cert]
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Server name to send in the handshake and to check the certificate for; the Host header stays
    /// [default: the URL's host]
    #[arg(long, value_name = "NAME")]
    sni: Option<String>,
    /// Lowest version of TLS to offer [default: 1.2]
    #[arg(long, value_name = "1.2|1.3")]
    tls_min: Option<TlsVersion>,
    /// Highest version of TLS to offer [default: 1.3]
    #[arg(long, value_name = "1.2|1.3")]
    tls_max: Option<TlsVersion>,
    /// Ciphers to offer, the preferred first, by the names of OpenSSL or IANA, with commas or
    /// colons [default: all that are known]
    #[arg(long, value_name = "LIST")]
    ciphers: Option<String>,
    /// Resume TLS sessions: each connection keeps its own when it is renewed, as a client that
    /// returns [default: off, each connection is a new client]
    #[arg(long, value_parser = one_of(SWITCH), value_name = "off|on")]
    tls_resume: Option<bool>,
}

impl TlsArgs {
    /// Returns the specification.
    pub(crate) fn spec(&self) -> TlsSpec {
        let ciphers = self.ciphers.iter().flat_map(|list| list.split([',', ':']));
        TlsSpec {
            insecure: self.insecure,
            ca_file: self.cacert.clone().map(InputFile::at),
            cert: self.cert.clone().map(InputFile::at),
            key: self.key.clone().map(InputFile::at),
            server_name: self.sni.clone(),
            min_version: self.tls_min,
            max_version: self.tls_max,
            ciphers: ciphers.map(|name| name.trim().to_owned()).collect(),
            resume: self.tls_resume == Some(true),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::super::Cli;
    use super::*;

    fn spec(words: &str) -> TlsSpec {
        let words = format!("weir {words} https://h/");
        let argv: Vec<OsString> = words.split(' ').map(OsString::from).collect();
        Cli::of_words(argv).expect("valid flags").run.spec([]).tls
    }

    #[test]
    fn flags_of_tls_are_fields_of_the_specification() {
        assert_eq!(spec("-q"), TlsSpec::default());
        let all = "--cert c.pem --key k.pem --sni a.test --tls-min 1.2 --tls-max 1.3 \
                   --ciphers A:B,C --tls-resume on -k";
        let expected = TlsSpec {
            insecure: true,
            ca_file: None,
            cert: Some(InputFile::at("c.pem")),
            key: Some(InputFile::at("k.pem")),
            server_name: Some("a.test".to_owned()),
            min_version: Some(TlsVersion::Tls12),
            max_version: Some(TlsVersion::Tls13),
            ciphers: ["A", "B", "C"].map(str::to_owned).to_vec(),
            resume: true,
        };
        assert_eq!(spec(all), expected);
        assert!(!spec("--tls-resume off").resume);
        assert_eq!(spec("--cacert a.pem").ca_file, Some(InputFile::at("a.pem")));
    }

    #[test]
    fn versions_are_those_that_are_offered() {
        for wrong in ["1.1", "1.4", "tls1.2", "3"] {
            let words = ["weir", "--tls-min", wrong, "https://h/"];
            let error = Cli::of_words(words).expect_err(wrong).to_string();
            assert!(error.contains("must be 1.2 or 1.3"), "{error}");
        }
    }
}
