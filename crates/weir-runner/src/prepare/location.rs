//! The location of a target, found without a load: its addresses, and the machine that has them.

use std::io;
use std::net::{SocketAddr, UdpSocket};

use anyhow::Context;
use weir_io::Endpoint;
use weir_machine::Root;

use crate::errors::Error;
use crate::prepare::addresses;
use crate::spec::TargetSpec;
use crate::spec::url::Url;

/// The location of a URL's server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// Scheme, host and port as in the URL, without credentials, path and query.
    pub origin: String,
    /// Address of the host; the first one that the resolver returns.
    pub endpoint: Endpoint,
    /// True if the address is one of this machine; `None` if that cannot be determined.
    pub is_local: Option<bool>,
}

impl Location {
    /// Resolves the host of a target. Nothing is sent to it.
    ///
    /// # Errors
    /// When the URL is wrong, or its host has no address.
    pub fn of(target: &TargetSpec) -> Result<Location, Error> {
        let url = Url::of(target)?;
        let endpoints = url.resolve(target.unix.as_deref()).map_err(anyhow::Error::from)?;
        let endpoints = addresses::of_family(&url.host, endpoints, target.family)?;
        let endpoint = endpoints.into_iter().next().context("the host has no address")?;
        Ok(Location {
            origin: format!("{}://{}", url.scheme(), url.authority()),
            is_local: is_local(&endpoint),
            endpoint,
        })
    }
}

/// True if the server's address is one of this machine; `None` if that cannot be determined.
pub(crate) fn is_local(endpoint: &Endpoint) -> Option<bool> {
    let Endpoint::Tcp(address) = endpoint else { return Some(true) };
    if address.ip().is_loopback() {
        return Some(true);
    }
    let family = if address.is_ipv4() { "ipv4" } else { "ipv6" };
    let may_bind_any = Root::machine().text(&format!("proc/sys/net/{family}/ip_nonlocal_bind"));
    if may_bind_any.is_ok_and(|text| text != "0") {
        return None;
    }
    is_own(*address)
}

/// True if this machine has an address; `None` if that cannot be determined. It binds a datagram
/// socket, which takes no port from the load and sends nothing: the bind only checks the address.
pub(crate) fn is_own(mut address: SocketAddr) -> Option<bool> {
    // Any port will do.
    address.set_port(0);
    match UdpSocket::bind(address) {
        Ok(_) => Some(true),
        Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => Some(false),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::errors::ErrorCause;

    fn of(url: &str) -> Result<Location, Error> {
        Location::of(&TargetSpec { url: url.to_owned(), ..TargetSpec::default() })
    }

    #[test]
    fn a_location_has_no_secrets() {
        let location = of("http://me:secret@127.0.0.1:8080/path?token=1").expect("an address");
        assert_eq!(location.origin, "http://127.0.0.1:8080");
        assert_eq!(location.endpoint, Endpoint::Tcp(([127, 0, 0, 1], 8080).into()));
        assert_eq!(location.is_local, Some(true));
    }

    #[test]
    fn errors_are_the_users_or_the_servers() {
        let kind = |url| of(url).expect_err("no location").kind;
        assert_eq!(kind("ftp://h/"), ErrorCause::Usage);
        assert_eq!(kind("http://no-such-host.invalid/"), ErrorCause::NoServer);
    }

    #[test]
    fn what_is_local() {
        let check = |endpoint: Endpoint, expected| assert_eq!(is_local(&endpoint), expected);
        check(Endpoint::Unix("/run/a.sock".into()), Some(true));
        check(Endpoint::Tcp("127.9.9.9:80".parse().expect("valid")), Some(true));
        check(Endpoint::Tcp("[::1]:80".parse().expect("valid")), Some(true));
        // TEST-NET-2 (RFC 5737) is assigned to no host.
        let elsewhere = is_local(&Endpoint::Tcp("198.51.100.7:80".parse().expect("valid")));
        assert_ne!(elsewhere, Some(true));
    }
}
