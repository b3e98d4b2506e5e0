//! The HTTP version of a run, and the options of HTTP/2.

use serde::{Deserialize, Serialize};
use weir_result::HttpPlan;

/// Choice of the HTTP version, and options that apply if it is HTTP/2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HttpSpec {
    /// Version.
    pub version: HttpChoice,
    /// Greatest number of requests, or messages of WebSocket, in flight on one connection, 1 to
    /// 128; absent: 1. More than one requires HTTP/2 or WebSocket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streams: Option<u16>,
    /// Flow-control window for responses, of each stream and of the connection, in bytes: up to
    /// 2^31 - 1.
    pub window_bytes: u32,
    /// Greatest size of the tables of header compression, in bytes; 0: none.
    pub header_table_bytes: u32,
}

/// Choice of the HTTP version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum HttpChoice {
    /// Over TLS the one that the server chooses, HTTP/2 before HTTP/1.1; else HTTP/1.1. HTTP/1.1
    /// too if another choice of the run needs it.
    #[default]
    #[serde(rename = "auto")]
    Auto,
    /// HTTP/1.0.
    #[serde(rename = "1.0")]
    Http10,
    /// HTTP/1.1.
    #[serde(rename = "1.1")]
    Http11,
    /// HTTP/2, without TLS by prior knowledge (RFC 9113 §3.3).
    #[serde(rename = "2")]
    Http2,
}

impl From<HttpPlan> for HttpChoice {
    fn from(plan: HttpPlan) -> HttpChoice {
        match plan {
            HttpPlan::Http10 => HttpChoice::Http10,
            HttpPlan::Http11 => HttpChoice::Http11,
            HttpPlan::Http2(_) => HttpChoice::Http2,
            // The URL decides.
            HttpPlan::WebSocket(_) => HttpChoice::Auto,
        }
    }
}

impl Default for HttpSpec {
    fn default() -> HttpSpec {
        HttpSpec {
            version: HttpChoice::Auto,
            streams: None,
            // Responses never wait for this window.
            window_bytes: 1 << 30,
            header_table_bytes: 4_096,
        }
    }
}
