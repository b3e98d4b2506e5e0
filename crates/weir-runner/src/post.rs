//! A receiver of data beside the load, such as a collector of metrics: one POST at a time.

use std::io;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use weir_http::{Prepared, RequestError};

use crate::patience::{Hurry, Patience};
use crate::prepare::tls;
use crate::spec::TlsSpec;
use crate::spec::credentials::percent_decoded;
use crate::watch::http::Site;

/// Time limit of one POST.
const LIMIT: Duration = Duration::from_secs(5);

/// Why a list has no headers.
const NO_LIST: &str = "not a list of NAME=VALUE";

/// Headers that a request has anyway, in lower case.
const OWN: [&str; 6] =
    ["connection", "content-length", "content-type", "host", "transfer-encoding", "user-agent"];

/// A URL that receives data by POST, and a connection to it that is opened when it is needed. All
/// calls block, for at most 5 s from connecting to the end of the response.
#[derive(Debug)]
pub struct Post {
    site: Site,
    /// Lines of further headers.
    headers: String,
}

impl Post {
    /// Parses a URL, with the choices of TLS of a run. Resolves and sends nothing.
    ///
    /// # Errors
    /// When it is no http or https URL, or a file of TLS cannot be used.
    pub fn of(url: &str, choices: &TlsSpec) -> Result<Post> {
        Ok(Post { site: Site::of(url, &tls::of_pages(choices))?, headers: String::new() })
    }

    /// Sends these headers too: `name=value` pairs with commas between them, the values
    /// percent-encoded, as in `OTEL_EXPORTER_OTLP_HEADERS` (W3C Baggage §3.2).
    ///
    /// # Errors
    /// When a pair is no header, or one that a request has anyway. The error has nothing of a pair
    /// but a well-formed name: the rest may be a secret.
    pub fn set_headers(&mut self, list: &str) -> Result<()> {
        let pairs = list.split(',').map(str::trim).filter(|pair| !pair.is_empty());
        let headers = pairs.map(|pair| {
            let (name, value) = pair.split_once('=').context(NO_LIST)?;
            Ok((name.trim().to_owned(), percent_decoded(value.trim())))
        });
        let headers = headers.collect::<Result<Vec<(String, String)>>>()?;
        for (name, _) in &headers {
            let name = name.to_ascii_lowercase();
            ensure!(!OWN.contains(&name.as_str()), "header {name:?} is weir's own: leave it out");
            let is_twice = name == "authorization" && self.site.authorization.is_some();
            ensure!(!is_twice, "the URL has a user too: leave one of them out");
        }
        match Prepared::http1("POST", "/", "localhost", &headers, None) {
            // In `Bearer c2VjcmV0=` the secret stands before the first equals sign.
            Err(RequestError::BadHeaderName(_)) => bail!(NO_LIST),
            checked => checked?,
        };
        self.headers = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        Ok(())
    }

    /// The URL without its user name and password.
    pub fn url(&self) -> String {
        let url = &self.site.url;
        format!("{}://{}{}", url.scheme(), url.authority(), url.path)
    }

    /// Port of the URL, or the default of its scheme.
    pub fn port(&self) -> u16 {
        self.site.url.port()
    }

    /// Path and query of the URL.
    pub fn path(&self) -> &str {
        &self.site.url.path
    }

    /// Changes the path.
    pub fn set_path(&mut self, path: String) {
        self.site.url.path = path;
    }

    /// Sends a body, and returns the status and the body of the response. Resolves the host unless
    /// it was reached before.
    ///
    /// # Errors
    /// When the host has no address, or there is no complete response.
    pub fn send(&mut self, content_type: &str, body: &str) -> io::Result<(u16, Vec<u8>)> {
        if self.site.addresses.is_empty() {
            self.site.resolve().map_err(io::Error::other)?;
        }
        let head = self.site.head("POST", &self.site.url.path, "weir");
        let length = body.len();
        let request = format!(
            "{head}Content-Type: {content_type}\r\nContent-Length: {length}\r\n{}\r\n{body}",
            self.headers
        );
        self.site.exchange(request.as_bytes(), &Patience::new(LIMIT, &Hurry::default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn post(url: &str) -> Post {
        Post::of(url, &TlsSpec::default()).expect(url)
    }

    #[test]
    fn headers_are_decoded() {
        let mut post = post("http://h");
        let list = "Authorization=Basic%20bWU6cHc=, x-scope = a%2Cb ,";
        post.set_headers(list).expect("two headers");
        assert_eq!(post.headers, "Authorization: Basic bWU6cHc=\r\nx-scope: a,b\r\n");
        post.set_headers("").expect("none");
        assert_eq!(post.headers, "");
    }

    #[test]
    fn an_error_has_no_secret() {
        for (url, wrong, reason) in [
            ("http://h", "hunter2", "not a list of NAME=VALUE"),
            ("http://h", "Bearer hunter2=", "not a list of NAME=VALUE"),
            ("http://h", "=hunter2", "not a list of NAME=VALUE"),
            ("http://h", "a=hunter2%0d%0ab: c", "value of header \"a\""),
            ("http://h", "Host=hunter2", "header \"host\" is weir's own"),
            ("http://me:pw@h", "authorization=hunter2", "the URL has a user too"),
        ] {
            let error = post(url).set_headers(wrong).expect_err(wrong).to_string();
            assert!(error.starts_with(reason) && !error.contains("hunter2"), "{wrong}: {error}");
        }
    }
}
