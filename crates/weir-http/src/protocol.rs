//! The choice of a protocol, and the ids and events that protocols have in common. Independent of
//! wire formats; each version has a module of its own.

use std::fmt::{self, Debug};
use std::ops::Range;
use std::sync::Arc;

use crate::Multiplexed;

/// Number of a request in flight on a connection: below the protocol's depth, reused after its
/// response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestId(pub u16);

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

/// The protocol of the connections.
///
/// The two kinds differ in more than their bytes. HTTP/1 sends prepared requests, and its responses
/// arrive in order ([`Http1`](crate::Http1)). The streams of a multiplexed protocol are
/// independent, and it has something to send of its own ([`Multiplexed`]).
#[derive(Clone, Debug, Default)]
pub enum ProtocolFactory {
    /// HTTP/1.1.
    #[default]
    Http1,
    /// A protocol with independent streams.
    Multiplexed(MultiplexedFactory),
}

/// Makes the multiplexed protocol of each connection.
#[derive(Clone)]
pub struct MultiplexedFactory(Arc<dyn Fn(u16) -> Box<dyn Multiplexed> + Send + Sync>);

impl ProtocolFactory {
    /// Returns a factory that calls `make` with the greatest number of streams.
    pub fn multiplexed(
        make: impl Fn(u16) -> Box<dyn Multiplexed> + Send + Sync + 'static,
    ) -> ProtocolFactory {
        ProtocolFactory::Multiplexed(MultiplexedFactory(Arc::new(make)))
    }

    /// True if its protocols carry independent streams.
    pub fn is_multiplexed(&self) -> bool {
        matches!(self, ProtocolFactory::Multiplexed(_))
    }
}

impl MultiplexedFactory {
    /// Returns a protocol with at most `streams` requests in flight.
    pub fn make(&self, streams: u16) -> Box<dyn Multiplexed> {
        (self.0)(streams)
    }
}

impl Debug for MultiplexedFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MultiplexedFactory")
    }
}
