//! Where wrk connects: the first address of the host that takes a connection. It says in its own
//! words when there is none, before any load.

use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

use anyhow::{Result, anyhow};
use weir_io::Endpoint;

use crate::target::Url;

/// Longest that one address may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// The first address that takes a connection.
///
/// # Errors
/// When the host has no address, or none takes a connection; in wrk's words.
pub(super) fn reach(url: &Url) -> Result<Endpoint> {
    let found = (url.host.as_str(), url.port()).to_socket_addrs();
    let addresses = found
        .map_err(|error| anyhow!("unable to resolve {} {}", place(url), lookup_reason(&error)))?;
    first_of(url, addresses)
}

/// The first of `addresses`, those of the URL's host, that takes a connection.
///
/// # Errors
/// When none does; in wrk's words.
pub(super) fn first_of(
    url: &Url,
    addresses: impl IntoIterator<Item = SocketAddr>,
) -> Result<Endpoint> {
    let mut last = io::ErrorKind::NotFound.into();
    for address in addresses {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(_closed) => return Ok(Endpoint::Tcp(address)),
            Err(error) => last = error,
        }
    }
    Err(anyhow!("unable to connect to {} {}", place(url), reason(&last)))
}

/// Host and service as wrk names them: the port as the URL has it, else the scheme.
fn place(url: &Url) -> String {
    let service = url.port.map_or(url.scheme().to_owned(), |port| port.to_string());
    format!("{}:{service}", url.host)
}

/// What strerror(3) says, without the number that Rust puts behind it.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

/// What gai_strerror(3) says, without what Rust puts before it.
fn lookup_reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.rsplit("information: ").next().unwrap_or_default().to_owned()
}
