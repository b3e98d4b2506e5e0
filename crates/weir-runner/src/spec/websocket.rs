//! The choices of a run over WebSocket, which a URL with `ws://` or `wss://` makes one.

use serde::{Deserialize, Serialize};

/// Choices of WebSocket connections.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WebSocketSpec {
    /// Field that a message and its echo have in common, as `json:/id`; absent: echoes come in the
    /// order of the messages.
    #[serde(rename = "match", skip_serializing_if = "Option::is_none")]
    pub matched_by: Option<String>,
    /// True if messages are binary, else they are texts.
    pub binary: bool,
    /// True if no message is sent but `first`.
    pub idle: bool,
    /// Message that is sent once on each connection, before all others; absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<String>,
    /// True if a connection is open only once the server has sent a message.
    #[serde(rename = "await")]
    pub awaits_message: bool,
    /// True if permessage-deflate is offered.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub deflate: bool,
}

impl WebSocketSpec {
    pub(crate) fn is_default(&self) -> bool {
        *self == WebSocketSpec::default()
    }
}
