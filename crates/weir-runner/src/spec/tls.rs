//! Trust in the server's certificate.

use serde::{Deserialize, Serialize};

use super::InputFile;

/// Trust in the server's certificate over https.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsSpec {
    /// True if the certificate is not verified.
    #[serde(default)]
    pub insecure: bool,
    /// PEM file of the only certificates to trust; absent: those of the system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<InputFile>,
}
