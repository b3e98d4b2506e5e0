//! The client's side of a connection, behind [`Multiplexed`]. Independent of the engine that drives
//! it.

mod cancel_rate;
mod captures;
mod head_cache;
mod request_cache;
mod session;
mod stream;
mod uploads;

use std::sync::Arc;

use super::fault::ErrorCode;
use super::frame::{FrameReader, PREFACE, Settings};
use super::options::H2Options;
use crate::budget::BodyBudget;
use crate::error::ProtocolError;
use crate::grpc::CallRules;
use crate::messages::MessageFormat;
use crate::multiplexed::{EndReason, Multiplexed, StreamEvent, StreamMessage, WindowWaits};
use crate::protocol::ProtocolFactory;
use crate::received_response::{Interest, ReceivedResponse};
use crate::request::Request;
use crate::request_id::RequestId;
use captures::Captures;
use session::ClientSession;

/// Client side of one HTTP/2 connection.
///
/// [`StreamEventKind::Began`](crate::StreamEventKind::Began) is left out for a response that
/// arrived at once and is complete with its head.
#[derive(Debug)]
pub struct H2Client {
    reader: FrameReader,
    session: ClientSession,
    /// Arrival of the first byte of a frame, or a header block, that is incomplete.
    begun_ns: Option<u64>,
}

impl H2Client {
    /// Creates a client with at most `streams` requests in flight.
    pub fn new(streams: u16, options: &H2Options) -> H2Client {
        let options = &options.in_range();
        // A block is rarely longer than the fields in it.
        let reader = FrameReader::new(options.settings.max_frame_bytes, options.list_bytes_max());
        let session = ClientSession::new(streams, options);
        H2Client { reader, session, begun_ns: None }
    }

    /// Numbers the streams of each connection from `stream`, an odd number, on instead of 1, as
    /// RFC 9113 §5.1.1 permits. So a test reaches the last number.
    #[must_use]
    pub fn numbering_from(mut self, stream: u32) -> H2Client {
        debug_assert!(!stream.is_multiple_of(2), "even ones are the server's");
        (self.session.first_stream, self.session.next_stream) = (stream, stream);
        self
    }

    /// Returns the memory that the server has caused it to hold, in bytes: at most 1 MiB with the
    /// default options, whatever the server sends (decision 0036). Stored responses come to it, and
    /// 128 KiB for each stream whose response is split into messages.
    pub fn held_bytes(&self) -> usize {
        self.reader.held_bytes() + self.session.held_bytes()
    }

    /// Returns a factory of clients with these options.
    pub fn factory(options: H2Options) -> ProtocolFactory {
        ProtocolFactory::multiplexed(move |streams| Box::new(H2Client::new(streams, &options)))
    }

    /// Returns the response head that was received last, before its body is complete. It has no
    /// fields unless responses are stored.
    pub fn head(&self) -> ReceivedResponse<'_> {
        let session = &self.session;
        let head = session.captures.as_ref().map_or(&[][..], |captures| &captures.lines);
        ReceivedResponse { head, ..ReceivedResponse::of_status(session.heads.status()) }
    }

    /// Returns the response of a request whose head was received last, as far as it was received;
    /// `None` if responses are not kept.
    pub fn unfinished(&self, id: RequestId) -> Option<ReceivedResponse<'_>> {
        let session = &self.session;
        session.captures.as_ref()?.unfinished(id.0, session.heads.status())
    }
}

impl Multiplexed for H2Client {
    /// Queues the preface, the settings and the connection's window (RFC 9113 §3.4).
    fn open(&mut self, now_ns: u64) {
        self.session.now_ns = now_ns;
        let link = &mut self.session.link;
        link.out.extend_from_slice(PREFACE);
        let settings = self.session.settings;
        // The size of the table is announced even if it is the default: a server that keeps no
        // table, such as nginx, then says so, and equal heads have equal bytes.
        let header_table_bytes = !settings.header_table_bytes;
        link.push_settings(&settings, &Settings { header_table_bytes, ..Settings::default() });
        link.open_window();
    }

    #[inline]
    fn is_open(&self) -> bool {
        self.session.link.peer.is_some() && self.session.link.check().is_ok()
    }

    #[inline]
    fn capacity(&self) -> u32 {
        self.session.capacity()
    }

    #[inline]
    fn is_retiring(&self) -> bool {
        self.session.is_retiring()
    }

    #[inline]
    fn request(&mut self, request: &Arc<Request>, now_ns: u64) -> RequestId {
        self.session.request(request, now_ns)
    }

    fn cancel(&mut self, id: RequestId, now_ns: u64) {
        self.session.cancel(id, now_ns);
    }

    fn receive(
        &mut self,
        bytes: &[u8],
        now_ns: u64,
        events: &mut Vec<StreamEvent>,
    ) -> Result<(), ProtocolError> {
        self.session.now_ns = now_ns;
        self.session.link.check()?;
        self.session.received_ns = now_ns;
        self.session.forget_responses();
        let mut begun_ns = self.begun_ns.take().unwrap_or(now_ns);
        std::mem::swap(&mut self.session.events, events);
        let read = self.reader.read(bytes, |frame| {
            self.session.handle(frame, std::mem::replace(&mut begun_ns, now_ns))
        });
        std::mem::swap(&mut self.session.events, events);
        read.map_err(|fault| self.session.link.fail(0, fault))?;
        self.begun_ns = self.reader.is_within_frame().then_some(begun_ns);
        Ok(())
    }

    #[inline]
    fn poll_transmit(&mut self, out: &mut Vec<u8>) {
        let session = &mut self.session;
        out.extend_from_slice(&session.link.out);
        session.link.out.clear();
        if !session.uploads.is_empty() && session.link.check().is_ok() {
            session.uploads.push(&mut session.link, &mut session.streams, session.now_ns, out);
        }
    }

    fn is_mid_response(&self) -> bool {
        self.session.begun > 0
    }

    fn reset(&mut self) {
        self.reader.reset();
        self.session.reset();
        self.begun_ns = None;
    }

    fn interim_responses(&self) -> u64 {
        self.session.interim_responses
    }

    fn set_interest(&mut self, interest: Interest, budget: &BodyBudget) {
        self.session.captures = Captures::new(interest, budget);
    }

    fn set_calls(&mut self, rules: CallRules) {
        let captures = self.session.captures.as_mut();
        captures.expect("responses that are checked are kept").check_calls(rules);
    }

    fn set_messages(&mut self, format: &MessageFormat) {
        let captures = self.session.captures.as_mut();
        captures.expect("responses that are split are kept").split(format);
    }

    fn messages(&self) -> &[StreamMessage] {
        self.session.captures.as_ref().map_or(&[], |captures| &captures.messages)
    }

    fn response(&self, nth: usize) -> ReceivedResponse<'_> {
        self.session.captures.as_ref().expect("only called with an interest").response(nth)
    }

    fn has_event_streams(&self) -> bool {
        self.session.heads.has_event_streams
    }

    fn forget_responses(&mut self) {
        self.session.forget_responses();
    }

    fn goaway(&self) -> Option<&'static EndReason> {
        self.session.goaway.map(ErrorCode::reason)
    }

    fn streams_allowed(&self) -> Option<u32> {
        self.session.link.peer.and_then(|peer| peer.max_concurrent_streams)
    }

    fn allows_no_streams(&self) -> bool {
        self.streams_allowed() == Some(0)
    }

    fn window_waits(&self, now_ns: u64) -> WindowWaits {
        self.session.uploads.waits(now_ns)
    }
}
