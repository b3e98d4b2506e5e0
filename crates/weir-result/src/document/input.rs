//! A file that a run read, by which it can be recognised when the run is repeated.

use serde::{Deserialize, Serialize};
use weir_text::Setting;
use weir_text::setting::{BODY, CA_FILE, CERT, GRPC_PROTO, LIST, REPLAY, ROWS, SCRIPT};

/// File that the run read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Input {
    /// Use of the file.
    pub role: InputRole,
    /// Path as the user named it.
    pub path: String,
    /// Length in bytes.
    pub bytes: u64,
    /// SHA-256 of the content, in hexadecimal.
    pub sha256: String,
}

/// Use of an input file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum InputRole {
    /// The script (`--script`).
    Script,
    /// The body of the requests (`--body`).
    Body,
    /// The list of requests (`--from`).
    List,
    /// The replayed log (`--replay`).
    Replay,
    /// The rows with values of templates (`--rows`).
    Rows,
    /// The schema of a method of gRPC (`--proto`).
    Proto,
    /// The certificates to trust (`--cacert`).
    CaFile,
    /// The client's certificate (`--cert`), if the file holds no private key.
    CertFile,
}

impl InputRole {
    /// Returns the setting that names the file.
    pub fn setting(self) -> Setting {
        match self {
            InputRole::Script => SCRIPT,
            InputRole::Body => BODY,
            InputRole::List => LIST,
            InputRole::Replay => REPLAY,
            InputRole::Rows => ROWS,
            InputRole::Proto => GRPC_PROTO,
            InputRole::CaFile => CA_FILE,
            InputRole::CertFile => CERT,
        }
    }
}
