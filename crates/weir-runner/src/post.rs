//! A receiver of data beside the load, such as a collector of metrics: one POST at a time.

use std::io;

use anyhow::Result;

use crate::spec::TlsSpec;
use crate::tls;
use crate::watch::http::Site;

/// A URL that receives data by POST, and a connection to it that is opened when it is needed. All
/// calls block, with timeouts of 2 s for connecting, each send and each receive.
#[derive(Debug)]
pub struct Post {
    site: Site,
}

impl Post {
    /// Parses a URL, with the choices of TLS of a run. Resolves and sends nothing.
    ///
    /// # Errors
    /// When it is no http or https URL, or a file of TLS cannot be used.
    pub fn of(url: &str, choices: &TlsSpec) -> Result<Post> {
        Ok(Post { site: Site::of(url, &tls::of_pages(choices))? })
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
        if !self.site.is_resolved() {
            self.site.resolve().map_err(io::Error::other)?;
        }
        let head = self.site.head("POST", &self.site.url.path, "weir");
        let length = body.len();
        let request =
            format!("{head}Content-Type: {content_type}\r\nContent-Length: {length}\r\n\r\n{body}");
        self.site.exchange(request.as_bytes())
    }
}
