//! Options of WebSocket connections.

use std::time::Duration;

/// Options of WebSocket connections, which each request for an upgrade of HTTP/1.1 opens. Their
/// messages are echoed after the delay of their route. They count as requests, and their echoes as
/// responses, also in the log and for faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WebSocketOptions {
    /// `--ws-ping`: interval of Pings; `None` for none.
    pub ping: Option<Duration>,
    /// `--ws-unordered`: an echo does not wait for the echoes of earlier messages.
    pub is_unordered: bool,
    /// `--ws-deflate`: permessage-deflate is accepted where it is offered.
    pub deflates: bool,
}
