//! A small HTTP/1.1 client beside the load: blocking, with a limit of each exchange, on one
//! connection that stays open. It counts the requests, because a watched server counts them too.

use std::io;
use std::net::SocketAddr;

use anyhow::Result;
use weir_http::Head;
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
const INTERIM_MAX: usize = 16;

/// A status page.
#[derive(Debug)]
pub(super) struct Page {
    site: Site,
    request: Vec<u8>,
}

impl Page {
    /// Resolves a URL, of which `choices` are those of TLS. Sends nothing.
    ///
    /// # Errors
    /// When it is no http or https URL, its host has no address, or a file of TLS cannot be used.
    pub(super) fn of(url: &str, choices: &TlsSpec) -> Result<Page> {
        let mut site = Site::of(url, choices)?;
        site.resolve()?;
        let request = site.head("GET", &site.url.path, "weir-watch") + "Accept: */*\r\n\r\n";
        Ok(Page { site, request: request.into_bytes() })
    }

    /// Requests sent so far.
    pub(super) fn sent(&self) -> u64 {
        self.site.sent
    }

    /// Path and query of the request.
    pub(super) fn path(&self) -> &str {
        &self.site.url.path
    }

    /// True if both pages are on the same host and port.
    pub(super) fn is_beside(&self, other: &Page) -> bool {
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
    /// Value of the header `Authorization`, if the URL has a user.
    authorization: Option<String>,
    /// TLS of an https URL.
    tls: Option<TlsConfig>,
    /// Empty until the host is resolved.
    addresses: Vec<SocketAddr>,
    channel: Option<Channel>,
    sent: u64,
}

impl Site {
    /// Parses a URL, of which `choices` are those of TLS. Resolves nothing.
    ///
    /// # Errors
    /// When it is no http or https URL, or a file of TLS cannot be used.
    pub(crate) fn of(url: &str, choices: &TlsSpec) -> Result<Site> {
        let (plain, userinfo) = credentials::split_userinfo(url);
        let url = Url::parse(&plain)?;
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
        let found = self.url.resolve(None)?.into_iter();
        let addresses = found.filter_map(|endpoint| match endpoint {
            Endpoint::Tcp(address) => Some(address),
            Endpoint::Unix(_) => None,
        });
        self.addresses = addresses.collect();
        Ok(())
    }

    /// True if the host is resolved.
    pub(crate) fn is_resolved(&self) -> bool {
        !self.addresses.is_empty()
    }

    /// Begins the head of a request.
    pub(crate) fn head(&self, method: &str, path: &str, agent: &str) -> String {
        let (authority, version) = (self.url.authority(), env!("CARGO_PKG_VERSION"));
        let user = self.authorization.iter().map(|value| format!("Authorization: {value}\r\n"));
        let user: String = user.collect();
        let agent = format!("{agent}/{version}");
        format!("{method} {path} HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: {agent}\r\n{user}")
    }

    /// True if the URL has a user, whose credentials each request carries.
    pub(crate) fn has_user(&self) -> bool {
        self.authorization.is_some()
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
        let mut received = Vec::new();
        loop {
            // Also if the bytes never pause.
            patience.left().map_err(in_words)?;
            let is_over = channel.receive(&mut received, patience)? == 0;
            if let Some(response) = Response::parse(&received, is_over)? {
                if response.is_kept {
                    self.channel = Some(channel);
                }
                return Ok((response.status, response.body));
            }
            if is_over {
                return Err(io::Error::other("the response is incomplete"));
            }
            if received.len() > RESPONSE_MAX_BYTES {
                return Err(io::Error::other("the response is longer than 16 MiB"));
            }
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

/// A complete response.
#[derive(Debug, PartialEq, Eq)]
struct Response {
    status: u16,
    body: Vec<u8>,
    /// True if the connection can carry another request.
    is_kept: bool,
}

impl Response {
    /// Parses a response; `None` if it is incomplete. `is_over`: the server has closed.
    fn parse(received: &[u8], is_over: bool) -> io::Result<Option<Response>> {
        let mut rest = received;
        for _ in 0..=INTERIM_MAX {
            let Some(head) = weir_http::read_head(rest).map_err(io::Error::other)? else {
                return Ok(None);
            };
            rest = &rest[head.bytes..];
            if !(100..200).contains(&head.status) {
                return Response::of(&head, rest, is_over);
            }
        }
        let text = format!("more than {INTERIM_MAX} interim responses (1xx) before the final one");
        Err(io::Error::other(text))
    }

    /// Parses what follows the head of a final response.
    fn of(head: &Head<'_>, rest: &[u8], is_over: bool) -> io::Result<Option<Response>> {
        let text = |name| head.header(name).map(|value| String::from_utf8_lossy(value));
        let has = |name, word: &str| {
            text(name).is_some_and(|value| value.to_ascii_lowercase().contains(word))
        };
        let length = text("content-length").and_then(|length| length.trim().parse().ok());
        let body = match length {
            _ if has("transfer-encoding", "chunked") => dechunked(rest)?,
            Some(length) => rest.get(..length).map(<[u8]>::to_vec),
            None => is_over.then(|| rest.to_vec()),
        };
        let is_kept = !is_over && !has("connection", "close") && head.version == "HTTP/1.1";
        Ok(body.map(|body| Response { status: head.status, body, is_kept }))
    }
}

/// Decodes a chunked body (RFC 9112 §7.1), without trailers; `None` if it is incomplete.
fn dechunked(mut rest: &[u8]) -> io::Result<Option<Vec<u8>>> {
    let mut body = Vec::new();
    loop {
        let Some(end) = rest.windows(2).position(|pair| pair == b"\r\n") else { return Ok(None) };
        let line = String::from_utf8_lossy(&rest[..end]);
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16)
            .ok()
            .filter(|size| *size <= RESPONSE_MAX_BYTES)
            .ok_or_else(|| io::Error::other("the response has a malformed chunk"))?;
        let data = &rest[end + 2..];
        if data.len() < size + 2 {
            return Ok(None);
        }
        if size == 0 {
            return Ok(Some(body));
        }
        body.extend_from_slice(&data[..size]);
        rest = &data[size + 2..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::InputFile;

    #[test]
    fn responses_end_where_their_framing_says() {
        let check = |bytes: &str, is_over, expected: Option<(&str, bool)>| {
            let response = Response::parse(bytes.as_bytes(), is_over).expect(bytes);
            let found = response.map(|response| {
                (String::from_utf8(response.body).expect("text"), response.is_kept)
            });
            let expected = expected.map(|(body, is_kept)| (body.to_owned(), is_kept));
            assert_eq!(found, expected, "{bytes}");
        };
        check("HTTP/1.1 200 OK\r\n", false, None);
        let with_length = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n";
        check(with_length, false, None);
        check(&format!("{with_length}ab"), true, None);
        check(&format!("{with_length}abc"), false, Some(("abc", true)));
        let continued = format!("HTTP/1.1 100 Continue\r\n\r\n{with_length}abc");
        check(&continued, false, Some(("abc", true)));
        let closing = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nab";
        check(closing, false, None);
        check(closing, true, Some(("ab", false)));
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        check(&format!("{chunked}2\r\nab\r\n1;x=y\r\nc\r\n"), false, None);
        check(&format!("{chunked}2\r\nab\r\n1;x=y\r\nc\r\n0\r\n\r\n"), false, Some(("abc", true)));
        let wrong = format!("{chunked}zz\r\n");
        assert!(Response::parse(wrong.as_bytes(), false).is_err());
    }

    #[test]
    fn interim_responses_have_a_limit() {
        let interim = |count| "HTTP/1.1 100 Continue\r\n\r\n".repeat(count);
        let last = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na";
        let text = interim(INTERIM_MAX) + last;
        assert!(Response::parse(text.as_bytes(), false).expect("allowed").is_some());
        // As many as a response may have bytes: one call for each would overflow the stack.
        for count in [INTERIM_MAX + 1, RESPONSE_MAX_BYTES / interim(1).len()] {
            let text = interim(count);
            let error = Response::parse(text.as_bytes(), false).expect_err("too many").to_string();
            assert_eq!(error, "more than 16 interim responses (1xx) before the final one");
        }
    }

    #[test]
    fn urls_are_checked_before_anything_is_sent() {
        let choices = TlsSpec::default();
        let error = Page::of("ftp://h/", &choices).expect_err("no HTTP").to_string();
        assert!(error.contains("use http or https"), "{error}");
        let missing = TlsSpec { ca_file: Some(InputFile::at("/no/such/file")), ..choices.clone() };
        let error = Page::of("https://127.0.0.1:1/", &missing).expect_err("no file").to_string();
        assert!(error.contains("`tls.ca_file`"), "{error}");
        let page = Page::of("http://me:p@127.0.0.1:1/s?a=b", &choices).expect("an address");
        let request = String::from_utf8(page.request.clone()).expect("text");
        assert!(request.contains("Authorization: Basic bWU6cA=="), "{request}");
        assert!(request.contains("Host: 127.0.0.1:1\r\n"), "{request}");
        assert_eq!((page.path(), page.sent()), ("/s?a=b", 0));
    }
}
