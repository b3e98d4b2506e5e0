//! The target of the measurement that is prepared. Its name was resolved by the caller.

use std::net::SocketAddr;

use serde::Serialize;

/// The server that a load would go to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TargetServer {
    /// Scheme, host and port, without credentials, path and query: `http://localhost:8080`.
    pub url: String,
    /// Address that the host's name resolves to; the first of several.
    pub address: SocketAddr,
    /// True if the address is one of this machine; `None` if that is unknown.
    pub is_local: Option<bool>,
}
