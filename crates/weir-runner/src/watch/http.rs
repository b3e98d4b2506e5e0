//! Pages beside the load, over HTTP/1.1: blocking, with a limit of each exchange, on one connection
//! that stays open. Requests are counted, because a watched server counts them too.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;

use anyhow::Result;
use weir_http::{BodyBudget, Http1, Interest, RequestTraits, SingleExchange};
use weir_io::{Endpoint, Epoll};
use weir_tls::TlsConfig;

use crate::link::{Link, is_late};
use crate::patience::{Over, Patience, text_of};
use crate::prepare::tls;
use crate::spec::TlsSpec;
use crate::spec::credentials;
use crate::spec::url::Url;

/// Maximum bytes of a response.
const RESPONSE_MAX_BYTES: usize = 16 << 20;

/// Maximum interim responses (1xx, RFC 9110 §15.2) before a response.
const INTERIM_MAX: u64 = 16;

/// A status page.
#[derive(Debug)]
pub(super) struct StatusPage {
    pub(super) site: Site,
    request: Vec<u8>,
}

impl StatusPage {
    /// Resolves a URL; `choices` are for TLS. Sends nothing.
    ///
    /// # Errors
    /// When it is no http or https URL, its host has no address, or a file of TLS cannot be used.
    pub(super) fn of(url: &str, choices: &TlsSpec) -> Result<StatusPage> {
        let mut site = Site::of(url, choices)?;
        site.resolve()?;
        let request = site.head("GET", &site.url.path, "weir-watch") + "Accept: */*\r\n\r\n";
        Ok(StatusPage { site, request: request.into_bytes() })
    }

    /// True if both pages are on the same host and port.
    pub(super) fn is_beside(&self, other: &StatusPage) -> bool {
        let others = &other.site.addresses;
        self.site.addresses.iter().any(|address| others.contains(address))
    }

    /// Reads the page.
    ///
    /// # Errors
    /// When it cannot be read, or the status is not 200.
    pub(super) fn read(&mut self, patience: &Patience) -> io::Result<String> {
        match self.site.exchange(&self.request, patience)? {
            (200, body) => Ok(String::from_utf8_lossy(&body).into_owned()),
            (status, _) => Err(io::Error::other(format!("the page has status {status}"))),
        }
    }
}

/// The server of a URL, and a connection to it that is opened when it is needed.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) url: Url,
    /// Value of the header `Authorization`, which each request carries if the URL has a user.
    pub(crate) authorization: Option<String>,
    /// TLS of an https URL.
    tls: Option<TlsConfig>,
    /// Empty until the host is resolved.
    pub(crate) addresses: Vec<SocketAddr>,
    link: Option<Link<Epoll>>,
    /// Requests so far.
    pub(super) sent: u64,
}

impl Site {
    /// Parses a URL; `choices` are for TLS. Resolves nothing.
    ///
    /// # Errors
    /// When it is no http or https URL, or a file of TLS cannot be used.
    pub(crate) fn of(url: &str, choices: &TlsSpec) -> Result<Site> {
        let (plain, userinfo) = credentials::split_userinfo(url);
        let url = Url::of_page(&plain)?;
        let config = || tls::config(choices, &url, &[b"http/1.1"]).map(|config| config.value);
        let tls = url.is_secure.then(config).transpose()?;
        let userinfo = userinfo.filter(|userinfo| !userinfo.is_empty());
        let authorization =
            userinfo.map(|userinfo| credentials::basic(&credentials::decoded(userinfo)));
        Ok(Site { url, authorization, tls, addresses: Vec::new(), link: None, sent: 0 })
    }

    /// Resolves the host.
    ///
    /// # Errors
    /// When it has no address.
    pub(crate) fn resolve(&mut self) -> Result<()> {
        for endpoint in self.url.resolve(None)? {
            let Endpoint::Tcp(address) = endpoint else { continue };
            self.addresses.push(address);
        }
        Ok(())
    }

    /// Begins the head of a request.
    pub(crate) fn head(&self, method: &str, path: &str, agent: &str) -> String {
        let authority = self.url.authority();
        let version = env!("CARGO_PKG_VERSION");
        let user = self.authorization.iter().map(|value| format!("Authorization: {value}\r\n"));
        let user: String = user.collect();
        let agent = format!("{agent}/{version}");
        format!("{method} {path} HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: {agent}\r\n{user}")
    }

    /// Sends a request, and returns the status and the body of its response.
    ///
    /// # Errors
    /// When there is no complete response, or not in time.
    pub(crate) fn exchange(
        &mut self,
        request: &[u8],
        patience: &Patience,
    ) -> io::Result<(u16, Vec<u8>)> {
        let mut link = match self.link.take().and_then(Link::if_idle) {
            Some(link) => link,
            None => self.connect(patience)?,
        };
        link.set_patience(patience.clone());
        self.sent += 1;
        let mut exchange = exchange_of(request);
        let ended = link.exchange(&mut exchange, |exchange, _, _| is_too_much(exchange));
        ended.map_err(|error| in_words(error, patience))?;
        let (status, body) = page_of(&exchange)?;
        self.link = exchange.is_reusable().then_some(link);
        Ok((status, body))
    }

    fn connect(&self, patience: &Patience) -> io::Result<Link<Epoll>> {
        let authority = self.url.authority();
        let mut failure = io::Error::other(format!("{authority} has no address"));
        for address in &self.addresses {
            match self.connect_to(address, patience) {
                Ok(link) => return Ok(link),
                Err(error) => {
                    let text = format!("cannot connect to {authority}: {error}");
                    failure = io::Error::new(error.kind(), text);
                }
            }
        }
        Err(failure)
    }

    /// Connects, and performs the handshake of TLS. The connection may move to another thread, as
    /// that of a watch does, because epoll has no state of the thread.
    fn connect_to(&self, address: &SocketAddr, patience: &Patience) -> io::Result<Link<Epoll>> {
        patience.left().map_err(words_of)?;
        let link = Link::open(None, &Endpoint::Tcp(*address), patience.clone());
        let mut link = link.map_err(|error| match is_late(&error) {
            true => io::Error::new(ErrorKind::TimedOut, "connection timed out"),
            false => error,
        })?;
        link.require_close_notify();
        if let Some(config) = &self.tls {
            link.complete_handshake(config).map_err(|error| in_words(error, patience))?;
        }
        Ok(link)
    }
}

/// Returns the exchange of the bytes of a request, which keeps the page.
fn exchange_of(request: &[u8]) -> SingleExchange {
    let mut protocol = Http1::new(1);
    protocol.set_interest(Interest::Body, &BodyBudget::new(RESPONSE_MAX_BYTES));
    SingleExchange::http1(protocol, request.into(), RequestTraits::default())
}

/// True if the response is longer than any page.
fn is_too_much(exchange: &SingleExchange) -> bool {
    let is_long = exchange.progress().received_bytes > RESPONSE_MAX_BYTES;
    is_long || exchange.interim_responses() > INTERIM_MAX
}

/// Returns the status and the body of the response.
///
/// # Errors
/// When it is too long.
fn page_of(exchange: &SingleExchange) -> io::Result<(u16, Vec<u8>)> {
    if exchange.interim_responses() > INTERIM_MAX {
        let count = format!("more than {INTERIM_MAX} interim responses (1xx)");
        return Err(io::Error::other(count + " before the final one"));
    }
    match exchange.response() {
        Some(response) if exchange.progress().is_complete && !response.is_cut => {
            Ok((response.status, response.body.to_vec()))
        }
        _ => Err(io::Error::other("the response is longer than 16 MiB")),
    }
}

/// The error of an exchange, which names the limit that it has reached.
fn in_words(error: io::Error, patience: &Patience) -> io::Error {
    match patience.left() {
        Err(over) if is_late(&error) => words_of(over),
        _ => error,
    }
}

fn words_of(over: Over) -> io::Error {
    io::Error::other(match over {
        Over::Late(limit) => format!("no complete response within {}", text_of(limit)),
        Over::Signal => over.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::InputFile;

    #[test]
    fn responses_have_limits() {
        let interim = |count| "HTTP/1.1 100 Continue\r\n\r\n".repeat(count);
        let last = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na";
        let receive = |text: String| {
            let mut exchange = exchange_of(b"");
            exchange.receive(text.as_bytes(), 0).expect("valid");
            (is_too_much(&exchange), page_of(&exchange).map_err(|error| error.to_string()))
        };
        assert_eq!(receive(interim(16) + last), (false, Ok((200, b"a".to_vec()))));
        let error = "more than 16 interim responses (1xx) before the final one".to_owned();
        for text in [interim(17), interim(17) + last] {
            assert_eq!(receive(text), (true, Err(error.clone())));
        }
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", 1 << 25);
        let error = "the response is longer than 16 MiB".to_owned();
        assert_eq!(receive(head + &"a".repeat(1 << 24)), (true, Err(error)));
    }

    #[test]
    fn urls_are_checked_before_anything_is_sent() {
        let choices = TlsSpec::default();
        let error = StatusPage::of("ws://h/", &choices).expect_err("no HTTP").to_string();
        assert!(error.contains("use http or https"), "{error}");
        let missing = TlsSpec { ca_file: Some(InputFile::at("/no/such/file")), ..choices.clone() };
        let error =
            StatusPage::of("https://127.0.0.1:1/", &missing).expect_err("no file").to_string();
        assert!(error.contains("`tls.ca_file`"), "{error}");
        let page = StatusPage::of("http://me:p@127.0.0.1:1/s?a=b", &choices).expect("an address");
        let request = String::from_utf8(page.request.clone()).expect("text");
        assert!(request.contains("Authorization: Basic bWU6cA=="), "{request}");
        assert!(request.contains("Host: 127.0.0.1:1\r\n"), "{request}");
        assert_eq!((page.site.url.path.as_str(), page.site.sent), ("/s?a=b", 0));
    }
}
