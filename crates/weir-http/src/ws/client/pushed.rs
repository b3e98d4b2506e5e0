//! The messages that the server sends by itself: no echo of any message.

use crate::multiplexed::PushedMessage;

/// Messages that the server sent by itself.
#[derive(Debug, Default)]
pub(super) struct PushedMessages {
    /// Those of the last call.
    pub(super) of_call: Vec<PushedMessage>,
    /// Time of the last one on this socket.
    pub(super) last_ns: Option<u64>,
}

impl PushedMessages {
    /// Adds one that was read at `now_ns`.
    pub(super) fn push(&mut self, bytes: usize, now_ns: u64) {
        let gap_ns = self.last_ns.replace(now_ns).map(|before_ns| now_ns - before_ns);
        self.of_call.push(PushedMessage { bytes: bytes as u64, gap_ns });
    }
}
