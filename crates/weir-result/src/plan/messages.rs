//! Messages within responses: their form, and those that count.

use serde::{Deserialize, Deserializer, Serialize};

/// Measurement of messages within responses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MessagePlan {
    /// Protocol of the messages.
    pub protocol: MessageProtocol,
    /// Values of which a message has to have one to count, as a token of a language model: `json:`
    /// and a pointer (RFC 6901) each. Absent if each message counts.
    #[serde(default, deserialize_with = "one_or_several", skip_serializing_if = "Vec::is_empty")]
    pub tokens: Vec<String>,
    /// Place of the server's count of tokens so far, as `tokens`; absent: where the interfaces of
    /// OpenAI and Anthropic have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<String>,
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

/// Reads a list that documents had as one text, or as null.
///
/// # Errors
/// Errors of the text.
pub fn one_or_several<'de, D: Deserializer<'de>>(text: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Stored {
        One(String),
        Several(Vec<String>),
    }
    Ok(match Option::<Stored>::deserialize(text)? {
        None => Vec::new(),
        Some(Stored::One(one)) => vec![one],
        Some(Stored::Several(several)) => several,
    })
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
