//! A request that its peer returned, and that waits to be sent again.

use std::sync::Arc;

use weir_http::Request;
use weir_io::{ConnId, Nanos};

use crate::exchange::Exchange;

/// A request that the peer returned. It goes back to its slot with its intended time.
#[derive(Debug)]
pub(super) struct Returned {
    /// Connection that it was returned on.
    pub(super) conn: ConnId,
    pub(super) exchange: Exchange,
    pub(super) request: Arc<Request>,
    pub(super) returned_at: Nanos,
    pub(super) returns: u8,
    /// Its user, if it is a step.
    pub(super) user: Option<u32>,
}
