//! A small HTTP/1.1 client beside the load: blocking, with a limit of each exchange, on one
//! connection that stays open. It counts the requests, because a watched server counts them too.

use std::io;
use std::net::SocketAddr;

use anyhow::Result;
use weir_http::{BodyBudget, Http1, Interest, RequestTraits};
use weir_io::Endpoint;
use weir_tls::TlsConfig;

use super::channel::{Channel, in_words};
use crate::patience::Patience;
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
    channel: Option<Channel>,
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
        let config = || tls::config(choices, &url, &[b"http/1.1"], &mut Vec::new());
        let tls = url.is_secure.then(config).transpose()?;
        let userinfo = userinfo.filter(|userinfo| !userinfo.is_empty());
        let authorization =
            userinfo.map(|userinfo| credentials::basic(&credentials::decoded(userinfo)));
        let (addresses, channel) = (Vec::new(), None);
        Ok(Site { url, authorization, tls, addresses, channel, sent: 0 })
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
        let (authority, version) = (self.url.authority(), env!("CARGO_PKG_VERSION"));
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
        let mut channel = match self.channel.take().and_then(Channel::if_open) {
            Some(channel) => channel,
            None => self.connect(patience)?,
        };
        self.sent += 1;
        channel.send(request, patience)?;
        let mut response = PageResponse::default();
        let mut bytes = Vec::new();
        loop {
            // Also if the bytes never pause.
            patience.left().map_err(in_words)?;
            channel.receive(&mut bytes, patience)?;
            if let Some((status, body, is_kept)) = response.receive(&bytes)? {
                self.channel = is_kept.then_some(channel);
                return Ok((status, body));
            }
            bytes.clear();
        }
    }

    fn connect(&self, patience: &Patience) -> io::Result<Channel> {
        let authority = self.url.authority();
        let mut failure = io::Error::other(format!("{authority} has no address"));
        for address in &self.addresses {
            match Channel::connect(address, self.tls.as_ref(), patience) {
                Ok(channel) => return Ok(channel),
                Err(error) => {
                    let text = format!("cannot connect to {authority}: {error}");
                    failure = io::Error::new(error.kind(), text);
                }
            }
        }
        Err(failure)
    }
}

/// A response that arrives.
struct PageResponse {
    protocol: Http1,
    received: usize,
}

impl Default for PageResponse {
    fn default() -> PageResponse {
        let mut protocol = Http1::new(1);
        protocol.set_interest(Interest::Body, &BodyBudget::new(RESPONSE_MAX_BYTES));
        protocol.request(RequestTraits::default());
        PageResponse { protocol, received: 0 }
    }
}

impl PageResponse {
    /// Receives the next bytes; none are the end of the stream. Returns status and body once the
    /// response is complete, and true if the connection can carry another request.
    fn receive(&mut self, bytes: &[u8]) -> io::Result<Option<(u16, Vec<u8>, bool)>> {
        let (protocol, mut events) = (&mut self.protocol, Vec::new());
        let read = match bytes {
            [] => protocol.end_of_stream(&mut events),
            bytes => protocol.receive(bytes, &mut events),
        };
        self.received += bytes.len();
        if protocol.interim_responses() > INTERIM_MAX {
            let count = format!("more than {INTERIM_MAX} interim responses (1xx)");
            return Err(io::Error::other(count + " before the final one"));
        }
        let Some(event) = events.first() else {
            read.map_err(io::Error::other)?;
            if bytes.is_empty() {
                return Err(io::Error::other("the connection was closed before a response"));
            }
            return if self.received > RESPONSE_MAX_BYTES { Err(too_long()) } else { Ok(None) };
        };
        let response = protocol.response(0);
        let is_kept = !event.closes && read.is_ok() && !bytes.is_empty();
        match response.is_cut {
            true => Err(too_long()),
            false => Ok(Some((event.status, response.body.to_vec(), is_kept))),
        }
    }
}

fn too_long() -> io::Error {
    io::Error::other("the response is longer than 16 MiB")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::InputFile;

    #[test]
    fn responses_end_where_their_framing_says() {
        // Each in one piece and byte by byte, and then the end of the stream.
        let check = |text: &str, expected: Option<(&str, bool)>| {
            for piece in [text.len(), 1] {
                let mut response = PageResponse::default();
                let mut pieces = text.as_bytes().chunks(piece).chain([&b""[..]]);
                let found = pieces.find_map(|bytes| response.receive(bytes).transpose());
                let found = found.and_then(Result::ok);
                let found = found
                    .map(|(_, body, is_kept)| (String::from_utf8(body).expect("text"), is_kept));
                let expected = expected.map(|(body, is_kept)| (body.to_owned(), is_kept));
                assert_eq!(found, expected, "{text}");
            }
        };
        check("HTTP/1.1 200 OK\r\n", None);
        let with_length = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n";
        check(with_length, None);
        check(&format!("{with_length}ab"), None);
        check(&format!("{with_length}abc"), Some(("abc", true)));
        check(&format!("HTTP/1.1 100 Continue\r\n\r\n{with_length}abc"), Some(("abc", true)));
        check("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nab", Some(("ab", false)));
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        check(&format!("{chunked}2\r\nab\r\n1;x=y\r\nc\r\n"), None);
        check(&format!("{chunked}2\r\nab\r\n1;x=y\r\nc\r\n0\r\n\r\n"), Some(("abc", true)));
        check(&format!("{chunked}zz\r\n"), None);
    }

    #[test]
    fn interim_responses_have_a_limit() {
        let interim = |count| "HTTP/1.1 100 Continue\r\n\r\n".repeat(count);
        let last = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na";
        let receive = |text: String| PageResponse::default().receive(text.as_bytes());
        assert!(receive(interim(16) + last).expect("allowed").is_some());
        for text in [interim(17), interim(17) + last] {
            let error = receive(text).expect_err("too many").to_string();
            assert_eq!(error, "more than 16 interim responses (1xx) before the final one");
        }
    }

    #[test]
    fn responses_have_a_limit() {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", 1 << 25);
        let mut response = PageResponse::default();
        response.receive(head.as_bytes()).expect("a head");
        let piece = vec![b'a'; 1 << 20];
        let error = (0..32).find_map(|_| response.receive(&piece).err()).expect("too long");
        assert_eq!(error.to_string(), "the response is longer than 16 MiB");
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
