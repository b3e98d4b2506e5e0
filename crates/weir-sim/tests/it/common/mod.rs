//! The request and the endpoint of every test client.

use std::net::{Ipv4Addr, SocketAddr};

use weir_io::Endpoint;

/// A request.
pub(crate) const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: sim\r\n\r\n";

/// Returns the endpoint that the client connects to.
pub(crate) fn endpoint() -> Endpoint {
    Endpoint::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 80)))
}
