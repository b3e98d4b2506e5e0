//! HTTP/2 in the responder: the choice of a connection's protocol by its first bytes, requests and
//! responses of streams, and the end of a connection by GOAWAY.

use weir_http::grpc::GrpcStatus;
use weir_http::h2::ErrorCode;
use weir_http::h2::frame::PREFACE;
use weir_io::{ConnId, Nanos};

use super::Responder;
use super::shop;
use super::waiting::{LINGER_NS, Waiting};
use crate::action::{Action, Due};
use crate::connection::Protocol;
use crate::counters::add;
use crate::fault::FaultKind;
use crate::grpc::CallReply;
use crate::http_version::HttpVersion;
use crate::http2::{Http2, Owed, ServedEvent};
use crate::request::BadRequest;
use crate::response::{GARBAGE, Part, Response, ResponseKind};
use crate::stats::Shared;
use crate::stream_head::StreamHead;

impl Responder {
    /// Handles bytes of a connection that is not known to be HTTP/1.
    #[inline(never)]
    pub(super) fn receive_opening(&mut self, conn: ConnId, bytes: &[u8], at: Nanos) {
        let is_http2_only = self.shared.behaviour.version() == HttpVersion::Http2;
        let connection = &mut self.connections[conn.index()];
        match connection.protocol {
            Protocol::WebSocket(_) => return self.sockets().receive(conn, bytes, at),
            Protocol::ShopHttp1(_) => return shop::take_requests(self, conn, bytes, at),
            _ => {}
        }
        let Protocol::Undecided { preface_bytes: seen } = connection.protocol else {
            return self.receive_frames(conn, bytes, at);
        };
        let expected = &PREFACE[seen..];
        if is_http2_only || bytes.starts_with(expected) {
            self.begin_http2(conn, at);
            self.receive_frames(conn, &PREFACE[..seen], at);
            self.receive_frames(conn, bytes, at);
        } else if expected.starts_with(bytes) {
            connection.protocol = Protocol::Undecided { preface_bytes: seen + bytes.len() };
        } else {
            connection.protocol = Protocol::http1(self.shared.behaviour.shop.is_some());
            if seen > 0 {
                self.receive(conn, &PREFACE[..seen], at);
            }
            self.receive(conn, bytes, at);
        }
    }

    fn begin_http2(&mut self, conn: ConnId, at: Nanos) {
        let http2 = Http2::new(&self.shared.behaviour);
        let settings_at = at + self.shared.behaviour.http2.settings_delay;
        let connection = &mut self.connections[conn.index()];
        if http2.is_held {
            connection.last_due_at = settings_at;
            self.waiting.add(settings_at, Waiting::Settings(conn, connection.life));
        }
        connection.protocol = Protocol::Http2(Box::new(http2));
    }

    /// Ends the delay of a connection's settings.
    pub(super) fn release(&mut self, conn: ConnId, life: u32) -> Option<Action> {
        if !self.connections[conn.index()].is_current(life) {
            return None;
        }
        self.connections[conn.index()].http2()?.is_held = false;
        Some(Action::Flush { conn })
    }

    fn receive_frames(&mut self, conn: ConnId, bytes: &[u8], at: Nanos) {
        let Some(http2) = self.connections[conn.index()].http2() else { return };
        let mut events = std::mem::take(&mut self.stream_events);
        let result = http2.receive(bytes, &self.shared.behaviour.routes, &mut events);
        let (refused, malformed) = http2.take_counts();
        add(&self.accounts.counters().requests.refused, refused);
        add(&self.accounts.counters().requests.bad, malformed);
        for event in events.drain(..) {
            match event {
                ServedEvent::Request(stream, request, content) => {
                    self.take_request(conn, stream, &request, content.as_deref(), at);
                }
                ServedEvent::Invalid(stream, bad) => self.refuse_fields(conn, stream, bad, at),
                ServedEvent::Reset(stream) => self.abandon(conn, stream),
            }
        }
        self.stream_events = events;
        self.flush_later(conn);
        if result.is_err() {
            add(&self.accounts.counters().requests.bad, 1);
            self.actions.push_back(Action::Close { conn });
        }
    }

    /// Queues the error response to a request with an invalid override.
    fn refuse_fields(&mut self, conn: ConnId, stream: u32, bad: BadRequest, at: Nanos) {
        add(&self.accounts.counters().requests.bad, 1);
        let response = Response::bare(ResponseKind::Refusal(bad.why.into()), bad.status, at);
        self.line_up(conn, Response { stream, ..response }, None, at, at);
    }

    /// Refuses a request by an injected fault; it is not processed.
    pub(super) fn refuse_stream(&mut self, conn: ConnId, stream: u32) {
        add(&self.accounts.counters().requests.refused, 1);
        self.accounts.injected(FaultKind::RefuseStream);
        if let Some(http2) = self.connections[conn.index()].http2() {
            http2.reset(stream, ErrorCode::REFUSED_STREAM);
        }
    }

    /// Resets the stream of a response by an injected fault.
    pub(crate) fn reset_stream(&mut self, due: &Due) {
        let connection = &mut self.connections[due.conn.index()];
        let Some(http2) = connection.http2() else { return };
        http2.reset(due.response.stream, ErrorCode::INTERNAL_ERROR);
        connection.queued -= 1;
        self.flush_later(due.conn);
    }

    /// Records that a stream has ended before its response was sent.
    fn abandon(&mut self, conn: ConnId, stream: u32) {
        let connection = &mut self.connections[conn.index()];
        let Some(owed) = connection.http2().and_then(|http2| http2.forget(stream)) else { return };
        connection.queued -= 1;
        self.accounts.abandoned(connection, owed.is_counted);
    }

    /// True if a stream still waits for its response. On a black hole it is abandoned instead.
    pub(super) fn is_stream_wanted(&mut self, conn: ConnId, stream: u32) -> bool {
        let connection = &mut self.connections[conn.index()];
        if connection.is_muted {
            self.abandon(conn, stream);
            return false;
        }
        connection.http2().is_some_and(|http2| http2.is_owed(stream))
    }

    /// Queues a part of a stream's response. `now` becomes its send time stamp.
    pub(crate) fn push_response(
        &mut self,
        conn: ConnId,
        response: &Response,
        part: Part,
        now: Nanos,
    ) {
        let Some(http2) = self.connections[conn.index()].http2() else { return };
        let stream = response.stream;
        if let Some(call) = response.call() {
            let head = &mut self.stream_head;
            let shared = &self.shared;
            let is_ok = call.is_ok();
            let has_message = push_call(http2, head, shared, response, call, part, now);
            let status = (!is_ok || part.is_last()).then_some(call.status);
            self.accounts.sent_call(status, has_message.into());
            if !is_ok {
                self.end_stream(conn, stream, now);
            }
            return self.flush_later(conn);
        }
        let own_body = response.own_body(&self.shared);
        let bytes = response.sent_bytes();
        let mut has_ended = false;
        if part.has_head() {
            let text = own_body.as_deref().filter(|_| !response.is_head);
            has_ended = bytes == 0 && part.is_last();
            let is_end = has_ended && text.is_none();
            let own_bytes = own_body.as_ref().map(|text| text.len() as u64);
            self.stream_head.with_fields(response, own_bytes, now, |fields| {
                http2.server.respond(stream, response.status, fields, is_end);
            });
            if let Some(text) = text {
                http2.server.send_data(stream, text.as_bytes(), true);
            }
        } else if response.events.is_some() {
            let push = |out: &mut _| response.push_event(&self.shared, part, now, out);
            http2.push_text(stream, part.is_last(), false, push);
        }
        if bytes > 0 {
            let body = response.body(&self.shared);
            http2.push_body(stream, body, part.range(bytes), part.is_last());
        }
        if has_ended {
            self.end_stream(conn, stream, now);
        }
        self.flush_later(conn);
    }

    /// Queues bytes that belong to no response.
    pub(crate) fn push_garbage(&mut self, conn: ConnId) {
        if let Some(http2) = self.connections[conn.index()].http2() {
            http2.push_raw(GARBAGE);
        }
        self.flush_later(conn);
    }

    /// Records that the response of a stream is sent as a whole.
    fn end_stream(&mut self, conn: ConnId, stream: u32, now: Nanos) {
        let connection = &mut self.connections[conn.index()];
        let Some(owed) = connection.http2().and_then(|http2| http2.forget(stream)) else { return };
        connection.queued -= 1;
        self.accounts.answered(connection, owed.is_counted, owed.log_place, now);
    }

    pub(super) fn flush_later(&mut self, conn: ConnId) {
        if let Some(http2) = self.connections[conn.index()].http2()
            && !std::mem::replace(&mut http2.is_flush_due, true)
        {
            self.actions.push_back(Action::Flush { conn });
        }
    }

    /// Appends the frames of a connection that can be sent at `now`: none in HTTP/1.
    pub(crate) fn take_output(&mut self, conn: ConnId, now: Nanos, out: &mut Vec<u8>) {
        let connection = &mut self.connections[conn.index()];
        let life = connection.life;
        let is_muted = connection.is_muted;
        if let Some(socket) = connection.socket() {
            return socket.take_output(is_muted, out);
        }
        let Some(http2) = connection.http2() else { return };
        http2.is_flush_due = false;
        if http2.is_held {
            return;
        }
        if is_muted {
            return http2.server.poll_transmit(&mut Vec::new());
        }
        http2.push_output(out);
        if http2.is_done() && !std::mem::replace(&mut http2.is_lingering, true) {
            self.waiting.add(now.after(LINGER_NS), Waiting::Lingering(conn, life));
        }
        while let Some(stream) =
            self.connections[conn.index()].http2().and_then(|http2| http2.ended.pop())
        {
            self.end_stream(conn, stream, now);
        }
        let connection = &mut self.connections[conn.index()];
        let has_peer_ended = connection.has_peer_ended;
        let queued = connection.queued;
        // A client that sends no more opens no window: a response that waits for one never ends.
        if has_peer_ended && connection.http2().is_some_and(|http2| http2.blocked() >= queued) {
            self.actions.push_back(Action::Close { conn });
        }
    }
}

impl Owed {
    /// Returns the entry of a response that is owed.
    pub(super) fn by(response: &Response) -> Owed {
        let is_counted = response.kind == ResponseKind::Ordinary;
        Owed { is_counted, log_place: response.log_place }
    }
}

/// Queues a part of the response to a call of gRPC. `now` becomes its send time stamp. Returns true
/// if a message ends with it.
#[cold]
fn push_call(
    http2: &mut Http2,
    head: &mut StreamHead,
    shared: &Shared,
    response: &Response,
    call: &CallReply,
    part: Part,
    now: Nanos,
) -> bool {
    let stream = response.stream;
    if part.has_head() {
        let status = call.status.0.to_string();
        head.with_fields(response, None, now, |fields| match call.status {
            GrpcStatus::OK if call.is_gzip => {
                let fields = [fields, &[(b"grpc-encoding", b"gzip")]].concat();
                http2.server.respond(stream, response.status, &fields, false);
            }
            GrpcStatus::OK => drop(http2.server.respond(stream, response.status, fields, false)),
            // Trailers alone, which are a head.
            _ => {
                let message = (&b"grpc-message"[..], &b"fault of weir serve"[..]);
                let own = [(&b"grpc-status"[..], status.as_bytes()), message];
                let fields = [fields, &own].concat();
                http2.server.respond(stream, response.status, &fields, true);
            }
        });
    }
    match &call.message {
        Some(message) => {
            let bytes = part.range(message.len() as u64);
            let range = bytes.start as usize..bytes.end as usize;
            let push = |out: &mut Vec<u8>| out.extend_from_slice(&message[range]);
            http2.push_text(stream, part.is_last(), true, push);
            part.is_last()
        }
        None if part.has_head() => false,
        None => {
            let push = |out: &mut _| response.push_event(shared, part, now, out);
            http2.push_text(stream, part.is_last(), true, push);
            true
        }
    }
}
