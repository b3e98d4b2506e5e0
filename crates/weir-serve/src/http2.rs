//! State of one HTTP/2 connection: received bytes become requests, decided responses become frames,
//! as far as the client's windows permit. It decides no response and reads no clock.

use std::cmp::Ordering;
use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use weir_http::ProtocolError;
use weir_http::h2::ErrorCode;
use weir_http::h2::frame::FRAME_BYTES_DEFAULT;
use weir_http::h2::server::{H2Server, ServerEvent};

use crate::behaviour::Behaviour;
use crate::content::RequestContent;
use crate::limits::FILLER;
use crate::log::LogPlace;
use crate::request::{BadRequest, ServedRequest};
use crate::routes::Routes;

/// State of an HTTP/2 connection.
#[derive(Debug)]
pub(crate) struct Http2 {
    pub(crate) server: H2Server,
    /// Streams whose request is incomplete or whose response is not yet sent as a whole.
    streams: HashMap<u32, Stream>,
    /// Contents of requests that are incomplete and whose response depends on it.
    contents: HashMap<u32, Box<RequestContent>>,
    /// True if all requests are to the shop.
    has_shop: bool,
    /// Bodies of responses that wait for the client's windows, in turns.
    bodies: VecDeque<BodyRest>,
    /// Streams whose body is complete, until they are taken.
    pub(crate) ended: Vec<u32>,
    /// Requests after which the connection ends, counted by their start.
    requests_max: Option<u64>,
    requests_begun: u64,
    /// Requests not processed, since they were last taken.
    refused: u64,
    /// True once GOAWAY was sent.
    is_going_away: bool,
    /// True while the settings are delayed, and with them all other frames.
    pub(crate) is_held: bool,
    /// True if a flush is queued.
    pub(crate) is_flush_due: bool,
    /// True once the client has been left to close the connection.
    pub(crate) is_lingering: bool,
}

/// State of a stream.
#[derive(Clone, Copy, Debug)]
enum Stream {
    /// The rest of the request's body is missing.
    Arriving(ServedRequest),
    /// The response is held back or being sent.
    Owed(Owed),
}

/// A response that a stream is owed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owed {
    /// True if its request is counted.
    pub(crate) is_counted: bool,
    pub(crate) log_place: Option<LogPlace>,
}

/// Rest of a response's body.
#[derive(Debug)]
struct BodyRest {
    stream: u32,
    bytes: BodyBytes,
    /// The bytes of the body that are left.
    left: Range<u64>,
    /// True if no more pieces follow.
    is_whole: bool,
    /// True if trailers with the status of a call of gRPC follow it.
    is_of_call: bool,
}

/// Bytes of a body.
#[derive(Debug)]
enum BodyBytes {
    Filler,
    /// The whole body, which all responses share.
    Shared(Arc<[u8]>),
    /// The texts that were queued since all before them had been sent.
    Own(Vec<u8>),
}

/// An event of a stream.
#[derive(Debug)]
pub(crate) enum ServedEvent {
    /// A request is complete, with its content if its response depends on it.
    Request(u32, ServedRequest, Option<Box<RequestContent>>),
    /// A request is invalid.
    Invalid(u32, BadRequest),
    /// The client has reset the stream, or it has ended by an error.
    Reset(u32),
}

impl Http2 {
    /// Starts a connection; its settings are the first output.
    pub(crate) fn new(behaviour: &Behaviour) -> Http2 {
        Http2 {
            server: H2Server::new(&behaviour.http2.of_connection()),
            streams: HashMap::new(),
            contents: HashMap::new(),
            has_shop: behaviour.shop.is_some(),
            bodies: VecDeque::new(),
            ended: Vec::new(),
            requests_max: behaviour.requests_max(),
            requests_begun: 0,
            refused: 0,
            is_going_away: false,
            is_held: !behaviour.http2.settings_delay.is_zero(),
            is_flush_due: false,
            is_lingering: false,
        }
    }

    /// Parses received bytes and appends the events in them. The route of a request is one of
    /// `routes`.
    ///
    /// # Errors
    /// If they are not HTTP/2. GOAWAY is then queued, and the connection must be closed.
    pub(crate) fn receive(
        &mut self,
        bytes: &[u8],
        routes: &Routes,
        events: &mut Vec<ServedEvent>,
    ) -> Result<(), ProtocolError> {
        let Http2 { server, streams, contents, requests_begun, requests_max, refused, .. } = self;
        let has_shop = self.has_shop;
        let mut last_stream = None;
        let mut continues = Vec::new();
        let result = server.receive(bytes, |event| match event {
            ServerEvent::Request { stream, fields, is_end } => {
                *requests_begun += 1;
                let order = requests_max.map(|most| u64::cmp(requests_begun, &most));
                // GOAWAY can be announced only after these bytes.
                if order == Some(Ordering::Greater) {
                    *refused += 1;
                    return;
                }
                if order == Some(Ordering::Equal) {
                    last_stream = Some(stream);
                }
                let request = match ServedRequest::from_fields(fields, !is_end, routes) {
                    Ok(request) => request,
                    Err(bad) => return events.push(ServedEvent::Invalid(stream, bad)),
                };
                let content = RequestContent::of_fields(fields, request.is_call, has_shop);
                if is_end {
                    return events.push(ServedEvent::Request(stream, request, content));
                }
                if request.awaits_continue() {
                    continues.push(stream);
                }
                contents.extend(content.map(|content| (stream, content)));
                streams.insert(stream, Stream::Arriving(request));
            }
            ServerEvent::Data { stream, data, is_end } => {
                if let Some(content) = contents.get_mut(&stream) {
                    content.take_body(data);
                }
                if is_end {
                    events.extend(take_arrived(streams, contents, stream));
                }
            }
            ServerEvent::Trailers { stream, .. } => {
                events.extend(take_arrived(streams, contents, stream));
            }
            ServerEvent::Reset { stream, .. } => {
                take_arrived(streams, contents, stream);
                events.push(ServedEvent::Reset(stream));
            }
            ServerEvent::Opened | ServerEvent::GoAway { .. } => {}
        });
        self.refused += self.server.take_refused();
        if let (Some(stream), Ok(())) = (last_stream, result) {
            self.server.go_away(Some(stream), ErrorCode::NO_ERROR);
            self.is_going_away = true;
        }
        for stream in continues {
            // RFC 9110 §10.1.1: not needed once the request is complete.
            if matches!(self.streams.get(&stream), Some(Stream::Arriving(_))) {
                self.server.respond(stream, 100, &[], false);
            }
        }
        result
    }

    /// Returns the numbers of requests that were not processed, and that were invalid, since the
    /// last call.
    pub(crate) fn take_counts(&mut self) -> (u64, u64) {
        (std::mem::take(&mut self.refused), self.server.take_malformed())
    }

    /// Records that a response was decided for a stream.
    pub(crate) fn owe(&mut self, stream: u32, owed: Owed) {
        self.streams.insert(stream, Stream::Owed(owed));
    }

    /// True if a stream still waits for its response.
    pub(crate) fn is_owed(&self, stream: u32) -> bool {
        matches!(self.streams.get(&stream), Some(Stream::Owed(_)))
    }

    /// Forgets a stream. Returns the response that it was owed.
    pub(crate) fn forget(&mut self, stream: u32) -> Option<Owed> {
        match self.streams.remove(&stream)? {
            Stream::Arriving(_) => {
                self.contents.remove(&stream);
                None
            }
            Stream::Owed(owed) => {
                self.bodies.retain(|body| body.stream != stream);
                Some(owed)
            }
        }
    }

    /// Resets a stream, and forgets it. Returns the response that it was owed.
    pub(crate) fn reset(&mut self, stream: u32, code: ErrorCode) -> Option<Owed> {
        self.server.reset_stream(stream, code);
        self.forget(stream)
    }

    /// Queues a range of a body, which is `bytes`, or filler. It follows the ranges queued before.
    /// `is_last` is true if the body ends with it.
    pub(crate) fn push_body(
        &mut self,
        stream: u32,
        bytes: Option<&Arc<[u8]>>,
        range: Range<u64>,
        is_last: bool,
    ) {
        match self.bodies.iter_mut().find(|body| body.stream == stream) {
            Some(body) => {
                body.left.end = range.end;
                body.is_whole |= is_last;
            }
            None => {
                let bytes = bytes.cloned().map_or(BodyBytes::Filler, BodyBytes::Shared);
                let left = range;
                let is_whole = is_last;
                let is_of_call = false;
                self.bodies.push_back(BodyRest { stream, bytes, left, is_whole, is_of_call });
            }
        }
    }

    /// Queues what `push` appends, the next bytes of a body that is queued by this method alone.
    /// `is_last` is true if the body ends with them. `is_of_call` is true if the body is of a call
    /// of gRPC that succeeds.
    pub(crate) fn push_text(
        &mut self,
        stream: u32,
        is_last: bool,
        is_of_call: bool,
        push: impl FnOnce(&mut Vec<u8>),
    ) {
        let place = match self.bodies.iter().position(|body| body.stream == stream) {
            Some(place) => place,
            None => {
                let bytes = BodyBytes::Own(Vec::new());
                let left = 0..0;
                let is_whole = false;
                self.bodies.push_back(BodyRest { stream, bytes, left, is_whole, is_of_call });
                self.bodies.len() - 1
            }
        };
        let body = &mut self.bodies[place];
        if let BodyBytes::Own(bytes) = &mut body.bytes {
            push(bytes);
            body.left.end = bytes.len() as u64;
        }
        body.is_whole |= is_last;
    }

    /// Queues any bytes after the frames that can be sent now.
    pub(crate) fn push_raw(&mut self, bytes: &[u8]) {
        self.push_bodies();
        self.server.push_raw(bytes);
    }

    /// Appends the bytes to send now to `out`.
    pub(crate) fn push_output(&mut self, out: &mut Vec<u8>) {
        self.push_bodies();
        self.server.poll_transmit(out);
    }

    /// Returns the number of streams whose bodies wait for the client's windows. Valid after
    /// [`Http2::push_output`].
    pub(crate) fn blocked(&self) -> u32 {
        u32::try_from(self.bodies.len()).expect("at most one for each stream")
    }

    /// Queues as much of the bodies as the client's windows permit.
    fn push_bodies(&mut self) {
        let mut blocked = 0;
        while blocked < self.bodies.len() {
            let Some(mut body) = self.bodies.pop_front() else { break };
            let room = self.server.room(body.stream).min(FRAME.len());
            let left = usize::try_from(body.left.end - body.left.start).unwrap_or(usize::MAX);
            let count = left.min(room);
            if count == 0 && left > 0 {
                blocked += 1;
                self.bodies.push_back(body);
                continue;
            }
            blocked = 0;
            let is_end = count == left && body.is_whole;
            match is_end && body.is_of_call {
                true => {
                    if count > 0 {
                        self.server.send_data(body.stream, body.next(count), false);
                    }
                    self.server.send_trailers(body.stream, &[(b"grpc-status", b"0")]);
                }
                false => {
                    self.server.send_data(body.stream, body.next(count), is_end);
                }
            }
            body.left.start += count as u64;
            match is_end {
                true => self.ended.push(body.stream),
                false if count < left => self.bodies.push_back(body),
                false => {}
            }
        }
    }

    /// Queues GOAWAY: no request after those that have begun is processed.
    pub(crate) fn go_away(&mut self) {
        self.server.go_away(None, ErrorCode::NO_ERROR);
        self.is_going_away = true;
    }

    /// True if GOAWAY was sent, and all streams that it left have ended.
    pub(crate) fn is_done(&self) -> bool {
        self.is_going_away && self.server.open_streams() == 0
    }
}

impl BodyRest {
    /// Returns the next `count` bytes, at most those of a frame.
    fn next(&self, count: usize) -> &[u8] {
        let bytes = match &self.bytes {
            BodyBytes::Filler => return &FRAME[..count],
            BodyBytes::Shared(bytes) => &bytes[..],
            BodyBytes::Own(bytes) => bytes,
        };
        let start = usize::try_from(self.left.start).expect("within the body");
        &bytes[start..start + count]
    }
}

/// Filler of one DATA frame.
const FRAME: &[u8] = &[FILLER; FRAME_BYTES_DEFAULT as usize];

/// Takes the request of a stream whose body was missing, as an event.
fn take_arrived(
    streams: &mut HashMap<u32, Stream>,
    contents: &mut HashMap<u32, Box<RequestContent>>,
    stream: u32,
) -> Option<ServedEvent> {
    let Some(&Stream::Arriving(request)) = streams.get(&stream) else { return None };
    streams.remove(&stream);
    let content = if contents.is_empty() { None } else { contents.remove(&stream) };
    Some(ServedEvent::Request(stream, request, content))
}
