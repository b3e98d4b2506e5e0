//! The client's connection above frames: the states of its streams (RFC 9113 §5.1), and the events
//! that received frames cause. Independent of how frames are cut from bytes.

mod control;

use std::sync::Arc;

use super::super::fault::{ErrorCode, H2Fault};
use super::super::fields::ResponseFields;
use super::super::frame::{H2Frame, Settings, push_ping, push_reset, push_window_update};
use super::super::link::H2Link;
use super::super::options::H2Options;
use super::super::stream_table::StreamTable;
use super::super::windows::SendWindow;
use super::cancel_rate::CancelRate;
use super::captures::Captures;
use super::head_cache::H2HeadCache;
use super::request_cache::RequestCache;
use super::stream::{ClientStream, Upload};
use super::uploads::Uploads;
use crate::message::framing::response_has_body;
use crate::multiplexed::{StreamEvent, StreamEventKind};
use crate::request::Request;
use crate::request_id::RequestId;

/// Greatest number of a stream.
const STREAM_MAX: u32 = (1 << 31) - 1;

/// Content of a probe, which the server returns.
const PROBE: [u8; 8] = *b"weir/2.0";

/// State of the client's side of one connection.
#[derive(Debug)]
pub(super) struct ClientSession {
    pub(super) settings: Settings,
    /// Greatest number of requests in flight.
    streams_max: u32,
    pub(super) link: H2Link,
    pub(super) streams: StreamTable<ClientStream>,
    /// Number of a connection's first stream.
    pub(super) first_stream: u32,
    /// Number of the next stream.
    pub(super) next_stream: u32,
    requests: RequestCache,
    pub(super) heads: H2HeadCache,
    trailers: H2HeadCache,
    /// Stored responses; `None` if nothing reads them.
    pub(super) captures: Option<Box<Captures>>,
    pub(super) uploads: Uploads,
    cancel_rate: CancelRate,
    /// True after GOAWAY, or if too many streams were cancelled.
    is_retiring: bool,
    /// Reason of the server's GOAWAY: of several, the last that is an error.
    pub(super) goaway: Option<ErrorCode>,
    /// Streams whose final response has begun.
    pub(super) begun: u32,
    pub(super) interim_responses: u64,
    /// Events of the current call of `receive`.
    pub(super) events: Vec<StreamEvent>,
    /// Time of the last call.
    pub(super) now_ns: u64,
    /// Time at which the server last sent something.
    pub(super) received_ns: u64,
    /// Time of the last probe.
    probed_ns: Option<u64>,
}

impl ClientSession {
    pub(super) fn new(streams: u16, options: &H2Options) -> ClientSession {
        ClientSession {
            settings: options.settings,
            streams_max: streams.into(),
            link: H2Link::new(options),
            streams: StreamTable::new(streams.into()),
            first_stream: 1,
            next_stream: 1,
            requests: RequestCache::default(),
            heads: H2HeadCache::default(),
            trailers: H2HeadCache::default(),
            captures: None,
            uploads: Uploads::default(),
            cancel_rate: CancelRate::default(),
            is_retiring: false,
            goaway: None,
            begun: 0,
            interim_responses: 0,
            events: Vec::new(),
            now_ns: 0,
            received_ns: 0,
            probed_ns: None,
        }
    }

    /// Starts a new connection; counts and allocations are kept.
    pub(super) fn reset(&mut self) {
        self.link.reset();
        self.streams.open().for_each(|(_, _, stream)| stream.upload = None);
        self.streams.clear();
        self.next_stream = self.first_stream;
        self.requests.clear();
        self.heads.clear();
        self.trailers.clear();
        self.uploads.clear(self.now_ns);
        if let Some(captures) = &mut self.captures {
            captures.forget_unfinished();
        }
        self.cancel_rate = CancelRate::default();
        (self.is_retiring, self.goaway, self.begun) = (false, None, 0);
        self.probed_ns = None;
    }

    #[inline]
    pub(super) fn is_retiring(&self) -> bool {
        self.is_retiring || self.next_stream > STREAM_MAX
    }

    #[inline]
    pub(super) fn capacity(&self) -> u32 {
        let Some(peer) = &self.link.peer else { return 0 };
        if self.is_retiring() || self.link.check().is_err() {
            return 0;
        }
        let most = self.streams_max.min(peer.max_concurrent_streams.unwrap_or(u32::MAX));
        let numbers_left = (STREAM_MAX - self.next_stream) / 2 + 1;
        most.saturating_sub(self.streams.len()).min(numbers_left)
    }

    #[inline]
    pub(super) fn forget_responses(&mut self) {
        if let Some(captures) = &mut self.captures {
            captures.forget_completed();
        }
    }

    /// Returns the memory that received frames have caused it to hold, in bytes.
    pub(super) fn held_bytes(&self) -> usize {
        let captures = self.captures.as_ref().map_or(0, |captures| captures.held_bytes());
        self.link.held_bytes() + self.heads.held_bytes() + self.trailers.held_bytes() + captures
    }

    #[inline]
    pub(super) fn request(&mut self, request: &Arc<Request>, now_ns: u64) -> RequestId {
        debug_assert!(self.capacity() > 0, "a request needs capacity");
        self.now_ns = now_ns;
        let number = self.next_stream;
        self.next_stream += 2;
        let slot = self.streams.insert(number);
        let frame_bytes_max = self.link.frame_bytes_max();
        let send_window = SendWindow::new(self.link.initial_window());
        let encoder = &mut self.link.encoder;
        let out = &mut self.link.out;
        let traits = self.requests.push(request, number, encoder, frame_bytes_max, out);
        let upload = traits.has_body.then(|| Upload { request: Arc::clone(request), sent: 0 });
        if upload.is_some() {
            self.uploads.add(slot);
        }
        let is_head = traits.is_head;
        *self.streams.state(slot) = ClientStream {
            requested_ns: now_ns,
            is_head,
            send_window,
            upload,
            ..ClientStream::default()
        };
        RequestId(slot)
    }

    pub(super) fn cancel(&mut self, RequestId(slot): RequestId, now_ns: u64) {
        self.now_ns = now_ns;
        let number = self.streams.stream(slot);
        if number == 0 {
            return;
        }
        self.link.reset_stream(number, ErrorCode::CANCEL);
        let requested_ns = self.streams.state(slot).requested_ns;
        let is_dead = self.is_dead(requested_ns);
        self.remove(slot);
        self.is_retiring |= self.cancel_rate.cancelled(now_ns) || is_dead;
    }

    /// Probes a server that has sent nothing since a request that is given up. Returns true if that
    /// request came after a probe without a response: then nothing listens any more.
    fn is_dead(&mut self, requested_ns: u64) -> bool {
        if self.received_ns > requested_ns {
            return false;
        }
        match self.probed_ns {
            Some(probed_ns) if probed_ns >= self.received_ns => {
                requested_ns >= probed_ns && self.now_ns > probed_ns
            }
            _ => {
                push_ping(&mut self.link.out, PROBE, false);
                self.probed_ns = Some(self.now_ns);
                false
            }
        }
    }

    /// Handles a frame, whose first byte arrived at `begun_ns`, and notes the events in it.
    #[inline]
    pub(super) fn handle(&mut self, frame: H2Frame<'_>, begun_ns: u64) -> Result<(), H2Fault> {
        match frame {
            H2Frame::Headers { stream, block, is_end } if self.link.peer.is_some() => {
                self.headers(stream, block, is_end, begun_ns)
            }
            H2Frame::Data { stream, data, flow_bytes, is_end } if self.link.peer.is_some() => {
                self.data(stream, data, flow_bytes, is_end)
            }
            other => self.control(other),
        }
    }

    fn headers(
        &mut self,
        number: u32,
        block: &[u8],
        is_end: bool,
        begun_ns: u64,
    ) -> Result<(), H2Fault> {
        let slot = self.streams.find(number);
        let is_trailers = slot.is_some_and(|slot| self.streams.state(slot).has_head);
        let known = if is_trailers { &mut self.trailers } else { &mut self.heads };
        let fields = match &mut self.captures {
            None => known.read(&mut self.link.decoder, block)?,
            Some(captures) => {
                known.read_lines(&mut self.link.decoder, block, &mut captures.lines)?
            }
        };
        let Some(slot) = slot else {
            self.link.late(number, self.is_idle(number))?;
            return self.link.count_idle();
        };
        if fields.is_malformed || fields.is_too_large {
            let fault =
                if fields.is_malformed { H2Fault::MALFORMED } else { H2Fault::HEAD_TOO_LARGE };
            self.fail_stream(slot, fault);
            return Ok(());
        }
        let stream = self.streams.state(slot);
        match fields.status {
            0 if stream.has_head && is_end => {
                self.keep_lines(slot);
                self.finish(slot);
            }
            100..=199 if !stream.has_head && !is_end && fields.status != 101 => {
                self.interim_responses += 1;
                self.link.count_idle()?;
            }
            200.. if !stream.has_head => {
                self.response(slot, fields, is_end, begun_ns);
            }
            _ => self.fail_stream(slot, H2Fault::MALFORMED),
        }
        Ok(())
    }

    /// Handles the head of a final response.
    #[inline]
    fn response(&mut self, slot: u16, fields: ResponseFields, is_end: bool, begun_ns: u64) {
        self.link.count_content();
        let stream = self.streams.state(slot);
        (stream.has_head, stream.status) = (true, fields.status);
        stream.missing = match response_has_body(fields.status, stream.is_head) {
            true => fields.content_length,
            false => Some(0),
        };
        self.begun += 1;
        self.keep_lines(slot);
        if !is_end || begun_ns < self.now_ns {
            let kind = StreamEventKind::Began { at_ns: begun_ns };
            self.events.push(StreamEvent { id: RequestId(slot), kind });
        }
        if is_end {
            self.finish(slot);
        }
    }

    #[inline]
    fn data(
        &mut self,
        number: u32,
        data: &[u8],
        flow_bytes: u32,
        is_end: bool,
    ) -> Result<(), H2Fault> {
        if flow_bytes > 0 {
            self.link.take_data(flow_bytes)?;
        }
        let slot = self.streams.find(number);
        let bytes = data.len();
        if bytes == 0 && (!is_end || slot.is_none()) {
            self.link.count_idle()?;
        }
        let Some(slot) = slot else { return self.link.late(number, self.is_idle(number)) };
        let stream = self.streams.state(slot);
        if !stream.has_head {
            self.fail_stream(slot, H2Fault::PROTOCOL);
            return Ok(());
        }
        stream.receive_window.take(flow_bytes, self.link.stream_window_bytes)?;
        if let Some(missing) = &mut stream.missing {
            match missing.checked_sub(bytes as u64) {
                Some(rest) => *missing = rest,
                None => {
                    self.fail_stream(slot, H2Fault::BODY_LENGTH);
                    return Ok(());
                }
            }
        }
        if bytes > 0 {
            self.link.count_content();
        }
        if let Some(captures) = &mut self.captures {
            captures.body(slot, data);
        }
        if is_end {
            self.finish(slot);
        } else if let Some(bytes) = stream.receive_window.refill(self.settings.initial_window_bytes)
        {
            push_window_update(&mut self.link.out, number, bytes);
        }
        Ok(())
    }

    /// Stores the field lines of the block that is being handled, if something reads them.
    #[inline]
    fn keep_lines(&mut self, slot: u16) {
        if let Some(captures) = &mut self.captures {
            captures.take_lines(slot);
        }
    }

    /// Ends a stream whose response is complete.
    #[inline]
    fn finish(&mut self, slot: u16) {
        let number = self.streams.stream(slot);
        let stream = self.streams.state(slot);
        if stream.missing.is_some_and(|missing| missing > 0) {
            return self.fail_stream(slot, H2Fault::BODY_LENGTH);
        }
        let status = stream.status;
        if stream.upload.is_some() {
            // The server does not need the rest of the body (RFC 9113 §8.1).
            push_reset(&mut self.link.out, number, ErrorCode::CANCEL);
        }
        if let Some(captures) = &mut self.captures {
            captures.complete(slot, status);
        }
        let kind = StreamEventKind::Response { status };
        self.end(slot, kind);
    }

    /// Ends a stream because of a fault that leaves the connection usable.
    #[cold]
    fn fail_stream(&mut self, slot: u16, fault: H2Fault) {
        let number = self.streams.stream(slot);
        self.link.reset_stream(number, fault.code);
        self.end(slot, StreamEventKind::Failed(fault.error));
    }

    #[inline]
    fn end(&mut self, slot: u16, kind: StreamEventKind) {
        self.remove(slot);
        self.cancel_rate.ended(self.now_ns);
        self.events.push(StreamEvent { id: RequestId(slot), kind });
    }

    #[inline]
    fn remove(&mut self, slot: u16) {
        let stream = self.streams.state(slot);
        self.begun -= u32::from(stream.has_head);
        if stream.upload.take().is_some() {
            self.uploads.remove(slot, self.now_ns);
        }
        if let Some(captures) = &mut self.captures {
            captures.forget(slot);
        }
        self.streams.remove(slot);
    }

    /// True if a stream was never opened. Even ones are the server's, which must not push.
    fn is_idle(&self, number: u32) -> bool {
        number >= self.next_stream || number.is_multiple_of(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_streams_end() {
        let mut session = ClientSession::new(10, &H2Options::default());
        session.handle(H2Frame::Settings(&[]), 0).expect("no setting is wrong");
        session.next_stream = STREAM_MAX - 2;
        let request = Request::parse(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "http");
        let request = Arc::new(request.expect("a complete request"));
        session.request(&request, 0);
        assert_eq!((session.capacity(), session.is_retiring()), (1, false));
        let RequestId(slot) = session.request(&request, 0);
        assert_eq!(session.streams.stream(slot), STREAM_MAX);
        assert_eq!((session.capacity(), session.is_retiring()), (0, true));
        session.reset();
        assert!(!session.is_retiring());
    }
}
