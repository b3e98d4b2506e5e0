//! The client's side of a connection, behind [`Multiplexed`]: a request is a message, and its
//! response the echo. Independent of the engine that drives it.

mod closing;
mod pushed;
mod sent;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::close_code::CloseCode;
use super::deflate::{DeflateTerms, Deflater};
use super::frame::{Opcode, WsFault, push_frame};
use super::handshake::UpgradeKey;
use super::mask::MaskSequence;
use super::options::WsOptions;
use super::reader::{WsEvent, WsReader};
use crate::budget::BodyBudget;
use crate::client::Capture;
use crate::error::ProtocolError;
use crate::head::read_head;
use crate::multiplexed::{
    EndReason, Multiplexed, PushedMessage, StreamEvent, StreamEventKind, WindowWaits,
};
use crate::protocol::ProtocolFactory;
use crate::received_response::{Interest, ReceivedResponse};
use crate::request::Request;
use crate::request_id::RequestId;
use closing::ClosingHandshake;
use pushed::PushedMessages;
use sent::SentMessages;

/// Status with which an echo is reported: a message has none of its own. The 101 of the upgrade
/// belongs to the connection.
pub(super) const ECHO_STATUS: u16 = 200;

/// Client side of one WebSocket connection.
///
/// Each message of the server is the echo of a message in flight, or pushed: see
/// [`WsOptions::key`]. Messages in flight whose connection the server closes end with
/// [`StreamEventKind::Reset`].
#[derive(Debug)]
pub struct WsClient {
    reader: WsReader,
    session: WsSession,
    /// Arrival of the first byte of a message that is incomplete.
    begun_ns: Option<u64>,
}

/// State of a connection but for the bytes of an incomplete message.
#[derive(Debug)]
struct WsSession {
    options: Arc<WsOptions>,
    masks: MaskSequence,
    opening: UpgradeState,
    sent: SentMessages,
    out: Vec<u8>,
    /// Content of the last Ping that is not answered. Earlier ones need no answer (§5.5.3).
    ping: Option<Vec<u8>>,
    closing: ClosingHandshake,
    error: Option<ProtocolError>,
    captures: Option<Box<Capture>>,
    /// Deflates messages; `None` if the server has not accepted that.
    deflater: Option<Deflater>,
    /// Interim responses before the upgrade.
    interim_responses: u64,
    /// Messages of the last call, if they are kept.
    received: Vec<Vec<u8>>,
    pushed: PushedMessages,
}

/// State of the opening handshake.
#[derive(Debug, PartialEq)]
enum UpgradeState {
    Idle,
    /// The upgrade is requested; with the start of its response.
    Requested(UpgradeKey, Vec<u8>),
    /// The upgrade is accepted, and the server's first message is missing.
    Awaiting,
    Done,
}

impl WsClient {
    /// Creates a client with at most `depth` messages in flight. `begin` is the start of the
    /// sequence of its keys and masks, and differs between connections.
    pub fn new(depth: u16, options: &Arc<WsOptions>, begin: u64) -> WsClient {
        let session = WsSession {
            options: Arc::clone(options),
            masks: MaskSequence::new(begin),
            opening: UpgradeState::Idle,
            sent: SentMessages::new(depth, options.key.clone()),
            out: Vec::new(),
            ping: None,
            closing: ClosingHandshake::default(),
            error: None,
            captures: None,
            deflater: None,
            interim_responses: 0,
            received: Vec::new(),
            pushed: PushedMessages::default(),
        };
        WsClient {
            reader: WsReader::new(false, options.message_bytes_max),
            session,
            begun_ns: None,
        }
    }

    /// Returns a factory of clients with these options.
    pub fn factory(options: WsOptions) -> ProtocolFactory {
        let options = Arc::new(options);
        let made = AtomicU64::new(0);
        ProtocolFactory::multiplexed(move |depth| {
            let number = made.fetch_add(1, Ordering::Relaxed);
            Box::new(WsClient::new(depth, &options, number << 32))
        })
    }

    /// Returns the messages in the bytes of the last call, if they are kept.
    pub fn received(&self) -> &[Vec<u8>] {
        &self.session.received
    }

    /// Returns the memory that the server has caused it to hold, in bytes: at most the limit of a
    /// message, the growth of its buffer and 64 KiB.
    pub fn held_bytes(&self) -> usize {
        let opening = match &self.session.opening {
            UpgradeState::Requested(_, received) => received.capacity(),
            UpgradeState::Idle | UpgradeState::Awaiting | UpgradeState::Done => 0,
        };
        let ping = self.session.ping.as_ref().map_or(0, Vec::capacity);
        let text = self.session.closing.text.capacity();
        self.reader.held_bytes() + self.session.sent.held_bytes() + opening + ping + text
    }
}

impl Multiplexed for WsClient {
    /// Queues the upgrade.
    fn open(&mut self, now_ns: u64) {
        let WsSession { masks, opening, options, out, .. } = &mut self.session;
        // Each socket of the connection has masks of its own.
        *masks = MaskSequence::new(masks.next() ^ now_ns);
        let key = UpgradeKey::of(masks);
        options.upgrade.push(&key, options.offers_deflate, out);
        *opening = UpgradeState::Requested(key, Vec::new());
    }

    fn is_open(&self) -> bool {
        self.session.opening == UpgradeState::Done && self.session.error.is_none()
    }

    fn capacity(&self) -> u32 {
        let session = &self.session;
        match self.is_open() && !session.options.is_idle && !session.is_retiring() {
            true => session.sent.capacity().into(),
            false => 0,
        }
    }

    fn is_retiring(&self) -> bool {
        self.session.is_retiring()
    }

    fn request(&mut self, request: &Arc<Request>, _now_ns: u64) -> RequestId {
        self.session.push_message(request.body());
        RequestId(self.session.sent.push(request.body()))
    }

    fn cancel(&mut self, id: RequestId, _now_ns: u64) {
        self.session.sent.cancel(id.0);
    }

    fn receive(
        &mut self,
        bytes: &[u8],
        now_ns: u64,
        events: &mut Vec<StreamEvent>,
    ) -> Result<(), ProtocolError> {
        let WsClient { reader, session, begun_ns } = self;
        session.error.map_or(Ok(()), Err)?;
        session.forget_responses();
        session.pushed.of_call.clear();
        session.received.clear();
        let mut opened = Vec::new();
        let frames = match session.opening {
            UpgradeState::Awaiting | UpgradeState::Done => bytes,
            UpgradeState::Idle | UpgradeState::Requested(..) => {
                let terms = session.receive_opening(bytes, &mut opened).inspect_err(|error| {
                    session.error = Some(*error);
                })?;
                terms.into_iter().for_each(|terms| reader.inflate(terms));
                &opened[..]
            }
        };
        let mut first_ns = begun_ns.take().unwrap_or(now_ns);
        let read = reader.read(frames, |event| match event {
            WsEvent::Message { content, .. } => {
                let first_ns = std::mem::replace(&mut first_ns, now_ns);
                session.receive_message(content, first_ns, now_ns, events);
            }
            WsEvent::Ping(content) => session.receive_ping(content),
            WsEvent::Pong(_) => {}
            WsEvent::Close(code, reason) => session.receive_close(code, reason, events),
        });
        *begun_ns = reader.is_within_message().then_some(first_ns);
        read.map_err(|fault| session.fail(fault))
    }

    fn poll_transmit(&mut self, out: &mut Vec<u8>) {
        let session = &mut self.session;
        out.extend_from_slice(&session.out);
        session.out.clear();
        if let Some(content) = session.ping.take().filter(|_| !session.closing.is_sent) {
            push_frame(out, Opcode::PONG, true, Some(session.masks.next_mask()), &content);
        }
    }

    fn is_mid_response(&self) -> bool {
        self.begun_ns.is_some()
    }

    fn reset(&mut self) {
        let session = &mut self.session;
        self.reader.reset();
        self.begun_ns = None;
        session.opening = UpgradeState::Idle;
        session.sent.clear();
        session.out.clear();
        session.ping = None;
        session.closing = ClosingHandshake::default();
        session.error = None;
        session.deflater = None;
        session.pushed.last_ns = None;
        session.forget_responses();
    }

    fn interim_responses(&self) -> u64 {
        self.session.interim_responses
    }

    fn pushed(&self) -> &[PushedMessage] {
        &self.session.pushed.of_call
    }

    fn is_compressed(&self) -> bool {
        self.session.deflater.is_some()
    }

    fn set_interest(&mut self, interest: Interest, budget: &BodyBudget) {
        self.session.captures = Capture::new(interest, budget);
    }

    fn response(&self, nth: usize) -> ReceivedResponse<'_> {
        self.session.captures.as_ref().expect("only called with an interest").response(nth)
    }

    fn forget_responses(&mut self) {
        self.session.forget_responses();
    }

    fn goaway(&self) -> Option<&'static EndReason> {
        self.session.closing.code.map(CloseCode::reason)
    }

    fn goaway_text(&self) -> &str {
        &self.session.closing.text
    }

    fn allows_no_streams(&self) -> bool {
        false
    }

    fn window_waits(&self, _now_ns: u64) -> WindowWaits {
        WindowWaits::default()
    }

    /// Queues a Close frame, unless the upgrade is not accepted or one was sent.
    fn close(&mut self) {
        if self.is_open() || self.session.opening == UpgradeState::Awaiting {
            self.session.push_close(CloseCode::NORMAL);
        }
    }
}

impl WsSession {
    /// True if a message may not be sent any more: the server has closed the connection, or the
    /// echo of a message that was given up may be missing or late.
    fn is_retiring(&self) -> bool {
        self.closing.has_begun() || self.sent.is_ambiguous()
    }

    /// Receives the response to the upgrade. Bytes after it are moved to `rest`. Returns the terms
    /// on which messages are deflated, if they are.
    fn receive_opening(
        &mut self,
        bytes: &[u8],
        rest: &mut Vec<u8>,
    ) -> Result<Option<DeflateTerms>, ProtocolError> {
        let WsSession { options, opening, interim_responses, .. } = self;
        let UpgradeState::Requested(key, received) = opening else {
            return Err(ProtocolError::UnsolicitedBytes);
        };
        received.extend_from_slice(bytes);
        while let Some(head) = read_head(received)? {
            let head_bytes = head.bytes;
            if head.status < 200 && head.status != 101 {
                *interim_responses += 1;
                received.drain(..head_bytes);
                continue;
            }
            let terms = options.upgrade.check(&head, key, options.offers_deflate)?;
            self.deflater = terms.map(DeflateTerms::client_deflater);
            rest.extend_from_slice(&received[head_bytes..]);
            *opening = match options.awaits_message {
                true => UpgradeState::Awaiting,
                false => UpgradeState::Done,
            };
            if let Some(first) = options.first.clone() {
                self.push_message(&first);
            }
            return Ok(terms);
        }
        Ok(None)
    }

    fn push_message(&mut self, content: &[u8]) {
        let WsSession { options, masks, out, deflater, .. } = self;
        let opcode = if options.is_binary { Opcode::BINARY } else { Opcode::TEXT };
        let (opcode, content) = match deflater {
            Some(deflater) => (opcode.deflated(), deflater.deflate(content)),
            None => (opcode, content),
        };
        push_frame(out, opcode, true, Some(masks.next_mask()), content);
    }

    /// Matches a message that began to arrive at `first_ns` and was read at `now_ns`.
    fn receive_message(
        &mut self,
        content: &[u8],
        first_ns: u64,
        now_ns: u64,
        events: &mut Vec<StreamEvent>,
    ) {
        if self.options.keeps_messages {
            self.received.push(content.to_vec());
        }
        if self.opening == UpgradeState::Awaiting {
            self.opening = UpgradeState::Done;
            return;
        }
        let Some(id) = self.sent.take_match(content) else {
            return self.pushed.push(content.len(), now_ns);
        };
        // The echo of a message that was given up.
        let Some(id) = id.map(RequestId) else { return };
        if first_ns < now_ns {
            events.push(StreamEvent { id, kind: StreamEventKind::Began { at_ns: first_ns } });
        }
        if let Some(capture) = &mut self.captures {
            capture.body(content);
            capture.complete(ECHO_STATUS);
        }
        events.push(StreamEvent { id, kind: StreamEventKind::Response { status: ECHO_STATUS } });
    }

    fn receive_ping(&mut self, content: &[u8]) {
        let mut ping = self.ping.take().unwrap_or_default();
        ping.clear();
        ping.extend_from_slice(content);
        self.ping = Some(ping);
    }

    /// Answers a Close frame, and ends the messages in flight: no echo follows it.
    fn receive_close(&mut self, code: CloseCode, text: &str, events: &mut Vec<StreamEvent>) {
        self.closing.receive(code, text, &mut self.masks, &mut self.out);
        let kind = StreamEventKind::Reset(code.reason());
        self.sent.drain(|id| events.push(StreamEvent { id: RequestId(id), kind }));
    }

    fn push_close(&mut self, code: CloseCode) {
        self.closing.push(code, &mut self.masks, &mut self.out);
    }

    fn fail(&mut self, fault: WsFault) -> ProtocolError {
        self.push_close(fault.code);
        self.error = Some(fault.error);
        fault.error
    }

    fn forget_responses(&mut self) {
        if let Some(capture) = &mut self.captures {
            capture.forget_completed();
        }
    }
}
