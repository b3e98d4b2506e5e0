//! A message with its times. It knows nothing of exchanges.

use weir_http::ReceivedMessage;
use weir_io::Nanos;

/// A message of a response in progress, with its times.
#[derive(Clone, Copy, Debug)]
pub(in crate::ledger) struct TimedMessage {
    pub(in crate::ledger) message: ReceivedMessage,
    /// After the read of its last byte (`A`).
    pub(in crate::ledger) at: Nanos,
    /// Kernel receive stamp of its last byte, on a stamped connection.
    pub(in crate::ledger) stamp: Option<Nanos>,
}
