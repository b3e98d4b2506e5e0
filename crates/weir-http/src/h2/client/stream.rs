//! State of a request's stream on the client's side.

use std::sync::Arc;

use crate::h2::windows::{ReceiveWindow, SendWindow};
use crate::request::Request;

/// State of a request's stream.
#[derive(Debug, Default)]
pub(super) struct ClientStream {
    /// Time at which the request was made.
    pub(super) requested_ns: u64,
    /// True for HEAD.
    pub(super) is_head: bool,
    /// True after the final response's head, whose status follows.
    pub(super) has_head: bool,
    pub(super) status: u16,
    /// Bytes of the body that are missing, if the head announces them.
    pub(super) missing: Option<u64>,
    pub(super) send_window: SendWindow,
    pub(super) receive_window: ReceiveWindow,
    pub(super) upload: Option<Upload>,
}

/// A body that is not yet sent as a whole.
#[derive(Debug)]
pub(super) struct Upload {
    pub(super) request: Arc<Request>,
    pub(super) sent: usize,
}
