//! Client side of HTTP/1 (RFC 9112): the state of one connection, with the current response and
//! the parsing progress. Independent of sockets and times; `message` has the parts of messages.

mod capture;
mod head_cache;
mod in_flight;
mod keeping;

use std::ops::Range;

use crate::budget::BodyBudget;
use crate::error::ProtocolError;
use crate::message::chunked::ChunkFraming;
use crate::message::framing::{BodyEnd, response_has_body};
use crate::message::section::{Paused, Section};
use crate::messages::{MessageFormat, ReceivedMessage};
use crate::received_response::{Interest, ReceivedResponse};
use crate::request_id::RequestId;
use crate::request_traits::RequestTraits;
use crate::response_event::ResponseEvent;
pub(crate) use capture::Capture;
pub use head_cache::HeadCache;
use head_cache::HeadSemantics;
use in_flight::InFlight;
pub(crate) use keeping::completed_response;
pub use keeping::unfinished_response;

/// HTTP/1.1, the client side of one connection. Requests are prepared bytes, and responses arrive
/// in their order.
///
/// After an error, every call returns that error again until [`Http1::reset`].
///
/// One cache line, so that a hundred thousand connections fit in memory. State needed only by an
/// incomplete section, a stored response or a deep pipeline is boxed.
#[derive(Debug)]
pub struct Http1 {
    in_flight: InFlight,
    /// Bytes left of the current body or chunk; while a chunk's size is parsed, the size.
    left: u64,
    /// Content bytes of the current response so far.
    body_bytes: u64,
    extra: Option<Box<Extra>>,
    interim: u32,
    chunk: ChunkFraming,
    status: u16,
    phase: ResponseElement,
    /// True if the current response ends the connection.
    closes: bool,
    /// True if the first byte of the current response was in the last bytes received.
    began_here: bool,
    /// Part of responses that is stored; anything but the status requires a [`Capture`].
    interest: Interest,
}

/// State that few connections need.
#[derive(Debug, Default)]
struct Extra {
    /// The incomplete section at the end of the last bytes; kept afterwards for its buffer.
    paused: Paused,
    capture: Option<Box<Capture>>,
}

/// Element that the next byte belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ResponseElement {
    /// A new response.
    Start,
    /// A head that is paused.
    Head,
    /// `left` bytes of a body of known length.
    Fixed,
    /// A chunk-size line, or the line end before it.
    ChunkLine,
    /// `left` bytes of a chunk.
    ChunkData,
    /// A trailer section.
    TrailerStart,
    /// A trailer section that is paused.
    Trailers,
    /// A body that ends with the connection.
    UntilClose,
    /// Nothing: the connection has ended.
    Closed,
    /// Nothing: this error occurred.
    Failed(ProtocolError),
}

impl Http1 {
    /// Returns the protocol of a connection with at most `depth` requests in flight.
    ///
    /// # Panics
    /// If `depth` is not in 1..=1024.
    pub fn new(depth: u16) -> Http1 {
        Http1 {
            in_flight: InFlight::new(depth),
            left: 0,
            body_bytes: 0,
            extra: None,
            interim: 0,
            chunk: ChunkFraming::default(),
            status: 0,
            phase: ResponseElement::Start,
            closes: false,
            began_here: false,
            interest: Interest::Status,
        }
    }

    /// Changes the limit on requests in flight; the ids of the next ones are below `depth`.
    ///
    /// # Panics
    /// If `depth` is not in 1..=1024, or requests are in flight.
    pub fn set_depth(&mut self, depth: u16) {
        self.in_flight.set_depth(depth);
    }

    /// Sets the part of each response to store for [`Http1::response`], with a budget that the
    /// bodies of several connections share. The default is nothing. A reset does not change it.
    ///
    /// # Panics
    /// If there was a request on this socket before.
    pub fn set_interest(&mut self, interest: Interest, budget: &BodyBudget) {
        let is_fresh = self.in_flight.count == 0 && self.phase == ResponseElement::Start;
        assert!(is_fresh, "interest is set before any request");
        self.interest = interest;
        if interest != Interest::Status || self.extra.is_some() {
            self.extra.get_or_insert_default().capture = Capture::new(interest, budget);
        }
    }

    /// Splits bodies into messages from now on, for [`Http1::messages`].
    ///
    /// # Panics
    /// If the interest is [`Interest::Status`].
    pub fn set_messages(&mut self, format: &MessageFormat) {
        let capture = self.extra.as_mut().and_then(|extra| extra.capture.as_mut());
        capture.expect("responses that are split are kept").split(format);
    }

    /// Returns the number of requests that it accepts now. It is zero after a request or a response
    /// that closes, after the end of the stream and after an error.
    #[inline]
    pub fn capacity(&self) -> u32 {
        match self.phase {
            ResponseElement::Closed | ResponseElement::Failed(_) => 0,
            _ => u32::from(self.in_flight.capacity()),
        }
    }

    /// Returns the number of requests without a response. Those outstanding after a closing
    /// response, an end of stream or an error are counted until [`Http1::reset`].
    #[inline]
    pub fn in_flight(&self) -> u32 {
        u32::from(self.in_flight.count)
    }

    /// Records that a request is being sent. There must be [`Http1::capacity`].
    #[inline]
    pub fn request(&mut self, request: RequestTraits) -> RequestId {
        RequestId(self.requests(request, 1).start)
    }

    /// Records that equal requests are being sent: at least one and at most `most`, for which there
    /// must be [`Http1::capacity`]. The rest needs another call. Returns their ids.
    #[inline]
    pub fn requests(&mut self, request: RequestTraits, most: u16) -> Range<u16> {
        debug_assert!(u32::from(most) <= self.capacity(), "requests need capacity");
        self.in_flight.push(request, most)
    }

    /// Parses received bytes and pushes the responses that they complete. Responses completed
    /// before an error are pushed too.
    ///
    /// # Errors
    /// If the bytes are no valid response.
    pub fn receive(
        &mut self,
        bytes: &[u8],
        events: &mut Vec<ResponseEvent>,
    ) -> Result<(), ProtocolError> {
        self.read(bytes, None, events)
    }

    /// Like [`Http1::receive`] with the same result, but much cheaper if the heads of responses are
    /// similar. `known` caches the last head, of this connection or of another. Equal responses may
    /// be merged into one response, so `events` must be this connection's or empty.
    ///
    /// # Errors
    /// As [`Http1::receive`].
    pub fn receive_cached(
        &mut self,
        bytes: &[u8],
        known: &mut HeadCache,
        events: &mut Vec<ResponseEvent>,
    ) -> Result<(), ProtocolError> {
        self.read(bytes, Some(known), events)
    }

    /// True if, after [`Http1::receive`], an incomplete response started in the bytes of that call.
    ///
    /// A response too short to classify counts as final. If it proves to be interim, a later call
    /// or the response itself reports the start of the final one. So the last report counts: a
    /// response with `began_here` false started in the last call after which this was true.
    #[inline]
    pub fn began_here(&self) -> bool {
        self.began_here
    }

    /// Returns the number of following body bytes that the caller may discard. It is the rest of a
    /// `Content-Length` or of a chunk, or `u64::MAX` if the body ends with the connection.
    /// Otherwise, and if bodies are stored or split, it is 0.
    #[inline]
    pub fn discardable(&self) -> u64 {
        match self.phase {
            _ if self.interest != Interest::Status && self.reads_bodies() => 0,
            ResponseElement::Fixed | ResponseElement::ChunkData => self.left,
            ResponseElement::UntilClose => u64::MAX,
            _ => 0,
        }
    }

    /// True if bodies are stored or split into messages.
    #[cold]
    fn reads_bodies(&self) -> bool {
        let capture = self.extra.as_ref().and_then(|extra| extra.capture.as_ref());
        self.interest == Interest::Body || capture.is_some_and(|capture| capture.splits())
    }

    /// Counts body bytes that the backend discarded instead of passing them to [`Http1::receive`].
    ///
    /// # Errors
    /// As [`Http1::receive`].
    ///
    /// # Panics
    /// If there are more than [`Http1::discardable`]: framing would have been discarded.
    pub fn skip(
        &mut self,
        bytes: u64,
        events: &mut Vec<ResponseEvent>,
    ) -> Result<(), ProtocolError> {
        self.begin_call();
        if let ResponseElement::Failed(error) = self.phase {
            return Err(error);
        }
        let discardable = self.discardable();
        assert!(bytes <= discardable, "skipped {bytes} bytes of {discardable}");
        if bytes > 0 {
            let completed = events.len();
            self.body(bytes, events);
            self.keep_completed(events.len() > completed);
        }
        Ok(())
    }

    /// Handles the end of the server's stream. Completes a body that ends with the connection.
    /// Requests without any response bytes stay in flight, and the caller has to handle them.
    ///
    /// # Errors
    /// If a response was truncated.
    pub fn end_of_stream(&mut self, events: &mut Vec<ResponseEvent>) -> Result<(), ProtocolError> {
        self.begin_call();
        match self.phase {
            ResponseElement::Start | ResponseElement::Closed => {
                self.phase = ResponseElement::Closed
            }
            ResponseElement::UntilClose => {
                self.complete(events);
                self.keep_completed(true);
            }
            ResponseElement::Head => return Err(self.fail(ProtocolError::ClosedInHead)),
            ResponseElement::Fixed
            | ResponseElement::ChunkLine
            | ResponseElement::ChunkData
            | ResponseElement::TrailerStart
            | ResponseElement::Trailers => return Err(self.fail(ProtocolError::ClosedInBody)),
            ResponseElement::Failed(error) => return Err(error),
        }
        Ok(())
    }

    /// True if a response, final or interim, has started and is incomplete.
    #[inline]
    pub fn is_mid_response(&self) -> bool {
        !matches!(
            self.phase,
            ResponseElement::Start | ResponseElement::Closed | ResponseElement::Failed(_)
        )
    }

    /// Starts a new socket of the same connection: nothing is in flight, allocations are kept.
    pub fn reset(&mut self) {
        self.in_flight.clear();
        self.begin_call();
        self.forget_unfinished();
        (self.phase, self.began_here) = (ResponseElement::Start, false);
    }

    /// Returns the number of interim responses (1xx) since creation, including before resets.
    pub fn interim_responses(&self) -> u64 {
        u64::from(self.interim)
    }

    /// Returns the `nth` response, from 0, of those that the last call of [`Http1::receive`],
    /// [`Http1::skip`] or [`Http1::end_of_stream`] completed. Each has pushed a response, in this
    /// order. A reset drops them.
    ///
    /// # Panics
    /// If that call completed no more than `nth`, or the interest is [`Interest::Status`].
    pub fn response(&self, nth: usize) -> ReceivedResponse<'_> {
        let capture = self.extra.as_ref().and_then(|extra| extra.capture.as_ref());
        capture.expect("responses are kept if there is interest in them").response(nth)
    }

    /// Returns the messages that the last call completed, in order, of one response after the
    /// other.
    pub fn messages(&self) -> &[ReceivedMessage] {
        let capture = self.extra.as_ref().and_then(|extra| extra.capture.as_ref());
        capture.map_or(&[], |capture| capture.messages())
    }

    /// Parses the bytes passed to [`Http1::receive`]; cached heads are not parsed.
    #[inline]
    fn read(
        &mut self,
        bytes: &[u8],
        mut known: Option<&mut HeadCache>,
        events: &mut Vec<ResponseEvent>,
    ) -> Result<(), ProtocolError> {
        if self.interest != Interest::Status {
            return self.receive_and_keep(bytes, known, events);
        }
        self.began_here = false;
        let mut rest = bytes;
        while !rest.is_empty() {
            match self.advance(rest, known.as_deref_mut(), events) {
                Ok(used) => rest = &rest[used..],
                Err(error) => return Err(self.fail(error)),
            }
        }
        Ok(())
    }

    /// Parses the start of `bytes`, which are not empty, as far as it belongs to one phase. Returns
    /// the number of bytes, at least one.
    #[inline(always)]
    fn advance(
        &mut self,
        bytes: &[u8],
        known: Option<&mut HeadCache>,
        events: &mut Vec<ResponseEvent>,
    ) -> Result<usize, ProtocolError> {
        match self.phase {
            ResponseElement::Start => self.start(bytes, known, events),
            ResponseElement::Fixed | ResponseElement::ChunkData => {
                let used = self.left.min(bytes.len() as u64);
                self.body(used, events);
                Ok(used as usize)
            }
            ResponseElement::UntilClose => {
                self.body(bytes.len() as u64, events);
                Ok(bytes.len())
            }
            ResponseElement::ChunkLine => {
                let (used, is_end) = self.chunk.read(&mut self.left, bytes, false)?;
                if is_end {
                    self.phase = match self.left {
                        0 => ResponseElement::TrailerStart,
                        _ => ResponseElement::ChunkData,
                    };
                }
                Ok(used)
            }
            ResponseElement::TrailerStart => {
                let mut section = Section::trailers();
                let progress = section.read(bytes)?;
                if progress.is_finished {
                    self.complete(events);
                    return Ok(progress.bytes);
                }
                self.pause(ResponseElement::Trailers, section, &bytes[progress.bytes..]);
                Ok(bytes.len())
            }
            ResponseElement::Head | ResponseElement::Trailers => self.resume(bytes, events),
            // §9.6: after a response that closes, nothing more is parsed. The bytes may be
            // responses to requests in flight, which are not trusted; without requests in flight
            // they are an error.
            ResponseElement::Closed if self.in_flight.count > 0 => Ok(bytes.len()),
            ResponseElement::Closed => Err(ProtocolError::UnsolicitedBytes),
            ResponseElement::Failed(error) => Err(error),
        }
    }

    #[inline(always)]
    fn start(
        &mut self,
        bytes: &[u8],
        mut known: Option<&mut HeadCache>,
        events: &mut Vec<ResponseEvent>,
    ) -> Result<usize, ProtocolError> {
        if self.in_flight.count == 0 {
            return Err(ProtocolError::UnsolicitedBytes);
        }
        self.began_here = true;
        if let Some(known) = &mut known
            && let Some((head_bytes, meaning)) = known.find(bytes)
        {
            if let Some(used) = self.alike(known, head_bytes, meaning, bytes, events) {
                return Ok(used);
            }
            let body_bytes = (bytes.len() - head_bytes) as u64;
            return Ok(head_bytes + self.begin(meaning, body_bytes, events) as usize);
        }
        let mut section = Section::default();
        let progress = section.read(bytes)?;
        if !progress.is_finished {
            self.pause(ResponseElement::Head, section, &bytes[progress.bytes..]);
            return Ok(bytes.len());
        }
        let meaning = self.head(&section, events)?;
        if let (Some(known), Some(meaning)) = (known, meaning) {
            known.learn(&bytes[..progress.bytes], bytes.len(), meaning);
        }
        Ok(progress.bytes)
    }

    /// Consumes all complete responses with the cached head, which `bytes` start with, if there are
    /// several. Returns the number of bytes consumed; `None` if they have to be parsed one by one.
    #[inline(always)]
    fn alike(
        &mut self,
        known: &HeadCache,
        head_bytes: usize,
        head: HeadSemantics,
        bytes: &[u8],
        events: &mut Vec<ResponseEvent>,
    ) -> Option<usize> {
        let BodyEnd::Fixed(body_bytes) = head.body else { return None };
        let length = head_bytes.checked_add(usize::try_from(body_bytes).ok()?)?;
        if head.closes || bytes.len() / 2 < length {
            return None;
        }
        let more = self.in_flight.plain().checked_sub(1)?;
        let rest = bytes[length..].chunks_exact(length).take(more.into());
        let count = 1 + known.count(rest) as u16;
        let id = self.in_flight.pop(count);
        let status = head.status;
        let event =
            ResponseEvent { id, count, status, body_bytes, began_here: true, closes: false };
        match events.last_mut() {
            // Even if heads vary, runs of equal responses are merged.
            Some(last)
                if last.ids().end == id.0 && (ResponseEvent { id, count, ..*last }) == event =>
            {
                last.count += count;
            }
            _ => events.push(event),
        }
        self.began_here = false;
        Some(length * usize::from(count))
    }

    #[cold]
    fn pause(&mut self, phase: ResponseElement, section: Section, rest: &[u8]) {
        self.extra.get_or_insert_default().paused.pause(section, rest);
        self.phase = phase;
    }

    #[cold]
    fn resume(
        &mut self,
        bytes: &[u8],
        events: &mut Vec<ResponseEvent>,
    ) -> Result<usize, ProtocolError> {
        let extra = self.extra.as_mut().expect("a paused phase has its section here");
        let paused = &mut extra.paused;
        let progress = paused.resume(bytes)?;
        if progress.is_finished {
            let section = paused.section;
            paused.clear();
            match self.phase {
                ResponseElement::Trailers => self.complete(events),
                _ => {
                    self.head(&section, events)?;
                }
            }
        }
        Ok(progress.bytes)
    }

    /// Handles a complete head: determines the body (RFC 9112 §6.3). Returns the semantics for
    /// every request but HEAD, unless they were not evaluated.
    #[inline]
    fn head(
        &mut self,
        head: &Section,
        events: &mut Vec<ResponseEvent>,
    ) -> Result<Option<HeadSemantics>, ProtocolError> {
        let Section { status, minor, framing, .. } = *head;
        if status < 200 {
            self.interim(status)?;
            return Ok(None);
        }
        let is_head = self.in_flight.oldest_is_head();
        let body = match response_has_body(status, is_head) {
            true => framing.body(minor)?,
            false => BodyEnd::Fixed(0),
        };
        let meaning = HeadSemantics { status, closes: framing.closes(minor), body };
        self.begin(meaning, 0, events);
        Ok((!is_head).then_some(meaning))
    }

    /// Starts the body after a head, after which `bytes` bytes are available. Returns the number of
    /// bytes consumed: the whole body if it is complete, otherwise none.
    #[inline(always)]
    fn begin(&mut self, head: HeadSemantics, bytes: u64, events: &mut Vec<ResponseEvent>) -> u64 {
        self.status = head.status;
        self.body_bytes = 0;
        self.closes = head.closes || self.in_flight.oldest_closes();
        match head.body {
            _ if self.in_flight.oldest_is_head() => self.complete(events),
            BodyEnd::Fixed(length) if length <= bytes => {
                self.body_bytes = length;
                self.complete(events);
                return length;
            }
            BodyEnd::Fixed(length) => (self.phase, self.left) = (ResponseElement::Fixed, length),
            BodyEnd::Chunked => self.chunk_line(ChunkFraming::default()),
            BodyEnd::UntilClose => (self.phase, self.closes) = (ResponseElement::UntilClose, true),
        }
        0
    }

    /// Handles a complete interim response; the final one is still to come (RFC 9110 §15.2).
    #[cold]
    fn interim(&mut self, status: u16) -> Result<(), ProtocolError> {
        if status == 101 {
            return Err(ProtocolError::SwitchingProtocols);
        }
        self.interim = self.interim.saturating_add(1);
        (self.phase, self.began_here) = (ResponseElement::Start, false);
        Ok(())
    }

    fn chunk_line(&mut self, framing: ChunkFraming) {
        (self.phase, self.left, self.chunk) = (ResponseElement::ChunkLine, 0, framing);
    }

    /// Counts body bytes, at least one and at most [`Http1::discardable`].
    #[inline(always)]
    fn body(&mut self, bytes: u64, events: &mut Vec<ResponseEvent>) {
        self.body_bytes = self.body_bytes.saturating_add(bytes);
        if self.phase == ResponseElement::UntilClose {
            return;
        }
        self.left -= bytes;
        if self.left > 0 {
            return;
        }
        match self.phase {
            ResponseElement::ChunkData => self.chunk_line(ChunkFraming::next()),
            _ => self.complete(events),
        }
    }

    #[inline(always)]
    fn complete(&mut self, events: &mut Vec<ResponseEvent>) {
        events.push(ResponseEvent {
            id: self.in_flight.pop(1),
            count: 1,
            status: self.status,
            body_bytes: self.body_bytes,
            began_here: self.began_here,
            closes: self.closes,
        });
        self.began_here = false;
        self.phase = if self.closes { ResponseElement::Closed } else { ResponseElement::Start };
    }

    #[cold]
    fn fail(&mut self, error: ProtocolError) -> ProtocolError {
        (self.phase, self.began_here) = (ResponseElement::Failed(error), false);
        self.forget_unfinished();
        error
    }

    #[cold]
    fn forget_unfinished(&mut self) {
        if let Some(extra) = &mut self.extra {
            extra.paused.clear();
            if let Some(capture) = &mut extra.capture {
                capture.forget_unfinished();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_connection_is_one_cache_line() {
        assert!(size_of::<crate::Http1>() <= 64, "{}", size_of::<crate::Http1>());
    }
}
