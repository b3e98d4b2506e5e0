//! The event by which HTTP/1 reports responses. Independent of bytes.

use std::ops::Range;

use crate::request_id::RequestId;

/// A complete final response, or several equal ones in a row, which
/// [`Http1::receive_cached`](crate::Http1::receive_cached) may merge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ResponseEvent {
    /// The request of the response, or of the first of them.
    pub id: RequestId,
    /// Number of merged responses, at least 1. Their ids are consecutive, and the other fields
    /// apply to each of them.
    pub count: u16,
    /// The status code as the server wrote it, 200 to 999 (RFC 9110 §15).
    pub status: u16,
    /// Length of the content, without head, chunk framing and trailers.
    pub body_bytes: u64,
    /// True if the response's first byte was in the bytes of the call that completed it. Interim
    /// responses (1xx) before it do not count.
    pub began_here: bool,
    /// True if the connection must not be used after this response (RFC 9112 §9.3, §9.6).
    pub closes: bool,
}

impl ResponseEvent {
    /// Returns the ids of the requests whose responses these are.
    #[inline]
    pub fn ids(&self) -> Range<u16> {
        self.id.0..self.id.0 + self.count
    }
}
