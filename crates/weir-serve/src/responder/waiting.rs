//! Items that wait until they are due, and limits of waiting.

use weir_io::ConnId;

use crate::action::Due;
use crate::web_socket::Echo;

/// A queued item with a due time; checks have the connection and its life.
#[derive(Clone, Debug)]
pub(super) enum Waiting {
    Response(Box<Due>),
    /// A check for the connection's idle timeout.
    IdleCheck(ConnId, u32),
    /// The delayed settings of an HTTP/2 connection.
    Settings(ConnId, u32),
    /// The end of a connection that its client has not closed after GOAWAY or a Close frame.
    Lingering(ConnId, u32),
    /// The echo of a message.
    Echo(Box<Echo>),
    /// The next message that a WebSocket connection sends by itself.
    Push(ConnId, u32),
    /// The next Ping of a WebSocket connection.
    Ping(ConnId, u32),
}

/// Time that a client has to close a connection after GOAWAY or a Close frame, once all responses
/// are sent. Closing at once would reset the connection under the frames that the client has still
/// sent.
pub(super) const LINGER_NS: u64 = 1_000_000_000;

/// Maximum of queued responses per connection; a client that pipelines more is disconnected.
pub(super) const QUEUED_MAX: u32 = 100_000;
