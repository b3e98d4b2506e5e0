//! Messages within responses: their form, and those that count.

use serde::{Deserialize, Serialize};

/// Measurement of messages within responses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MessagePlan {
    /// Protocol of the messages.
    pub protocol: MessageProtocol,
    /// Value that a message has to have to count, as a token of a language model: `json:` and a
    /// pointer (RFC 6901). Absent if each message counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<String>,
    /// Conditions that a response has to meet to count as good; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goodput: Option<String>,
}

/// A protocol with messages within responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum MessageProtocol {
    /// Server-sent events.
    Sse,
    /// gRPC.
    Grpc,
    /// WebSocket.
    WebSocket,
}

impl MessageProtocol {
    /// Returns its name in text.
    pub fn name(self) -> &'static str {
        match self {
            MessageProtocol::Sse => "server-sent events",
            MessageProtocol::Grpc => "gRPC",
            MessageProtocol::WebSocket => "WebSocket",
        }
    }
}
