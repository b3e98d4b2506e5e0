//! The flags of WebSocket, for URLs of ws and wss.

use clap::Args;
use weir_runner::WebSocketSpec;

/// The flags of messages and their echoes.
#[derive(Debug, Args)]
#[command(next_help_heading = "WebSocket (ws:// and wss://)")]
pub(crate) struct WebSocketArgs {
    /// Match each echo with its message by this field, so that their order does not matter:
    /// json:/id [default: in order]
    #[arg(long = "match", value_name = "json:POINTER")]
    matched_by: Option<String>,
    /// Send messages as binary ones instead of text
    #[arg(long)]
    ws_binary: bool,
    /// Hold the connections open and send no message but that of --ws-first
    #[arg(long, conflicts_with = "matched_by")]
    ws_idle: bool,
    /// Send this message once on each connection, before all others
    #[arg(long, value_name = "TEXT")]
    ws_first: Option<String>,
    /// Count a connection as open once the server has sent a message: the answer to --ws-first, or
    /// a greeting
    #[arg(long)]
    ws_ack: bool,
    /// Offer compression of messages, permessage-deflate; it takes CPU time and up to 0.4 MB per
    /// connection
    #[arg(long)]
    ws_deflate: bool,
}

impl WebSocketArgs {
    /// Returns the choices of the specification.
    pub(super) fn spec(&self) -> WebSocketSpec {
        WebSocketSpec {
            matched_by: self.matched_by.clone(),
            binary: self.ws_binary,
            idle: self.ws_idle,
            first: self.ws_first.clone(),
            awaits_message: self.ws_ack,
            deflate: self.ws_deflate,
        }
    }
}
