//! Ids of requests, and how many of them a connection has. Independent of wire formats.

/// Number of a request in flight on a connection: below the protocol's depth, reused after its
/// response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestId(pub u16);

/// Most requests in flight on a connection of HTTP/1.
pub(crate) const DEPTH_MAX: u16 = 1024;
