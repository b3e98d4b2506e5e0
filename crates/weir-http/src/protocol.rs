//! One connection's protocol as the engine sees it: [`Protocol`], and the [`Reply`] it yields.
//! Must not know the wire format of any version; that is each version's own module.

use std::ops::Range;

use crate::{Answer, BodyBudget, Http1, Interest, KnownHead, ProtocolError, RequestTraits};

/// Names a request among those in flight on a connection: below the protocol's depth, reused after
/// its reply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestId(pub u16);

/// Requests' final answers, complete and alike: one, or several in a row where
/// [`Protocol::receive_knowing`] found them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reply {
    /// The request that was answered, or the first of them.
    pub id: RequestId,
    /// How many requests were answered, at least 1: their ids are in a row, and what is said here
    /// holds for each.
    pub answers: u16,
    /// The status code as the server wrote it, 200 to 999 (RFC 9110 §15).
    pub status: u16,
    /// Bytes of content, without head, chunk framing and trailers.
    pub body_bytes: u64,
    /// The answer's first byte was in the bytes of the call that completed it. Interim answers
    /// (1xx) before it do not count.
    pub began_here: bool,
    /// The connection must not be used after this reply (RFC 9112 §9.3, §9.6).
    pub closes: bool,
}

impl Reply {
    /// The ids of the requests that were answered.
    #[inline]
    pub fn ids(&self) -> Range<u16> {
        self.id.0..self.id.0 + self.answers
    }
}

/// One connection's HTTP, as the client speaks it.
///
/// After an error the value yields that error again until [`Protocol::reset`].
#[derive(Debug)]
pub enum Protocol {
    /// HTTP/1.1 and HTTP/1.0 answers (RFC 9112).
    Http1(Http1),
}

impl Protocol {
    /// HTTP/1.1 with at most `depth` requests in flight.
    ///
    /// # Panics
    /// If `depth` is not in 1..=1024.
    pub fn http1(depth: u16) -> Protocol {
        Protocol::Http1(Http1::new(depth))
    }

    /// Changes how many requests may be in flight; the ids of the next ones are below `depth`.
    ///
    /// # Panics
    /// If `depth` is not in 1..=1024, or requests are in flight.
    pub fn set_depth(&mut self, depth: u16) {
        match self {
            Protocol::Http1(http1) => http1.set_depth(depth),
        }
    }

    /// What is kept of answers for [`Protocol::answer`]; nothing if it is never said. A reset does
    /// not change it.
    ///
    /// # Panics
    /// If not before any request on this socket.
    pub fn set_interest(&mut self, interest: Interest) {
        self.set_interest_within(interest, &BodyBudget::default());
    }

    /// The same where the bodies of several connections share a budget.
    ///
    /// # Panics
    /// As [`Protocol::set_interest`].
    pub fn set_interest_within(&mut self, interest: Interest, budget: &BodyBudget) {
        match self {
            Protocol::Http1(http1) => http1.set_interest(interest, budget),
        }
    }

    /// Gives back what is kept of the answers that the last call completed, ahead of the next one.
    pub fn forget_answers(&mut self) {
        match self {
            Protocol::Http1(http1) => http1.forget_answers(),
        }
    }

    /// How many requests it would accept now: none after a request or a reply that closes, after
    /// the end of the stream and after an error.
    #[inline]
    pub fn capacity(&self) -> u32 {
        match self {
            Protocol::Http1(http1) => http1.capacity(),
        }
    }

    /// How many requests wait for their reply. Those that a closing reply, an end of stream or an
    /// error left behind stay counted until [`Protocol::reset`].
    #[inline]
    pub fn in_flight(&self) -> u32 {
        match self {
            Protocol::Http1(http1) => http1.in_flight(),
        }
    }

    /// Notes that a request's bytes are going out. There must be [`Protocol::capacity`].
    #[inline]
    pub fn request(&mut self, request: RequestTraits) -> RequestId {
        RequestId(self.requests(request, 1).start)
    }

    /// Notes that the bytes of requests that are alike are going out: at least one and at most
    /// `most`, for which there must be [`Protocol::capacity`]; the others are for the next call.
    /// Returns their ids.
    #[inline]
    pub fn requests(&mut self, request: RequestTraits, most: u16) -> Range<u16> {
        match self {
            Protocol::Http1(http1) => http1.requests(request, most),
        }
    }

    /// Takes received bytes and pushes the replies that they complete. Replies completed before an
    /// error are pushed too.
    #[inline]
    pub fn receive(&mut self, bytes: &[u8], replies: &mut Vec<Reply>) -> Result<(), ProtocolError> {
        match self {
            Protocol::Http1(http1) => http1.receive(bytes, replies),
        }
    }

    /// As [`Protocol::receive`] and with the same result, at a fraction of its cost where the heads
    /// of answers are alike: `known` has the last one, of this connection or of another. Answers
    /// that are alike may be in one reply; so `replies` must be this connection's or empty.
    #[inline]
    pub fn receive_knowing(
        &mut self,
        bytes: &[u8],
        known: &mut KnownHead,
        replies: &mut Vec<Reply>,
    ) -> Result<(), ProtocolError> {
        match self {
            Protocol::Http1(http1) => http1.receive_knowing(bytes, known, replies),
        }
    }

    /// After [`Protocol::receive`]: an answer is unfinished and its first byte was in that call.
    ///
    /// An answer too short to tell is taken for a final one; if it proves to be interim, a later
    /// call or the reply itself says where the final one began. So the last word counts: a reply
    /// with `began_here` false began in the last call after which this was true.
    #[inline]
    pub fn began_here(&self) -> bool {
        match self {
            Protocol::Http1(http1) => http1.began_here(),
        }
    }

    /// How many body bytes certainly follow that nobody need look at: what is left of a
    /// `Content-Length` or of a chunk, `u64::MAX` where the body ends with the connection, 0
    /// elsewhere and where bodies are kept.
    #[inline]
    pub fn discardable(&self) -> u64 {
        match self {
            Protocol::Http1(http1) => http1.discardable(),
        }
    }

    /// Counts body bytes that the machine threw away instead of handing them to
    /// [`Protocol::receive`].
    ///
    /// # Panics
    /// If there are more than [`Protocol::discardable`]: framing would have been thrown away.
    #[inline]
    pub fn skip(&mut self, bytes: u64, replies: &mut Vec<Reply>) -> Result<(), ProtocolError> {
        match self {
            Protocol::Http1(http1) => http1.skip(bytes, replies),
        }
    }

    /// The server closed its side. Completes a body that ends with the connection; an error if an
    /// answer was cut short. Requests whose answer had not begun stay in flight, and are the
    /// caller's business.
    pub fn end_of_stream(&mut self, replies: &mut Vec<Reply>) -> Result<(), ProtocolError> {
        match self {
            Protocol::Http1(http1) => http1.end_of_stream(replies),
        }
    }

    /// The `nth` answer, from 0, of those that the last call of [`Protocol::receive`],
    /// [`Protocol::skip`] or [`Protocol::end_of_stream`] completed: each has pushed a reply, in
    /// this order. A reset forgets them.
    ///
    /// # Panics
    /// If that call completed no more than `nth`, or the interest is [`Interest::Status`].
    pub fn answer(&self, nth: usize) -> Answer<'_> {
        match self {
            Protocol::Http1(http1) => http1.answer(nth),
        }
    }

    /// An answer, final or interim, has begun and is not finished.
    #[inline]
    pub fn is_mid_answer(&self) -> bool {
        match self {
            Protocol::Http1(http1) => http1.is_mid_answer(),
        }
    }

    /// A new socket under the same connection: nothing is in flight, allocations are kept.
    pub fn reset(&mut self) {
        match self {
            Protocol::Http1(http1) => http1.reset(),
        }
    }

    /// Interim answers (1xx) seen since the value was made, resets included.
    pub fn interim_responses(&self) -> u64 {
        match self {
            Protocol::Http1(http1) => http1.interim_responses(),
        }
    }
}
