//! Choice of the protocol that the server speaks, and the options of HTTP/2: plain data, with the
//! syntax of their flags.

use std::str::FromStr;
use std::time::Duration;

use weir_http::h2::H2Options;
use weir_http::h2::frame::{Settings, WINDOW_BYTES_MAX};

use crate::units::ParseError;

/// Protocol of the server's connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HttpVersion {
    /// HTTP/2 if the connection begins with its preface (RFC 9113 §3.4), else HTTP/1. Over TLS, one
    /// of both by ALPN.
    #[default]
    Auto,
    /// HTTP/1 only.
    Http1,
    /// HTTP/2 only.
    Http2,
}

impl FromStr for HttpVersion {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<HttpVersion, ParseError> {
        match text {
            "auto" => Ok(HttpVersion::Auto),
            "1.1" => Ok(HttpVersion::Http1),
            "2" => Ok(HttpVersion::Http2),
            _ => Err(ParseError(format!("`{text}` is not a version: choose 1.1, 2 or auto"))),
        }
    }
}

/// Settings of the server's HTTP/2 connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Http2Options {
    /// `--h2-streams`: streams that a client may have open on a connection, up to
    /// [`Http2Options::STREAMS_MAX`]. 0 forbids every request.
    pub streams: u32,
    /// `--h2-window`: first window of each stream for request bodies in bytes, up to
    /// [`Http2Options::WINDOW_MAX_BYTES`]. The window of the connection is as large, but at least
    /// 65,535 bytes (RFC 9113 §6.9.2).
    pub window_bytes: u32,
    /// `--h2-settings-delay`: time from the client's preface to the server's settings. No other
    /// frame leaves before them.
    pub settings_delay: Duration,
}

impl Default for Http2Options {
    /// Returns 100 streams, windows so large that no client waits for them, and no delay.
    fn default() -> Http2Options {
        Http2Options { streams: 100, window_bytes: (1 << 30) - 1, settings_delay: Duration::ZERO }
    }
}

impl Http2Options {
    /// Largest limit of streams.
    pub const STREAMS_MAX: u32 = u16::MAX as u32;
    /// Largest window: 2^31 - 1 bytes.
    pub const WINDOW_MAX_BYTES: u32 = WINDOW_BYTES_MAX;

    /// Returns the options of a connection.
    pub(crate) fn of_connection(&self) -> H2Options {
        let settings = Settings {
            max_concurrent_streams: Some(self.streams),
            initial_window_bytes: self.window_bytes,
            ..Settings::default()
        };
        H2Options { settings, connection_window_bytes: self.window_bytes, ..H2Options::server() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        for (text, version) in
            [("auto", HttpVersion::Auto), ("1.1", HttpVersion::Http1), ("2", HttpVersion::Http2)]
        {
            assert_eq!(text.parse(), Ok(version), "{text}");
        }
        let error = "3".parse::<HttpVersion>().expect_err("not yet").to_string();
        assert!(error.contains("`3`") && error.contains("1.1, 2 or auto"), "{error}");
    }
}
