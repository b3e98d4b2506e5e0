//! A message with its times. It knows nothing of exchanges.

use weir_http::ReceivedMessage;
use weir_io::Nanos;

use crate::exchange::Arrival;

/// A message of a response in progress, with its times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimedMessage {
    pub(crate) message: ReceivedMessage,
    /// After the read of its last byte (`A`).
    pub(crate) at: Nanos,
    /// Kernel receive stamp of the last packet of the read, on a stamped connection.
    pub(crate) stamp: Option<Nanos>,
    /// True if it is the last message of the read, to which the stamp belongs.
    pub(crate) is_last: bool,
}

impl TimedMessage {
    /// Returns its arrival, after a read of everything up to `read_until`.
    pub(super) fn arrival(&self, read_until: Nanos) -> Arrival {
        let latest = self.stamp.unwrap_or(self.at);
        let is_known = self.is_last && self.stamp.is_some();
        let earliest = if is_known { latest } else { read_until.min(latest) };
        Arrival { read_at: self.at, earliest, latest }
    }
}
