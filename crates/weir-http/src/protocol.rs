//! Protocol state of one connection for the engine: [`Protocol`], and the [`ResponseEvent`] it
//! returns. Independent of wire formats; each version has a module of its own.

use std::fmt::{self, Debug};
use std::ops::Range;
use std::sync::Arc;

use crate::{
    BodyBudget, HeadCache, Http1, Interest, Multiplexed, ProtocolError, ReceivedResponse,
    RequestTraits,
};

/// Number of a request in flight on a connection: below the protocol's depth, reused after its
/// response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestId(pub u16);

/// A complete final response, or several equal ones in a row, which [`Protocol::receive_cached`]
/// may merge.
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

/// Client-side protocol state of one connection.
///
/// The two kinds differ in more than their bytes. HTTP/1 sends prepared requests, and its responses
/// arrive in order; the methods below are its hot path. The streams of a multiplexed protocol are
/// independent, and it has something to send of its own; the caller drives it through
/// [`Protocol::streams`]. For one of those, only `streams`, `capacity`, `is_mid_response`, `reset`,
/// `interim_responses` and the methods about stored responses may be called; others panic.
///
/// After an error, every call returns that error again until [`Protocol::reset`].
#[derive(Debug)]
pub enum Protocol {
    /// HTTP/1.1 and HTTP/1.0 responses (RFC 9112).
    Http1(Http1),
    /// A protocol with independent streams.
    Multiplexed(Box<dyn Multiplexed>),
}

/// Makes the protocol of each connection.
#[derive(Clone, Default)]
pub enum ProtocolFactory {
    /// HTTP/1.1.
    #[default]
    Http1,
    /// A multiplexed protocol, made for a number of streams per connection.
    Multiplexed(Arc<dyn Fn(u16) -> Box<dyn Multiplexed> + Send + Sync>),
}

impl ProtocolFactory {
    /// Returns a factory that calls `make` with the greatest number of streams.
    pub fn multiplexed(
        make: impl Fn(u16) -> Box<dyn Multiplexed> + Send + Sync + 'static,
    ) -> ProtocolFactory {
        ProtocolFactory::Multiplexed(Arc::new(make))
    }

    /// True if its protocols carry independent streams.
    pub fn is_multiplexed(&self) -> bool {
        matches!(self, ProtocolFactory::Multiplexed(_))
    }

    /// Returns a protocol with at most `depth` requests in flight.
    ///
    /// # Panics
    /// For HTTP/1 if `depth` is not in 1..=1024.
    pub fn make(&self, depth: u16) -> Protocol {
        match self {
            ProtocolFactory::Http1 => Protocol::http1(depth),
            ProtocolFactory::Multiplexed(make) => Protocol::Multiplexed(make(depth)),
        }
    }
}

impl Debug for ProtocolFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_multiplexed() { "Multiplexed" } else { "Http1" })
    }
}

impl Protocol {
    /// Creates an HTTP/1.1 protocol with at most `depth` requests in flight.
    ///
    /// # Panics
    /// If `depth` is not in 1..=1024.
    pub fn http1(depth: u16) -> Protocol {
        Protocol::Http1(Http1::new(depth))
    }

    /// Changes the limit on requests in flight; the ids of the next ones are below `depth`.
    ///
    /// # Panics
    /// If `depth` is not in 1..=1024, or requests are in flight.
    pub fn set_depth(&mut self, depth: u16) {
        self.as_http1_mut().set_depth(depth);
    }

    /// Sets the part of each response to store for [`Protocol::response`]; the default is nothing.
    /// A reset does not change it.
    ///
    /// # Panics
    /// If there was a request on this socket before.
    pub fn set_interest(&mut self, interest: Interest) {
        self.set_interest_within(interest, &BodyBudget::default());
    }

    /// Like [`Protocol::set_interest`], with a budget that the bodies of several connections share.
    ///
    /// # Panics
    /// As [`Protocol::set_interest`].
    pub fn set_interest_within(&mut self, interest: Interest, budget: &BodyBudget) {
        match self {
            Protocol::Http1(http1) => http1.set_interest(interest, budget),
            Protocol::Multiplexed(streams) => streams.set_interest(interest, budget),
        }
    }

    /// Frees the stored responses that the last call completed, before the next call does.
    pub fn forget_responses(&mut self) {
        match self {
            Protocol::Http1(http1) => http1.forget_responses(),
            Protocol::Multiplexed(streams) => streams.forget_responses(),
        }
    }

    /// Returns the number of requests that it accepts now. It is zero after a request or a response
    /// that closes, after the end of the stream and after an error.
    #[inline]
    pub fn capacity(&self) -> u32 {
        match self {
            Protocol::Http1(http1) => http1.capacity(),
            Protocol::Multiplexed(streams) => streams.capacity(),
        }
    }

    /// Returns the number of requests without a response. Those outstanding after a closing
    /// response, an end of stream or an error are counted until [`Protocol::reset`].
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.as_http1().in_flight()
    }

    /// Records that a request is being sent. There must be [`Protocol::capacity`].
    #[inline]
    pub fn request(&mut self, request: RequestTraits) -> RequestId {
        RequestId(self.requests(request, 1).start)
    }

    /// Records that equal requests are being sent: at least one and at most `most`, for which there
    /// must be [`Protocol::capacity`]. The rest needs another call. Returns their ids.
    #[inline]
    pub fn requests(&mut self, request: RequestTraits, most: u16) -> Range<u16> {
        self.as_http1_mut().requests(request, most)
    }

    /// Parses received bytes and pushes the responses that they complete. Responses completed
    /// before an error are pushed too.
    #[inline]
    pub fn receive(
        &mut self,
        bytes: &[u8],
        events: &mut Vec<ResponseEvent>,
    ) -> Result<(), ProtocolError> {
        self.as_http1_mut().receive(bytes, events)
    }

    /// Like [`Protocol::receive`] with the same result, but much cheaper if the heads of responses
    /// are similar. `known` caches the last head, of this connection or of another. Equal responses
    /// may be merged into one response, so `events` must be this connection's or empty.
    #[inline]
    pub fn receive_cached(
        &mut self,
        bytes: &[u8],
        known: &mut HeadCache,
        events: &mut Vec<ResponseEvent>,
    ) -> Result<(), ProtocolError> {
        self.as_http1_mut().receive_cached(bytes, known, events)
    }

    /// True if, after [`Protocol::receive`], an incomplete response started in the bytes of that
    /// call.
    ///
    /// A response too short to classify counts as final. If it proves to be interim, a later call
    /// or the response itself reports the start of the final one. So the last report counts: a
    /// response with `began_here` false started in the last call after which this was true.
    #[inline]
    pub fn began_here(&self) -> bool {
        self.as_http1().began_here()
    }

    /// Returns the number of following body bytes that the caller may discard. It is the rest of a
    /// `Content-Length` or of a chunk, or `u64::MAX` if the body ends with the connection.
    /// Otherwise, and if bodies are stored, it is 0.
    #[inline]
    pub fn discardable(&self) -> u64 {
        self.as_http1().discardable()
    }

    /// Counts body bytes that the backend discarded instead of passing them to
    /// [`Protocol::receive`].
    ///
    /// # Panics
    /// If there are more than [`Protocol::discardable`]: framing would have been discarded.
    #[inline]
    pub fn skip(
        &mut self,
        bytes: u64,
        events: &mut Vec<ResponseEvent>,
    ) -> Result<(), ProtocolError> {
        self.as_http1_mut().skip(bytes, events)
    }

    /// Handles the end of the server's stream. Completes a body that ends with the connection; an
    /// error if a response was truncated. Requests without any response bytes stay in flight, and
    /// the caller has to handle them.
    pub fn end_of_stream(&mut self, events: &mut Vec<ResponseEvent>) -> Result<(), ProtocolError> {
        self.as_http1_mut().end_of_stream(events)
    }

    /// Returns the `nth` response, from 0, of those that the last call of [`Protocol::receive`],
    /// [`Protocol::skip`] or [`Protocol::end_of_stream`] completed. Each has pushed a response, in
    /// this order. A reset drops them.
    ///
    /// # Panics
    /// If that call completed no more than `nth`, or the interest is [`Interest::Status`].
    pub fn response(&self, nth: usize) -> ReceivedResponse<'_> {
        match self {
            Protocol::Http1(http1) => http1.response(nth),
            Protocol::Multiplexed(streams) => streams.response(nth),
        }
    }

    /// True if a response, final or interim, has started and is incomplete.
    #[inline]
    pub fn is_mid_response(&self) -> bool {
        match self {
            Protocol::Http1(http1) => http1.is_mid_response(),
            Protocol::Multiplexed(streams) => streams.is_mid_response(),
        }
    }

    /// Starts a new socket of the same connection: nothing is in flight, allocations are kept.
    pub fn reset(&mut self) {
        match self {
            Protocol::Http1(http1) => http1.reset(),
            Protocol::Multiplexed(streams) => streams.reset(),
        }
    }

    /// Returns the number of interim responses (1xx) since creation, including before resets.
    pub fn interim_responses(&self) -> u64 {
        match self {
            Protocol::Http1(http1) => http1.interim_responses(),
            Protocol::Multiplexed(streams) => streams.interim_responses(),
        }
    }

    /// Returns the multiplexed protocol, unless this is HTTP/1.
    #[inline]
    pub fn streams(&mut self) -> Option<&mut (dyn Multiplexed + 'static)> {
        match self {
            Protocol::Http1(_) => None,
            Protocol::Multiplexed(streams) => Some(&mut **streams),
        }
    }

    #[inline(always)]
    fn as_http1(&self) -> &Http1 {
        match self {
            Protocol::Http1(http1) => http1,
            Protocol::Multiplexed(_) => not_http1(),
        }
    }

    #[inline(always)]
    fn as_http1_mut(&mut self) -> &mut Http1 {
        match self {
            Protocol::Http1(http1) => http1,
            Protocol::Multiplexed(_) => not_http1(),
        }
    }
}

#[cold]
fn not_http1() -> ! {
    panic!("the protocol is multiplexed, and driven through its streams")
}
