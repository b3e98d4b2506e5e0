//! A batch: requests that are sent as one string, of a script or rendered from a template.

use std::sync::Arc;

use weir_http::{RawRequest, Request};
use weir_io::ConnId;

/// Requests that are sent as one string.
#[derive(Clone, Debug, Default)]
pub(crate) struct Batch {
    /// Connection that the batch was made for, and the socket's number in its count of sockets.
    pub(crate) reserved: Option<(ConnId, u16)>,
    /// The string.
    pub(crate) bytes: Vec<u8>,
    /// Requests in the string.
    pub(crate) requests: Vec<RawRequest>,
    /// The same requests as fields, for multiplexed protocols; else empty.
    pub(crate) fields: Vec<Arc<Request>>,
    /// Tag of the first request's exchange; those that follow count on.
    pub(crate) tag: u16,
    /// Of `requests`: those with a response.
    pub(super) responded: usize,
}

impl Batch {
    /// Returns the bytes of the request that belongs to the next response.
    pub(super) fn next_responded(&mut self) -> &[u8] {
        let lengths = self.requests.iter().map(|request| request.bytes as usize);
        let from: usize = lengths.take(self.responded).sum();
        let length = self.requests.get(self.responded).map_or(0, |request| request.bytes as usize);
        self.responded += 1;
        self.bytes.get(from..from + length).unwrap_or_default()
    }
}
