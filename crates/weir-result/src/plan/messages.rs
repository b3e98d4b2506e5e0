//! Messages within responses: their form, and those that count.

use serde::{Deserialize, Deserializer, Serialize};

/// Measurement of messages within responses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MessagePlan {
    /// Protocol of the messages.
    pub protocol: MessageProtocol,
    /// Values of which a message has to have one to count, as a token of a language model: `json:`
    /// and a pointer (RFC 6901) each, with `reasoning=` or `answer=` before it where the name of
    /// the value does not say whose it is. Absent if each message counts.
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

/// A condition: a time of a response is below a limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GoodputTerm {
    /// The time.
    pub time: GoodputTime,
    /// Its limit in nanoseconds; the time has to be less.
    pub limit_ns: u64,
}

/// A time of one response.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GoodputTime {
    /// Time to the first message, from the planned send.
    First,
    /// Response time.
    Total,
    /// Mean gap between messages.
    MeanGap,
    /// Time per token by the server's count; per message if it states none.
    PerToken,
    /// Percentile of the gaps between messages, in percent; 100 is the greatest.
    Gap(f64),
}
