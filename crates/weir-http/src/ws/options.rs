//! Options of the client.

use std::sync::Arc;

use super::handshake::UpgradeRequest;
use super::message_key::MessageKey;
use crate::prepared::Prepared;

/// Options of the client side of connections.
#[derive(Clone, Debug)]
pub struct WsOptions {
    /// The upgrade.
    pub(super) upgrade: UpgradeRequest,
    /// True if messages are sent as binary ones, else as text.
    pub is_binary: bool,
    /// Key that a message shares with its echo; `None`: echoes come in the order of their messages.
    pub key: Option<MessageKey>,
    /// True if no message is sent: the connection is only held.
    pub is_idle: bool,
    /// Content of a message that is sent once per connection, before all others.
    pub first: Option<Arc<[u8]>>,
    /// True if a connection is open only once the server has sent a message, after the first one if
    /// there is one. It counts as part of the opening.
    pub awaits_message: bool,
    /// True if permessage-deflate (RFC 7692) is offered. The server decides.
    pub offers_deflate: bool,
    /// True if the messages of the server are kept, for
    /// [`WsClient::received`](super::WsClient::received).
    pub keeps_messages: bool,
    /// Most bytes of a message of the server.
    pub message_bytes_max: usize,
}

impl WsOptions {
    /// Largest message by default: 16 MiB.
    pub const MESSAGE_BYTES_MAX: usize = 16 << 20;

    /// Returns the options with which the target and the fields of `request` are those of the
    /// upgrade.
    pub fn new(request: &Prepared) -> WsOptions {
        WsOptions {
            upgrade: UpgradeRequest::of(request),
            is_binary: false,
            key: None,
            is_idle: false,
            first: None,
            awaits_message: false,
            offers_deflate: false,
            keeps_messages: false,
            message_bytes_max: WsOptions::MESSAGE_BYTES_MAX,
        }
    }
}
