//! Remote address of a connection: TCP or Unix socket.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The remote address of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// TCP over IPv4 or IPv6.
    Tcp(SocketAddr),
    /// A Unix stream socket (unix(7)); a path beginning with `@` names an abstract socket.
    Unix(PathBuf),
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Tcp(address) => address.fmt(f),
            Endpoint::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}
