//! A response and its encoding: segments of shared templates for large bodies, a pooled buffer for
//! the rest. This module makes no decisions.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use weir_http::server::{LAST_CHUNK, push_chunk_size, response_has_body};
use weir_io::{Backend, Nanos, Segment, TemplateId};

use crate::behaviour::{Behaviour, Framing, Mode};
use crate::event_stream::EventProgress;
use crate::grpc::{CallReply, push_stream_message};
use crate::limits::FILLER;
use crate::log::LogPlace;
use crate::reason::reason;
use crate::request::Slot;
use crate::routes::{PreparedRoute, Route, Routed};
use crate::shop::ShopReply;
use crate::stats::Shared;
use crate::units::push_decimal;

/// A response that is decided and perhaps held back.
#[derive(Clone, Debug)]
pub(crate) struct Response {
    /// Number of its stream in HTTP/2; 0 in HTTP/1.
    pub(crate) stream: u32,
    pub(crate) kind: ResponseKind,
    pub(crate) status: u16,
    pub(crate) body_bytes: u64,
    /// The route whose headers and body it has.
    pub(crate) route: Option<Routed>,
    pub(crate) framing: Framing,
    /// Progress of a response that is a stream of events: its pieces are the head and each event.
    pub(crate) events: Option<Box<EventProgress>>,
    /// The content that was made for its request alone.
    pub(crate) own: Option<Box<OwnContent>>,
    /// True if the request was HEAD.
    pub(crate) is_head: bool,
    /// True if the status line says HTTP/1.0.
    pub(crate) is_http10: bool,
    pub(crate) persistence: Persistence,
    /// Time at which the request's last byte had been read.
    pub(crate) received_at: Nanos,
    pub(crate) slot: Slot,
    /// Index of the request in the log, if there is one.
    pub(crate) log_place: Option<LogPlace>,
}

/// Content that was made for one request.
#[derive(Clone, Debug)]
pub(crate) enum OwnContent {
    /// Status and message of the response to a call of gRPC.
    Call(CallReply),
    /// Status, headers and body of the shop.
    Shop(ShopReply),
}

/// Kind of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ResponseKind {
    /// Response to a counted request.
    Ordinary,
    /// `100 Continue`.
    Continue,
    /// Response to a request for `/weir/stats`.
    Stats,
    /// Response to bytes that are not a valid request; the string is its body.
    Refusal(Box<str>),
}

/// Connection persistence that a response announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Persistence {
    /// No header: the connection persists, as HTTP/1.1 does by default.
    Silent,
    /// `Connection: keep-alive`, which HTTP/1.0 requires for a persistent connection.
    KeepAlive,
    /// `Connection: close`; the connection ends after the response.
    Close,
}

impl Response {
    /// Returns the response with the counters, in this stream.
    pub(crate) fn stats(
        stream: u32,
        is_head: bool,
        persistence: Persistence,
        at: Nanos,
    ) -> Response {
        Response { stream, is_head, persistence, ..Response::bare(ResponseKind::Stats, 200, at) }
    }

    /// Returns a response of HTTP/1 without a body, for a request read at `received_at`.
    pub(crate) fn bare(kind: ResponseKind, status: u16, received_at: Nanos) -> Response {
        Response {
            stream: 0,
            kind,
            status,
            body_bytes: 0,
            route: None,
            framing: Framing::Length,
            events: None,
            own: None,
            is_head: false,
            is_http10: false,
            persistence: Persistence::Silent,
            received_at,
            slot: Slot::default(),
            log_place: None,
        }
    }

    /// Returns the number of body bytes that are sent; 0 for responses without a body.
    pub(crate) fn sent_bytes(&self) -> u64 {
        if self.has_body() { self.body_bytes } else { 0 }
    }

    pub(crate) fn has_body(&self) -> bool {
        response_has_body(self.status, self.is_head)
    }

    /// Returns the body of a response that is no filler.
    pub(crate) fn own_body(&self, shared: &Shared) -> Option<Cow<'_, str>> {
        match &self.kind {
            ResponseKind::Stats => Some(shared.stats().to_json().into()),
            ResponseKind::Refusal(why) => Some((**why).into()),
            ResponseKind::Ordinary | ResponseKind::Continue => None,
        }
    }

    /// Appends the event that `part` of a stream is. `now` becomes its send time stamp.
    pub(crate) fn push_event(&self, shared: &Shared, part: Part, now: Nanos, out: &mut Vec<u8>) {
        if let (Part::Piece { piece, .. }, Some(settings)) = (part, shared.event_stream(self.route))
        {
            let sent_ns = shared.epoch_monotonic_ns + now.0;
            match self.call() {
                Some(_) => push_stream_message(out, &settings.data, piece, sent_ns),
                None => settings.push_event(out, piece, part.is_last(), sent_ns),
            }
        }
    }

    /// Schedules the next event of a stream. Returns the time at which it is due; it leaves later
    /// only if the head was held back as long.
    #[cold]
    pub(crate) fn next_event_at(&mut self, shared: &Shared) -> Nanos {
        let settings = shared.event_stream(self.route);
        let due_ns =
            |(progress, settings): (&mut Box<EventProgress>, _)| progress.schedule(settings);
        self.received_at.after(self.events.as_mut().zip(settings).map_or(0, due_ns))
    }

    /// Returns the time at which the last event of a stream is due. Takes time for each event.
    pub(crate) fn events_end_at(&self, shared: &Shared) -> Nanos {
        let events = self.events.as_ref().zip(shared.event_stream(self.route));
        let end_ns = events.map_or(0, |(progress, settings)| progress.end_ns(settings));
        self.received_at.after(end_ns)
    }

    /// Makes it the shop's response.
    pub(crate) fn set_shop(&mut self, reply: ShopReply) {
        self.status = reply.status;
        self.body_bytes = reply.body.len() as u64;
        self.own = Some(Box::new(OwnContent::Shop(reply)));
    }

    /// Returns the response to a call of gRPC that it is.
    pub(crate) fn call(&self) -> Option<&CallReply> {
        match **self.own.as_ref()? {
            OwnContent::Call(ref call) => Some(call),
            OwnContent::Shop(_) => None,
        }
    }

    /// Returns the shop's response that it is.
    pub(crate) fn shop(&self) -> Option<&ShopReply> {
        match **self.own.as_ref()? {
            OwnContent::Call(_) => None,
            OwnContent::Shop(ref reply) => Some(reply),
        }
    }

    /// Returns the body of the shop's response, or the one that its route has prepared; `None` for
    /// filler.
    pub(crate) fn body<'a>(&'a self, shared: &'a Shared) -> Option<&'a Arc<[u8]>> {
        if let Some(reply) = self.shop() {
            return Some(&reply.body);
        }
        let routed = self.route?;
        shared.behaviour.routes.get(routed.index).body(routed.is_broken)
    }
}

/// Part of a response to render.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Piece `piece` of `pieces`; piece 0 begins with the head.
    Piece { piece: u32, pieces: u32 },
    /// The head and half of the body, or half of the head if there is no body.
    Half,
}

impl Part {
    pub(crate) const WHOLE: Part = Part::Piece { piece: 0, pieces: 1 };

    /// Returns the part's share of a body of `total` bytes.
    pub(crate) fn range(self, total: u64) -> Range<u64> {
        match self {
            Part::Piece { piece, pieces } => {
                // Computed from the index, so that the pieces add up to the body despite
                // remainders.
                let edge = |k: u32| total * u64::from(k) / u64::from(pieces);
                edge(piece)..edge(piece + 1)
            }
            Part::Half => 0..total / 2,
        }
    }

    /// True if the response begins with this part.
    pub(crate) fn has_head(self) -> bool {
        !matches!(self, Part::Piece { piece: 1.., .. })
    }

    /// True if the response ends with this part.
    pub(crate) fn is_last(self) -> bool {
        matches!(self, Part::Piece { piece, pieces } if piece + 1 == pieces)
    }
}

/// Longest run of body bytes that is copied next to its head rather than sent from a template.
const COPIED_MAX_BYTES: u64 = 2048;

/// Body bytes in the filler template.
const FILLER_BYTES: u32 = 1 << 20;

/// Encodes responses into segments.
#[derive(Debug)]
pub(crate) struct Renderer {
    shared: Arc<Shared>,
    /// Header lines common to all responses without a route, ready to copy.
    fixed_headers: Vec<u8>,
    /// The same of counters and refusals.
    own_headers: Vec<u8>,
    routes: Vec<RouteParts>,
    filler: TemplateId,
    chunks: Option<Chunks>,
    text: Vec<u8>,
    /// An event without its framing.
    event: Vec<u8>,
    segments: Vec<Segment>,
}

/// Parts of the responses of a route, ready to send.
#[derive(Debug)]
struct RouteParts {
    headers: Vec<u8>,
    /// Its body, and that of broken responses, unless they are filler.
    bodies: [Option<TemplateId>; 2],
}

/// A template of consecutive whole chunks of the behaviour's size.
#[derive(Clone, Copy, Debug)]
struct Chunks {
    template: TemplateId,
    chunk_bytes: u32,
    /// Bytes of one chunk with its framing.
    framed_bytes: u32,
    count: u32,
}

impl Renderer {
    pub(crate) fn new<B: Backend>(backend: &mut B, shared: Arc<Shared>) -> Renderer {
        let behaviour = &shared.behaviour;
        let fixed_headers = header_lines(behaviour, None);
        let own_headers = header_lines(&behaviour.without_events(), None);
        let parts = |prepared: &PreparedRoute| RouteParts {
            headers: header_lines(behaviour, Some(&prepared.route)),
            bodies: [false, true].map(|is_broken| {
                prepared.body(is_broken).map(|body| backend.template(Arc::clone(body)))
            }),
        };
        let routes = behaviour.routes.iter().map(parts).collect();
        let filler = backend.template(vec![FILLER; FILLER_BYTES as usize].into());
        let chunks = match shared.behaviour.framing {
            Framing::Chunked { chunk_bytes } => Some(Chunks::new(backend, chunk_bytes)),
            Framing::Length | Framing::UntilClose => None,
        };
        let text = Vec::new();
        let event = Vec::new();
        let segments = Vec::new();
        Renderer {
            shared,
            fixed_headers,
            own_headers,
            routes,
            filler,
            chunks,
            text,
            event,
            segments,
        }
    }

    /// Returns the segments of `part` of `response`, to be sent at once and in this order. `now`
    /// becomes the response's send time stamp.
    pub(crate) fn render<B: Backend>(
        &mut self,
        backend: &mut B,
        response: &Response,
        part: Part,
        now: Nanos,
    ) -> &[Segment] {
        self.segments.clear();
        self.text.clear();
        let total = response.sent_bytes();
        if part.has_head() {
            self.head(response, now);
        } else if response.events.is_some() {
            self.event(response, part, now);
            self.end_text(backend);
            return &self.segments;
        }
        if part == Part::Half && total == 0 {
            self.text.truncate(self.text.len() / 2);
        } else {
            let range = part.range(total);
            let bytes = range.end - range.start;
            let last = part.is_last();
            let is_filler = response.route.is_none() && response.own.is_none();
            if is_filler || !self.given_body(backend, response, range, last) {
                self.body(backend, response, bytes, last);
            }
        }
        self.end_text(backend);
        &self.segments
    }

    /// Adds the event that `part` of a stream is, as a chunk if the framing has chunks.
    #[cold]
    fn event(&mut self, response: &Response, part: Part, now: Nanos) {
        self.event.clear();
        response.push_event(&self.shared, part, now, &mut self.event);
        let Framing::Chunked { .. } = response.framing else {
            return self.text.extend_from_slice(&self.event);
        };
        push_chunk_size(&mut self.text, self.event.len() as u64);
        self.text.extend_from_slice(&self.event);
        self.text.extend_from_slice(b"\r\n");
        if part.is_last() {
            self.text.extend_from_slice(LAST_CHUNK);
        }
    }

    /// Returns the segments of sixteen bytes that belong to no response.
    pub(crate) fn garbage<B: Backend>(&mut self, backend: &mut B) -> &[Segment] {
        self.segments.clear();
        self.segments.push(Segment::Pooled(backend.pool(GARBAGE)));
        &self.segments
    }

    /// Returns a whole response's bytes if it is one text: only for short bodies with
    /// `Content-Length`.
    pub(crate) fn plain_bytes(&mut self, response: &Response) -> Option<Vec<u8>> {
        if response.framing != Framing::Length || response.sent_bytes() > PLAIN_MAX_BYTES {
            return None;
        }
        self.text.clear();
        self.head(response, Nanos::ZERO);
        let mut bytes = std::mem::take(&mut self.text);
        bytes.resize(bytes.len() + usize::try_from(response.sent_bytes()).ok()?, FILLER);
        Some(bytes)
    }

    fn head(&mut self, response: &Response, now: Nanos) {
        let text = &mut self.text;
        if response.kind == ResponseKind::Continue {
            text.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
            return;
        }
        text.extend_from_slice(if response.is_http10 { b"HTTP/1.0 " } else { b"HTTP/1.1 " });
        push_decimal(text, u64::from(response.status));
        text.push(b' ');
        text.extend_from_slice(reason(response.status).as_bytes());
        text.extend_from_slice(b"\r\n");
        let own_body = response.own_body(&self.shared);
        match response.framing {
            // RFC 9110 §8.6: not with 204. With 304 and HEAD it is the length of the response to
            // GET.
            Framing::Length if response.status != 204 => {
                let length =
                    own_body.as_ref().map_or(response.body_bytes, |body| body.len() as u64);
                text.extend_from_slice(b"Content-Length: ");
                push_decimal(text, length);
                text.extend_from_slice(b"\r\n");
            }
            Framing::Chunked { .. } if response.status != 204 => {
                text.extend_from_slice(b"Transfer-Encoding: chunked\r\n");
            }
            _ => {}
        }
        match response.persistence {
            Persistence::Silent => {}
            Persistence::KeepAlive => text.extend_from_slice(b"Connection: keep-alive\r\n"),
            Persistence::Close => text.extend_from_slice(b"Connection: close\r\n"),
        }
        match (response.shop(), response.route) {
            (Some(reply), _) => {
                push_lines(text, self.shared.behaviour.fields_beside(&reply.fields))
            }
            (None, Some(routed)) => {
                text.extend_from_slice(&self.routes[usize::from(routed.index)].headers);
            }
            (None, None) if response.kind == ResponseKind::Ordinary => {
                text.extend_from_slice(&self.fixed_headers);
            }
            (None, None) => text.extend_from_slice(&self.own_headers),
        }
        if self.shared.behaviour.stamps && response.kind == ResponseKind::Ordinary {
            push_stamps(text, response, now, self.shared.epoch_monotonic_ns);
        }
        text.extend_from_slice(b"\r\n");
        if let Some(body) = own_body.filter(|_| !response.is_head) {
            text.extend_from_slice(body.as_bytes());
        }
    }

    /// Adds `bytes` bytes of body in the response's framing, and the body's end if these are the
    /// `last`.
    fn body<B: Backend>(&mut self, backend: &mut B, response: &Response, bytes: u64, last: bool) {
        let Framing::Chunked { chunk_bytes } = response.framing else {
            return self.fill(backend, bytes);
        };
        if !response.has_body() {
            return;
        }
        let size = u64::from(chunk_bytes);
        self.whole_chunks(backend, bytes / size);
        let rest = bytes % size;
        if rest > 0 {
            push_chunk_size(&mut self.text, rest);
            self.fill(backend, rest);
            self.text.extend_from_slice(b"\r\n");
        }
        if last {
            self.text.extend_from_slice(LAST_CHUNK);
        }
    }

    /// Adds a range of the body that a route or the shop has made, and the body's end if it is the
    /// `last`. Returns false if the body is filler.
    #[cold]
    fn given_body<B: Backend>(
        &mut self,
        backend: &mut B,
        response: &Response,
        range: Range<u64>,
        last: bool,
    ) -> bool {
        let Some(body) = response.body(&self.shared).cloned() else { return false };
        if !response.has_body() {
            return true;
        }
        let at = |edge: u64| usize::try_from(edge).expect("within the body");
        let bytes = &body[at(range.start)..at(range.end)];
        if let Framing::Chunked { chunk_bytes } = response.framing {
            for chunk in bytes.chunks(chunk_bytes as usize) {
                push_chunk_size(&mut self.text, chunk.len() as u64);
                self.text.extend_from_slice(chunk);
                self.text.extend_from_slice(b"\r\n");
            }
            if last {
                self.text.extend_from_slice(LAST_CHUNK);
            }
            return true;
        }
        let template = response.route.and_then(|routed| {
            self.routes[usize::from(routed.index)].bodies[usize::from(routed.is_broken)]
        });
        // A template is sent from its start.
        match template.filter(|_| range.start == 0 && range.end > COPIED_MAX_BYTES) {
            None => self.text.extend_from_slice(bytes),
            Some(id) => {
                self.end_text(backend);
                let bytes = u32::try_from(range.end).expect("bodies have at most 1 GiB");
                self.segments.push(Segment::Template { id, bytes });
            }
        }
        true
    }

    fn whole_chunks<B: Backend>(&mut self, backend: &mut B, mut left: u64) {
        if left == 0 {
            return;
        }
        let chunks = self.chunks.expect("only the behaviour's framing is chunked");
        debug_assert_eq!(
            self.shared.behaviour.framing,
            Framing::Chunked { chunk_bytes: chunks.chunk_bytes }
        );
        self.end_text(backend);
        while left > 0 {
            let count = u32::try_from(left).unwrap_or(u32::MAX).min(chunks.count);
            let bytes = count * chunks.framed_bytes;
            self.segments.push(Segment::Template { id: chunks.template, bytes });
            left -= u64::from(count);
        }
    }

    fn fill<B: Backend>(&mut self, backend: &mut B, mut left: u64) {
        if left <= COPIED_MAX_BYTES {
            let length = self.text.len() + usize::try_from(left).unwrap_or(0);
            self.text.resize(length, FILLER);
            return;
        }
        self.end_text(backend);
        while left > 0 {
            let bytes = u32::try_from(left).unwrap_or(u32::MAX).min(FILLER_BYTES);
            self.segments.push(Segment::Template { id: self.filler, bytes });
            left -= u64::from(bytes);
        }
    }

    /// Turns the text so far into a segment.
    fn end_text<B: Backend>(&mut self, backend: &mut B) {
        if !self.text.is_empty() {
            self.segments.push(Segment::Pooled(backend.pool(&self.text)));
            self.text.clear();
        }
    }
}

/// Returns the header lines of responses of a route, or of those without one.
fn header_lines(behaviour: &Behaviour, route: Option<&Route>) -> Vec<u8> {
    let mut lines = Vec::new();
    push_lines(&mut lines, behaviour.fields(route));
    lines
}

/// Appends header lines of these names and values.
fn push_lines(text: &mut Vec<u8>, fields: Vec<(&str, &str)>) {
    for (name, value) in fields {
        for part in [name, ": ", value, "\r\n"] {
            text.extend_from_slice(part.as_bytes());
        }
    }
}

/// Bytes of an injected fault, which belong to no response.
pub(crate) const GARBAGE: &[u8] = b"\0garbage\r\n\xff\xfe\xfd\xfc\r\n";

/// Longest body of a response that is kept ready as a whole, in bytes.
const PLAIN_MAX_BYTES: u64 = 64 * 1024;

impl Chunks {
    fn new<B: Backend>(backend: &mut B, chunk_bytes: u32) -> Chunks {
        let mut one = Vec::new();
        push_chunk_size(&mut one, u64::from(chunk_bytes));
        one.resize(one.len() + chunk_bytes as usize, FILLER);
        one.extend_from_slice(b"\r\n");
        let framed_bytes = u32::try_from(one.len()).expect("a chunk is at most 1 MiB");
        let count = (FILLER_BYTES / framed_bytes).max(1);
        let template = backend.template(one.repeat(count as usize).into());
        Chunks { template, chunk_bytes, framed_bytes, count }
    }
}

fn push_stamps(text: &mut Vec<u8>, response: &Response, now: Nanos, epoch_ns: u64) {
    let slot = response.slot.as_bytes();
    if !slot.is_empty() {
        text.extend_from_slice(b"x-slot: ");
        text.extend_from_slice(slot);
        text.extend_from_slice(b"\r\n");
    }
    text.extend_from_slice(b"x-srv-recv-ns: ");
    push_decimal(text, epoch_ns + response.received_at.0);
    text.extend_from_slice(b"\r\nx-srv-send-ns: ");
    push_decimal(text, epoch_ns + now.0);
    text.extend_from_slice(b"\r\n");
}

/// True if the behaviour gives every plain request the same bytes at once, so that they can be
/// prepared.
pub(crate) fn is_uniform(behaviour: &Behaviour) -> bool {
    behaviour.delay.is_none()
        && behaviour.mode == Mode::Concurrent
        && behaviour.drip.is_none()
        && behaviour.events.is_none()
        && behaviour.shop.is_none()
        && behaviour.faults.is_empty()
        && behaviour.framing == Framing::Length
        && behaviour.requests_per_connection.is_none()
        && behaviour.arrivals_max == 0
        && !behaviour.stamps
        && !behaviour.close
        && !behaviour.http10
}
