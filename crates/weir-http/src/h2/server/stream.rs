//! State of a request's stream on the server's side, with the part of its response that waits.

use crate::h2::frame::FRAME_BYTES_DEFAULT;
use crate::h2::windows::{ReceiveWindow, SendWindow};

/// State of a request's stream.
#[derive(Debug, Default)]
pub(super) struct ServerStream {
    /// True once the request is complete.
    pub(super) is_received: bool,
    /// True once the head of the final response was sent.
    pub(super) has_head: bool,
    /// True once no more parts of the response are accepted.
    pub(super) is_answered: bool,
    /// Bytes of the request's body that are missing, if its head announces them.
    pub(super) missing: Option<u64>,
    pub(super) send_window: SendWindow,
    pub(super) receive_window: ReceiveWindow,
    pub(super) pending: UnsentResponse,
}

/// The part of a response that is not yet sent.
#[derive(Debug, Default)]
pub(super) struct UnsentResponse {
    pub(super) data: Vec<u8>,
    pub(super) sent: usize,
    pub(super) is_end: bool,
}

impl UnsentResponse {
    /// Drops everything, and keeps the buffer unless it is large.
    pub(super) fn clear(&mut self) {
        self.data.clear();
        self.data.shrink_to(FRAME_BYTES_DEFAULT as usize);
        (self.sent, self.is_end) = (0, false);
    }

    /// True if nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes() == 0 && !self.is_end
    }

    /// Returns the number of bytes that wait.
    pub(super) fn bytes(&self) -> usize {
        self.data.len() - self.sent
    }
}
