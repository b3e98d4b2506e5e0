//! The target: a URL's parts, the addresses to connect to, and the path to request.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::path::Path;

use anyhow::{Context, Result, bail};
use weir_io::Endpoint;
use weir_result::Target;
use weir_text::setting::USER;

use crate::errors::NoServer;
use crate::spec::credentials::split_userinfo;
use crate::spec::{RunSpec, TargetSpec};

/// A parsed URL (RFC 3986, RFC 9110 §4.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Url {
    /// True for https and wss.
    pub(crate) is_secure: bool,
    /// True for ws and wss (RFC 6455 §3).
    pub(crate) is_websocket: bool,
    /// Host without the brackets of an IPv6 literal.
    pub(crate) host: String,
    /// Port, if the URL names one.
    pub(crate) port: Option<u16>,
    /// Path and query in origin form, beginning with `/`.
    pub(crate) path: String,
}

impl Url {
    /// Parses the URL of a target, without the user name and password in it.
    ///
    /// # Errors
    /// As [`Url::parse`].
    pub(crate) fn of(target: &TargetSpec) -> Result<Url> {
        Url::parse(&split_userinfo(&target.url).0)
    }

    /// Parses the URL of a page, which is requested over HTTP.
    ///
    /// # Errors
    /// As [`Url::parse`], and for other schemes than http and https.
    pub(crate) fn of_page(text: &str) -> Result<Url> {
        let (scheme, _) = text.split_once("://").unwrap_or(("http", text));
        if !matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https") {
            bail!("unsupported scheme {scheme:?} in {text:?}; use http or https");
        }
        Url::parse(text)
    }

    /// Parses `text`. A missing scheme means http, as in browsers and curl.
    ///
    /// # Errors
    /// When it is no URL that weir can load; the message contains the reason.
    pub(crate) fn parse(text: &str) -> Result<Url> {
        let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
        let (is_secure, is_websocket) = match scheme.to_ascii_lowercase().as_str() {
            "http" => (false, false),
            "https" => (true, false),
            "ws" => (false, true),
            "wss" => (true, true),
            _ => bail!("unsupported scheme {scheme:?} in {text:?}; use http, https, ws or wss"),
        };
        // The fragment is for the client alone and never sent (RFC 9110 §7.1).
        let rest = rest.split('#').next().unwrap_or_default();
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        if authority.contains('@') {
            bail!("the URL has a user name here: give it with {USER} USER:PASS");
        }
        let split = split_port(authority).with_context(|| format!("in {text:?}"));
        if split.is_err() && text.contains('@') {
            // The text before the `@` may be a password, which is not printed.
            bail!(
                "the URL's user name or password has '/', '?' or '#': write them as %2F, %3F and \
                 %23, or give {USER} USER:PASS"
            );
        }
        let (host, port) = split?;
        if host.is_empty() {
            bail!("the URL has no host: write http://HOST[:PORT]/PATH, not {text:?}");
        }
        if !host.is_ascii() {
            bail!(
                "the host {host:?} has letters beyond ASCII: write its ASCII form, which begins \
                 with xn--; python3 -c \"print('{host}'.encode('idna').decode())\" prints it"
            );
        }
        let slash = if path.starts_with('/') { "" } else { "/" };
        let path = format!("{slash}{}", encode(path));
        let host = host.to_owned();
        Ok(Url { is_secure, is_websocket, host, port, path })
    }

    /// Scheme and authority: `http://HOST[:PORT]`, without the scheme's default port.
    pub(crate) fn origin(&self) -> String {
        let default = if self.is_secure { 443 } else { 80 };
        let url = Url { port: self.port.filter(|port| *port != default), ..self.clone() };
        format!("{}://{}", url.scheme(), url.authority().to_ascii_lowercase())
    }

    /// `http`, `https`, `ws` or `wss`.
    pub(crate) fn scheme(&self) -> &'static str {
        match (self.is_websocket, self.is_secure) {
            (false, false) => "http",
            (false, true) => "https",
            (true, false) => "ws",
            (true, true) => "wss",
        }
    }

    /// The port to connect to: the URL's, or the scheme's default.
    pub(crate) fn port(&self) -> u16 {
        self.port.unwrap_or(if self.is_secure { 443 } else { 80 })
    }

    /// True if the host is a name, not an address.
    pub(crate) fn has_name(&self) -> bool {
        self.host.parse::<IpAddr>().is_err()
    }

    /// The value of the Host header, as written in the URL.
    pub(crate) fn authority(&self) -> String {
        let host = match self.host.contains(':') {
            true => format!("[{}]", self.host),
            false => self.host.clone(),
        };
        match self.port {
            Some(port) => format!("{host}:{port}"),
            None => host,
        }
    }

    /// Resolves the addresses, or returns the socket at `unix`.
    ///
    /// # Errors
    /// When the host has no address.
    pub(crate) fn resolve(&self, unix: Option<&Path>) -> Result<Vec<Endpoint>, NoServer> {
        if let Some(path) = unix {
            return Ok(vec![Endpoint::Unix(path.to_owned())]);
        }
        let failed = |reason: &str| {
            NoServer(format!("the host {:?} of the URL cannot be resolved: {reason}", self.host))
        };
        let addresses: Vec<SocketAddr> = (self.host.as_str(), self.port())
            .to_socket_addrs()
            .map_err(|error| failed(&error.to_string()))?
            .collect();
        if addresses.is_empty() {
            return Err(failed("it has no address"));
        }
        Ok(addresses.into_iter().map(Endpoint::Tcp).collect())
    }

    /// Returns the address of the host where it is an address, else one in its place that no host
    /// has (RFC 5737): other machines resolve the name.
    pub(crate) fn address_elsewhere(&self, unix: Option<&Path>) -> Endpoint {
        match unix {
            Some(path) => Endpoint::Unix(path.to_owned()),
            None => {
                let address = self.host.parse().unwrap_or(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)));
                Endpoint::Tcp(SocketAddr::new(address, self.port()))
            }
        }
    }

    /// The target as written in the plan.
    pub(crate) fn target(&self, endpoint: &Endpoint) -> Target {
        Target {
            scheme: self.scheme().to_owned(),
            host: self.host.clone(),
            port: self.port(),
            path: self.path.clone(),
            address: endpoint.to_string(),
        }
    }
}

/// Splits `HOST[:PORT]` into the host, without brackets, and the port.
pub(crate) fn split_port(authority: &str) -> Result<(&str, Option<u16>)> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']').context("an IPv6 host lacks its ]")?;
            (host, port.strip_prefix(':'))
        }
        None => match authority.split_once(':') {
            Some((_, port)) if port.contains(':') => {
                bail!("an IPv6 host belongs in brackets: http://[::1]:8080/, not {authority}")
            }
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let port = match port {
        None | Some("") => None,
        Some(port) => match port.parse() {
            Ok(0) | Err(_) => bail!("the port {port:?} is not a number from 1 to 65535"),
            Ok(port) => Some(port),
        },
    };
    Ok((host, port))
}

/// Percent-encodes the bytes that a request target must not contain (RFC 3986 §2).
fn encode(path: &str) -> String {
    let mut encoded = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'!'..=b'~' if !b"\"<>\\^`{|}".contains(&byte) => encoded.push(char::from(byte)),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

impl RunSpec {
    /// Returns host and port of each server that the load connects to, as it names them; none for a
    /// Unix socket.
    ///
    /// # Errors
    /// When one is malformed.
    pub(crate) fn hosts(&self) -> Result<Vec<(String, u16)>> {
        if self.target.unix.is_some() || self.target.url.is_empty() {
            return Ok(Vec::new());
        }
        let url = Url::of(&self.target)?;
        let named = self.connection.destinations.iter().map(|text| {
            let (host, port) = split_port(text)?;
            Ok((host.to_owned(), port.unwrap_or_else(|| url.port())))
        });
        match self.connection.destinations.is_empty() {
            true => Ok(vec![(url.host.clone(), url.port())]),
            false => named.collect(),
        }
    }
}

impl TargetSpec {
    /// Returns the target of a URL.
    pub fn of(url: &str) -> TargetSpec {
        TargetSpec { url: split_userinfo(url).0, ..TargetSpec::default() }
    }

    /// Returns host and port of the URL; `None` for one that cannot be parsed.
    pub fn host_and_port(&self) -> Option<(String, u16)> {
        let url = Url::of(self).ok()?;
        Some((url.host.clone(), url.port()))
    }

    /// Returns the port of the URL; `None` for a Unix socket or a URL that cannot be parsed.
    pub fn port(&self) -> Option<u16> {
        let url = Url::of(self).ok().filter(|_| self.unix.is_none());
        url.map(|url| url.port())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, host: &str, port: Option<u16>, path: &str) {
        let url = Url::parse(text).expect(text);
        let scheme = text.split("://").next().unwrap_or_default();
        let is_secure = scheme.ends_with('s');
        let is_websocket = scheme.starts_with('w');
        let is_secure = is_secure && scheme != "ws";
        let host = host.to_owned();
        let path = path.to_owned();
        assert_eq!(url, Url { is_secure, is_websocket, host, port, path }, "{text}");
    }

    #[test]
    fn urls_are_taken_apart() {
        check("http://localhost/", "localhost", None, "/");
        check("http://localhost", "localhost", None, "/");
        check("HTTP://h:8080/a/b?c=d#e", "h", Some(8080), "/a/b?c=d");
        check("http://h?x=1", "h", None, "/?x=1");
        check("http://[::1]:80/x", "::1", Some(80), "/x");
        check("localhost:8080/x", "localhost", Some(8080), "/x");
        check("http://h/a b\"é", "h", None, "/a%20b%22%C3%A9");
        check("http://h/100%25", "h", None, "/100%25");
        check("https://h/x", "h", None, "/x");
        check("ws://h:1/x", "h", Some(1), "/x");
        check("wss://h/x", "h", None, "/x");
    }

    #[test]
    fn each_scheme_has_its_port() {
        for (text, port) in
            [("http://h", 80), ("https://h", 443), ("https://h:8443", 8443), ("wss://h", 443)]
        {
            assert_eq!(Url::parse(text).expect(text).port(), port);
        }
    }

    #[test]
    fn invalid_urls_are_errors() {
        for (text, part) in [
            ("ftp://h/", "unsupported scheme \"ftp\""),
            ("http://", "no host"),
            ("http://:80/", "no host"),
            ("http://h:0/", "not a number from 1"),
            ("http://h:x/", "not a number from 1"),
            ("http://::1/", "belongs in brackets"),
            ("http://[::1/", "lacks its ]"),
            ("http://bücher.example/", "which begins with xn--; python3 -c"),
            ("http://me:secret@h/", "`request.basic_auth` USER:PASS"),
            ("http://me:sec/ret@h/", "%2F"),
            ("http://me:sec#ret@h/", "%23"),
        ] {
            let error = format!("{:#}", Url::parse(text).expect_err(text));
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn the_host_header_is_as_the_url_has_it() {
        for (text, authority) in
            [("http://h", "h"), ("http://h:80", "h:80"), ("http://[::1]:8080", "[::1]:8080")]
        {
            assert_eq!(Url::parse(text).expect(text).authority(), authority);
        }
    }
}
