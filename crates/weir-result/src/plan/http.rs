//! The HTTP version of a load, the options of HTTP/2, and WebSocket.

use std::fmt;

use serde::{Deserialize, Serialize};

/// HTTP version of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "version")]
pub enum HttpPlan {
    /// HTTP/1.0 (RFC 1945).
    #[serde(rename = "1.0")]
    Http10,
    /// HTTP/1.1 (RFC 9112).
    #[serde(rename = "1.1")]
    Http11,
    /// HTTP/2 (RFC 9113).
    #[serde(rename = "2")]
    Http2(Http2Plan),
    /// WebSocket (RFC 6455), after an upgrade of HTTP/1.1.
    #[serde(rename = "websocket")]
    WebSocket(WebSocketPlan),
}

/// Options of HTTP/2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Http2Plan {
    /// Greatest number of requests in flight on one connection, 1 to 128. The server may permit
    /// fewer.
    pub streams: u16,
    /// Flow-control window for responses, of each stream and of the connection, in bytes. That of a
    /// connection is at least 65,535.
    pub window_bytes: u32,
    /// Greatest size of the tables of header compression (RFC 7541), in bytes, for both directions;
    /// 0: none.
    pub header_table_bytes: u32,
}

/// Options of WebSocket. A request is a message, and its response the echo.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WebSocketPlan {
    /// Greatest number of messages in flight on one connection, 1 to 128.
    pub in_flight: u16,
    /// True if messages are binary, else they are texts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub binary: bool,
    /// True if no message is sent but the first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub idle: bool,
    /// Bytes of the message that is sent once on each connection, before all others; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_bytes: Option<u32>,
    /// True if a connection is open only once the server has sent a message.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub awaits_message: bool,
    /// True if permessage-deflate (RFC 7692) is offered, which the server may decline.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deflate: bool,
}

/// End of a connection by the server, in the words of its protocol.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionEnd {
    /// Name of the frame that announces it.
    pub frame: &'static str,
    /// Advice if it comes before the first response.
    pub remedy: &'static str,
}

impl ConnectionEnd {
    /// True if the reason in such a frame is no error: NO_ERROR of HTTP/2 (RFC 9113 §7), 1000 of
    /// WebSocket (RFC 6455 §7.4.1).
    pub fn is_planned(reason: &str) -> bool {
        reason == "NO_ERROR" || reason.starts_with("1000 ")
    }
}

impl HttpPlan {
    /// Returns what the protocol calls the end of a connection by the server. Versions without a
    /// frame for it have none to name.
    pub fn connection_end(self) -> ConnectionEnd {
        match self {
            HttpPlan::WebSocket(_) => {
                ConnectionEnd { frame: "Close frame", remedy: "check the server" }
            }
            _ => ConnectionEnd { frame: "GOAWAY", remedy: "check the server's limits of HTTP/2" },
        }
    }

    /// Returns the greatest number of requests in flight on one connection; `None` for HTTP/1, of
    /// which the load says how many are pipelined.
    pub fn streams(self) -> Option<u16> {
        match self {
            HttpPlan::Http2(http2) => Some(http2.streams),
            HttpPlan::WebSocket(websocket) => Some(websocket.in_flight),
            HttpPlan::Http10 | HttpPlan::Http11 => None,
        }
    }

    /// Returns the version with at most one request in flight on a connection.
    pub fn one_at_a_time(self) -> HttpPlan {
        match self {
            HttpPlan::Http2(http2) => HttpPlan::Http2(Http2Plan { streams: 1, ..http2 }),
            HttpPlan::WebSocket(plan) => {
                HttpPlan::WebSocket(WebSocketPlan { in_flight: 1, ..plan })
            }
            other => other,
        }
    }
}

/// The name of the version, like `HTTP/1.1`.
impl fmt::Display for HttpPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            HttpPlan::Http10 => "HTTP/1.0",
            HttpPlan::Http11 => "HTTP/1.1",
            HttpPlan::Http2(_) => "HTTP/2",
            HttpPlan::WebSocket(_) => "WebSocket",
        })
    }
}
