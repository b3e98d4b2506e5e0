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
    /// True if no message is sent.
    pub idle: bool,
}

impl WebSocketSpec {
    pub(crate) fn is_default(&self) -> bool {
        *self == WebSocketSpec::default()
    }
}
