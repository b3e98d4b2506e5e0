//! The location of a target, found without a load: its addresses, and the machine that has them.

use anyhow::Context;
use weir_io::Endpoint;

use crate::errors::Error;
use crate::prepare::addresses;
use crate::run::health::network::is_local;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::errors::ErrorKind;

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
        let kind = |url| of(url).expect_err("no location").kind();
        assert_eq!(kind("ftp://h/"), ErrorKind::Usage);
        assert_eq!(kind("http://no-such-host.invalid/"), ErrorKind::NoServer);
    }
}
