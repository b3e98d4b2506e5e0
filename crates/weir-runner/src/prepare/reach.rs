//! The address to which wrk connects: the first one of the host that accepts a connection. If there
//! is none, the error has wrk's wording and comes before any load.

use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

use anyhow::{Result, anyhow};
use weir_io::Endpoint;

use crate::spec::url::Url;

/// Connect timeout of one address.
const PATIENCE: Duration = Duration::from_secs(5);

/// Returns the first address that accepts a connection.
///
/// # Errors
/// When the host has no address, or none accepts a connection; in wrk's wording.
pub(super) fn reach(url: &Url) -> Result<Endpoint> {
    let found = (url.host.as_str(), url.port()).to_socket_addrs();
    let addresses = found
        .map_err(|error| anyhow!("unable to resolve {} {}", place(url), lookup_reason(&error)))?;
    first_of(url, addresses)
}

/// Returns the first of `addresses`, the addresses of the URL's host, that accepts a connection.
///
/// # Errors
/// When none does; in wrk's wording.
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

/// Host and service as wrk prints them: the port if the URL has one, otherwise the scheme.
fn place(url: &Url) -> String {
    let service = url.port.map_or(url.scheme().to_owned(), |port| port.to_string());
    format!("{}:{service}", url.host)
}

/// The text of strerror(3), without the number that Rust appends.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

/// The text of gai_strerror(3), without the prefix that Rust adds.
fn lookup_reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.rsplit("information: ").next().unwrap_or_default().to_owned()
}
