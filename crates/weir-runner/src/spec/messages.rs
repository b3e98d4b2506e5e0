//! Messages within responses: which are measured.

use serde::{Deserialize, Serialize};
use weir_result::{MessageProtocol, one_or_several};

/// Choices of messages within responses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessageSpec {
    /// Protocol of the messages; null: server-sent events if the preflight finds them, else none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<MessageProtocol>,
    /// Values of which a message has to have one to count, as a token of a language model: `json:`
    /// and a pointer (RFC 6901) each, with `reasoning=` or `answer=` before it where the name of
    /// the value does not say whose it is. Without any, each message counts.
    #[serde(default, deserialize_with = "one_or_several", skip_serializing_if = "Vec::is_empty")]
    pub tokens: Vec<String>,
    /// Place of the server's count of tokens so far, as `tokens`; null: where the interfaces of
    /// OpenAI and Anthropic have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<String>,
    /// Conditions of a good response: `first < 500ms and gap p99 < 50ms`; null for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goodput: Option<String>,
    /// True if the preflight does not look for messages.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_given: bool,
}

impl MessageSpec {
    /// True if nothing differs from the defaults.
    pub fn is_default(&self) -> bool {
        *self == MessageSpec::default()
    }

    /// Returns the protocol that the specification gives: that of its tokens and its goodput is
    /// server-sent events, unless there is another.
    pub(crate) fn given(&self) -> Option<MessageProtocol> {
        let is_meant = !self.tokens.is_empty() || self.usage.is_some() || self.goodput.is_some();
        self.protocol.or(is_meant.then_some(MessageProtocol::Sse))
    }
}
