//! State of all connections of a worker, and the decisions: takes received bytes, reads requests
//! from them, decides each response, and holds it until it is due. This module neither sends nor
//! reads a clock: actions come out as [`Action`]s, and `at` or `now` is an argument.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use weir_http::server::ReadProgress;
use weir_io::{ConnId, Nanos};

use crate::accounts::Accounts;
use crate::action::{Action, Due};
use crate::behaviour::{Behaviour, Framing, Mode};
use crate::connection::{Connection, Protocol};
use crate::content::RequestContent;
use crate::counters::add;
use crate::draws::Draws;
use crate::fault::{Fault, FaultKind};
use crate::http_version::HttpVersion;
use crate::http2::{Owed, ServedEvent};
use crate::pending::{Fifo, Pending};
use crate::reply::Reply;
use crate::request::{BadRequest, ServedRequest};
use crate::response::{Persistence, Response, ResponseKind, is_uniform};
use crate::routes::Routed;
use crate::stats::Shared;
use crate::stream_head::StreamHead;
use crate::units::span_ns;
use plain_head::PlainHead;
use sockets::Sockets;
use waiting::{QUEUED_MAX, Waiting};

mod plain_head;
mod shop;
mod sockets;
mod streams;
mod waiting;

/// State and decisions of one worker.
#[derive(Debug)]
pub(crate) struct Responder {
    shared: Arc<Shared>,
    pub(crate) accounts: Accounts,
    connections: Vec<Connection>,
    waiting: Pending<Waiting>,
    pub(crate) actions: VecDeque<Action>,
    fifo: Fifo,
    plain_head: PlainHead,
    /// True if plain requests get [`Action::Plain`].
    is_uniform: bool,
    stream_head: StreamHead,
    /// Buffer for events of streams.
    stream_events: Vec<ServedEvent>,
}

impl Responder {
    pub(crate) fn new(shared: Arc<Shared>, worker: usize) -> Responder {
        let is_uniform = is_uniform(&shared.behaviour);
        let stream_head = StreamHead::new(Arc::clone(&shared));
        Responder {
            accounts: Accounts::new(Arc::clone(&shared), worker),
            shared,
            connections: Vec::new(),
            waiting: Pending::new(),
            actions: VecDeque::new(),
            fifo: Fifo::default(),
            plain_head: PlainHead::default(),
            is_uniform,
            stream_head,
            stream_events: Vec::new(),
        }
    }

    /// Returns the time at which the next queued item is due.
    pub(crate) fn next_due_at(&self) -> Option<Nanos> {
        self.waiting.next_due()
    }

    /// Returns the next queued item that is due at `now`, as an action.
    pub(crate) fn take_due(&mut self, now: Nanos) -> Option<Action> {
        while let Some(waiting) = self.waiting.take_due(now) {
            let action = match waiting {
                Waiting::Response(due) => self.connections[due.conn.index()]
                    .is_current(due.life)
                    .then_some(Action::Give(due)),
                Waiting::IdleCheck(conn, life) => self.check_idle(conn, life, now),
                Waiting::Settings(conn, life) => self.release(conn, life),
                Waiting::Lingering(conn, life) => self.connections[conn.index()]
                    .is_current(life)
                    .then_some(Action::Close { conn }),
                Waiting::Echo(echo) => self.connections[echo.conn.index()]
                    .is_current(echo.life)
                    .then_some(Action::Echo(echo)),
                Waiting::Push(conn, life) => {
                    self.connections[conn.index()].is_current(life).then_some(Action::Push { conn })
                }
                Waiting::Ping(conn, life) => self.sockets().ping(conn, life, now),
            };
            if action.is_some() {
                return action;
            }
        }
        None
    }

    /// Returns the part that WebSocket connections need.
    pub(crate) fn sockets(&mut self) -> Sockets<'_> {
        Sockets {
            shared: &self.shared,
            accounts: &mut self.accounts,
            connections: &mut self.connections,
            waiting: &mut self.waiting,
            actions: &mut self.actions,
            fifo: &mut self.fifo,
        }
    }

    fn check_idle(&mut self, conn: ConnId, life: u32, now: Nanos) -> Option<Action> {
        let timeout_ns = span_ns(self.shared.behaviour.idle_timeout?);
        if !self.connections[conn.index()].is_current(life) {
            return None;
        }
        let connection = &mut self.connections[conn.index()];
        let expires_at = match connection.queued {
            0 => connection.last_traffic_at.after(timeout_ns),
            _ => now.after(timeout_ns),
        };
        if expires_at <= now {
            // A request that is on its way will not be processed.
            if let Some(http2) = connection.http2() {
                http2.go_away();
            }
            if connection.is_socket() {
                return self.sockets().leave(conn, now);
            }
            return Some(Action::Close { conn });
        }
        self.waiting.add(expires_at, Waiting::IdleCheck(conn, life));
        None
    }

    /// Records that a new socket has the number `conn`.
    pub(crate) fn accepted(&mut self, conn: ConnId, at: Nanos) {
        let accepted = &self.accounts.counters().accepted;
        let number = accepted.load(Ordering::Relaxed);
        add(accepted, 1);
        if self.connections.len() <= conn.index() {
            self.connections.resize_with(conn.index() + 1, Connection::default);
        }
        let connection = &mut self.connections[conn.index()];
        debug_assert!(!connection.is_open, "the number of an open connection was given again");
        let life = connection.life.wrapping_add(1);
        let mut parser = std::mem::take(&mut connection.parser);
        parser.reset();
        let protocol = match self.shared.behaviour.version() {
            HttpVersion::Http1 => Protocol::http1(self.shared.behaviour.shop.is_some()),
            HttpVersion::Auto | HttpVersion::Http2 => Protocol::Undecided { preface_bytes: 0 },
        };
        *connection =
            Connection { life, number, is_open: true, protocol, parser, ..Connection::default() };
        connection.last_traffic_at = at;
        if let Some(timeout) = self.shared.behaviour.idle_timeout {
            self.waiting.add(at + timeout, Waiting::IdleCheck(conn, life));
        }
    }

    /// Handles the end of the peer's data: sends pending responses, then closes the connection.
    pub(crate) fn peer_ended(&mut self, conn: ConnId) {
        let connection = &mut self.connections[conn.index()];
        connection.is_ending = true;
        connection.has_peer_ended = true;
        if connection.queued == 0 || connection.is_muted {
            self.actions.push_back(Action::Close { conn });
        } else {
            // The windows of HTTP/2 may be used up.
            self.flush_later(conn);
        }
    }

    /// Records that the socket is closed.
    pub(crate) fn gone(&mut self, conn: ConnId) {
        let connection = &mut self.connections[conn.index()];
        connection.is_open = false;
        connection.request = None;
        let protocol = std::mem::take(&mut connection.protocol);
        let owed = u64::from(std::mem::take(&mut connection.owed));
        if let Protocol::WebSocket(socket) = protocol {
            socket.count_end(self.accounts.counters());
        }
        add(&self.accounts.counters().requests.abandoned, owed);
    }

    /// Handles bytes that arrived on `conn`, read at `at`.
    pub(crate) fn receive(&mut self, conn: ConnId, bytes: &[u8], at: Nanos) {
        let connection = &mut self.connections[conn.index()];
        connection.last_traffic_at = at;
        if !matches!(connection.protocol, Protocol::Http1) {
            return self.receive_opening(conn, bytes, at);
        }
        if !connection.parser.is_idle() || connection.is_ending {
            return self.take_requests(conn, bytes, at);
        }
        if !connection.begun.is_empty() {
            return self.continue_copy(conn, bytes, at);
        }
        let rest = self.take_copies(conn, bytes, at);
        if !rest.is_empty() && !self.begin_copy(conn, rest) {
            self.take_requests(conn, rest, at);
        }
    }

    /// Handles bytes after a start of the plain head that was held back.
    fn continue_copy(&mut self, conn: ConnId, bytes: &[u8], at: Nanos) {
        let begun = &mut self.connections[conn.index()].begun;
        match self.plain_head.behind(begun) {
            Some(left) if bytes.starts_with(left) => {
                let rest = &bytes[left.len()..];
                begun.clear();
                self.take_plain(conn, 1, at);
                if !rest.is_empty() {
                    self.receive(conn, rest, at);
                }
            }
            Some(left) if left.starts_with(bytes) => begun.extend_from_slice(bytes),
            _ => {
                let begun = std::mem::take(begun);
                self.take_requests(conn, &begun, at);
                self.take_requests(conn, bytes, at);
            }
        }
    }

    /// Holds `bytes` back if they are the start of the plain head. Returns true if so.
    fn begin_copy(&mut self, conn: ConnId, bytes: &[u8]) -> bool {
        let is_start = self.plain_head.has_start(bytes);
        if is_start {
            self.connections[conn.index()].begun.extend_from_slice(bytes);
        }
        is_start
    }

    /// Takes the repetitions of the cached plain head at the start of `bytes`, and returns the
    /// rest.
    #[inline]
    fn take_copies<'a>(&mut self, conn: ConnId, bytes: &'a [u8], at: Nanos) -> &'a [u8] {
        let (copies, rest) = self.plain_head.copies(bytes);
        if copies > 0 {
            self.take_plain(conn, copies, at);
        }
        rest
    }

    /// Takes the requests in `bytes`, and stores a last one that is incomplete.
    fn take_requests(&mut self, conn: ConnId, bytes: &[u8], at: Nanos) {
        let mut request = self.connections[conn.index()].request.take().unwrap_or_default();
        let mut rest = bytes;
        // The current request, as far as it is within `bytes`.
        let mut start = bytes;
        while !rest.is_empty() {
            let connection = &mut self.connections[conn.index()];
            if connection.is_ending {
                return;
            }
            match request.read(&mut connection.parser, &mut rest, &self.shared.behaviour.routes) {
                Ok(ReadProgress::Incomplete) => break,
                // RFC 9110 §10.1.1: not needed once the body has begun to arrive.
                Ok(ReadProgress::Head) if request.awaits_continue() && rest.is_empty() => {
                    let response = Response::bare(ResponseKind::Continue, 100, at);
                    self.line_up(conn, response, None, at, at);
                }
                Ok(ReadProgress::Head) => {}
                Ok(ReadProgress::End) => {
                    if !request.is_plain() {
                        self.take_request(conn, 0, &request, None, at);
                        if self.connections[conn.index()].is_socket() {
                            self.connections[conn.index()].begun.clear();
                            return self.sockets().receive(conn, rest, at);
                        }
                    } else {
                        let end = &start[..start.len() - rest.len()];
                        self.plain_head.set(&connection.begun, end);
                        self.take_plain(conn, 1, at);
                    }
                    self.connections[conn.index()].begun.clear();
                    if !rest.is_empty() && !self.connections[conn.index()].is_ending {
                        rest = self.take_copies(conn, rest, at);
                    }
                    start = rest;
                }
                Err(bad) => return self.refuse(conn, bad, at),
            }
        }
        let connection = &mut self.connections[conn.index()];
        if connection.parser.is_in_head() {
            connection.begun.extend_from_slice(start);
        }
        connection.request = Some(request);
    }

    fn take_plain(&mut self, conn: ConnId, copies: u32, at: Nanos) {
        let connection = &mut self.connections[conn.index()];
        if self.is_uniform && connection.queued == 0 && !connection.is_muted {
            if !self.shared.behaviour.stalls.is_empty() {
                self.shared.note_request(at);
            }
            add(&self.accounts.counters().requests.received, u64::from(copies));
            self.actions.push_back(Action::Plain { conn, copies });
            return;
        }
        let request = ServedRequest::plain();
        for _ in 0..copies {
            self.take_request(conn, 0, &request, None, at);
        }
    }

    /// Decides the response to a complete request, read at `at`. `stream` is its stream in HTTP/2,
    /// and 0 in HTTP/1; `content` is its content, if its response depends on it.
    fn take_request(
        &mut self,
        conn: ConnId,
        stream: u32,
        request: &ServedRequest,
        content: Option<&RequestContent>,
        at: Nanos,
    ) {
        if self.connections[conn.index()].is_ending {
            return;
        }
        if request.is_stats {
            let persistence = self.persistence(request, stream, false);
            let response = Response::stats(stream, request.is_head, persistence, at);
            return self.line_up(conn, response, None, at, at);
        }
        if let Some(key) = request.upgrade_key()
            && stream == 0
            && content.is_none()
            && self.sockets().accepts(conn, request)
        {
            let Reply { route, delay, .. } = self.reply(request);
            return self.sockets().upgrade(conn, request, key, route, delay, at);
        }
        self.shared.note_request(at);
        let index = self.shared.next_index();
        let draws = Draws::new(self.shared.behaviour.seed, index);
        let strike = || Fault::strike(&self.shared.behaviour.faults, index, draws);
        let fault = request.overrides.fault.or_else(strike);
        let fault = fault.filter(|fault| stream != 0 || !fault.is_of_streams());
        if fault == Some(FaultKind::RefuseStream) {
            return self.refuse_stream(conn, stream);
        }
        let connection = &mut self.connections[conn.index()];
        let log_place = self.accounts.took(connection, request, at);
        let taken = connection.taken;
        let behaviour = &self.shared.behaviour;
        let reply = self.reply(request);
        let delay_ns = reply.delay.sample_ns(draws);
        let due_at = match behaviour.mode {
            Mode::Concurrent => at.after(delay_ns),
            Mode::Fifo => self.fifo.depart(at, delay_ns),
        };
        let framing = behaviour.response_framing(request.is_http10, reply.has_events);
        let is_last = behaviour.requests_per_connection.is_some_and(|limit| taken >= limit);
        let must_close = is_last || framing == Framing::UntilClose;
        let mut response = Response {
            stream,
            body_bytes: reply.body_bytes,
            route: reply.route,
            framing,
            is_head: request.is_head,
            is_http10: behaviour.http10,
            persistence: self.persistence(request, stream, must_close),
            slot: request.slot,
            log_place,
            ..Response::bare(ResponseKind::Ordinary, reply.status, at)
        };
        if let Some(reply) = content.and_then(|it| self.shared.shop_reply(it, at, due_at)) {
            response.set_shop(reply);
        }
        // With another status of HTTP, the response is one of a server that speaks no gRPC.
        let call = content.and_then(RequestContent::call).filter(|_| reply.status == 200);
        let own = behaviour.message_bytes.or(reply.route.map(|_| reply.body_bytes));
        let message_bytes = request.overrides.body_bytes.or(own);
        let has_events = reply.has_events;
        self.accounts.begin_messages(&mut response, call, message_bytes, has_events, draws);
        self.line_up(conn, response, fault, due_at, at);
    }

    /// Returns the settings of the response to a request: its route's, or those that it overrides,
    /// else the behaviour's.
    #[inline]
    fn reply(&self, request: &ServedRequest) -> Reply {
        if let Some(index) = request.route {
            return self.route_reply(index);
        }
        let Behaviour { status, body_bytes, delay, events, .. } = &self.shared.behaviour;
        let overrides = &request.overrides;
        Reply {
            status: overrides.status.unwrap_or(*status),
            body_bytes: overrides.body_bytes.unwrap_or(*body_bytes),
            delay: overrides.delay.unwrap_or(*delay),
            route: None,
            has_events: events.is_some(),
        }
    }

    /// Counts a request of a route. Returns the settings of its response.
    #[cold]
    fn route_reply(&self, index: u16) -> Reply {
        let Behaviour { status, body_bytes, delay, routes, .. } = &self.shared.behaviour;
        let is_broken = self.shared.take_route(index);
        let prepared = routes.get(index);
        let route = Some(Routed { index, is_broken });
        Reply {
            status: prepared.status(is_broken).unwrap_or(*status),
            body_bytes: prepared.body_bytes(is_broken).unwrap_or(*body_bytes),
            delay: prepared.route.delay.unwrap_or(*delay),
            route,
            has_events: self.shared.event_stream(route).is_some(),
        }
    }

    fn persistence(&self, request: &ServedRequest, stream: u32, must_close: bool) -> Persistence {
        if stream != 0 {
            return Persistence::Silent;
        }
        let asks = request.is_http10 || self.shared.behaviour.http10;
        let persists = !request.wants_close && (!asks || request.wants_keep_alive);
        match (must_close || self.shared.behaviour.close || !persists, asks) {
            (true, _) => Persistence::Close,
            (false, true) => Persistence::KeepAlive,
            (false, false) => Persistence::Silent,
        }
    }

    /// Queues the error response to an invalid request; the connection ends after it.
    fn refuse(&mut self, conn: ConnId, bad: BadRequest, at: Nanos) {
        add(&self.accounts.counters().requests.bad, 1);
        let response = Response::bare(ResponseKind::Refusal(bad.why.into()), bad.status, at);
        let response = Response { persistence: Persistence::Close, ..response };
        self.line_up(conn, response, None, at, at);
    }

    /// Queues a response that is ready at `ready_at` behind the queued ones of its connection
    /// (RFC 9112 §9.3.2: responses leave in the order of their requests), or of its own stream.
    fn line_up(
        &mut self,
        conn: ConnId,
        response: Response,
        fault: Option<FaultKind>,
        ready_at: Nanos,
        at: Nanos,
    ) {
        let drip = self.shared.behaviour.drip.filter(|_| {
            response.kind == ResponseKind::Ordinary
                && response.has_body()
                && response.body_bytes > 0
        });
        let (pieces, spacing_ns) = match &response.events {
            Some(events) => (events.events + 1, 0),
            None => drip.map_or((1, 0), |drip| (drip.pieces, span_ns(drip.spacing))),
        };
        let turn = self.waiting.next_turn();
        let is_stream = response.stream != 0;
        let connection = &mut self.connections[conn.index()];
        connection.is_ending |= response.persistence == Persistence::Close;
        let life = connection.life;
        let is_behind = connection.queued > 0 && !is_stream;
        if is_behind && connection.last_due_at == Nanos::MAX {
            connection.last_due_at = all_sent_at(&self.waiting, &self.shared, conn, life);
        }
        let first_due_at =
            if is_behind || is_stream { ready_at.max(connection.last_due_at) } else { ready_at };
        let is_later = is_behind || first_due_at > at || pieces > 1;
        let was_queued = is_later || is_stream;
        if was_queued {
            match connection.http2() {
                Some(http2) => http2.owe(response.stream, Owed::by(&response)),
                None => {
                    let span_ns = spacing_ns * u64::from(pieces - 1);
                    // The end of a stream of events is computed if a response waits for it.
                    let ends_at = |_: &_| Nanos::MAX;
                    let last_due_at = first_due_at.after(span_ns);
                    connection.last_due_at = response.events.as_ref().map_or(last_due_at, ends_at);
                }
            }
            connection.queued += 1;
            if connection.queued > QUEUED_MAX {
                connection.is_ending = true;
                self.actions.push_back(Action::Close { conn });
            }
        }
        let due =
            Due { conn, life, was_queued, response, fault, pieces, piece: 0, first_due_at, turn };
        let due = Box::new(due);
        match is_later {
            true => self.waiting.push(first_due_at, turn, Waiting::Response(due)),
            false => self.actions.push_back(Action::Give(due)),
        }
    }

    /// True if a response is still to be sent: not if its connection is closed or has become a
    /// black hole, or if its stream has ended.
    pub(crate) fn is_wanted(&mut self, due: &Due) -> bool {
        if !self.connections[due.conn.index()].is_current(due.life) {
            return false;
        }
        let connection = &mut self.connections[due.conn.index()];
        let stream = due.response.stream;
        if stream != 0 {
            return self.is_stream_wanted(due.conn, stream);
        }
        if !connection.is_muted {
            return true;
        }
        connection.queued -= u32::from(due.was_queued);
        self.accounts.abandoned(connection, due.response.kind == ResponseKind::Ordinary);
        false
    }

    /// Turns the connection into a black hole, which only its peer can close.
    pub(crate) fn mute(&mut self, due: &Due) {
        let connection = &mut self.connections[due.conn.index()];
        connection.is_muted = true;
        connection.queued -= u32::from(due.was_queued);
        if let Some(http2) = connection.http2() {
            http2.forget(due.response.stream);
        }
        if connection.has_peer_ended {
            self.actions.push_back(Action::Close { conn: due.conn });
        }
    }

    /// Records that piece `due.piece` has been sent. Queues the next piece, or ends the response.
    /// Returns true if the response has ended.
    pub(crate) fn sent_piece(&mut self, mut due: Box<Due>, now: Nanos) -> bool {
        due.piece += 1;
        if due.piece == due.pieces {
            if due.response.stream != 0 {
                // Counted when the windows have let all of it pass.
                return true;
            }
            let connection = &mut self.connections[due.conn.index()];
            connection.queued -= u32::from(due.was_queued);
            let is_counted = due.response.kind == ResponseKind::Ordinary;
            self.accounts.answered(connection, is_counted, due.response.log_place, now);
            return true;
        }
        let due_at = if due.response.events.is_some() {
            due.response.next_event_at(&self.shared)
        } else {
            let spacing = self.shared.behaviour.drip.map_or(0, |drip| span_ns(drip.spacing));
            due.first_due_at.after(spacing * u64::from(due.piece))
        };
        self.waiting.push(due_at, due.turn, Waiting::Response(due));
        false
    }

    /// Counts a fault that replaced a response (or, for garbage, accompanies it).
    pub(crate) fn injected(&mut self, conn: ConnId, kind: FaultKind) {
        self.accounts.injected(kind);
        if kind != FaultKind::Garbage {
            self.connections[conn.index()].owed -= 1;
        }
    }

    /// True if `copies` of the plain response are still to be sent; counts them either way.
    #[inline]
    pub(crate) fn settle_plain(&self, conn: ConnId, copies: u32) -> bool {
        let connection = &self.connections[conn.index()];
        let is_wanted = connection.is_open && !connection.is_muted;
        let requests = &self.accounts.counters().requests;
        add(if is_wanted { &requests.answered } else { &requests.abandoned }, u64::from(copies));
        is_wanted
    }

    pub(crate) fn connection(&self, conn: ConnId) -> &Connection {
        &self.connections[conn.index()]
    }
}

/// Returns the time at which all responses that wait on a connection of HTTP/1 are sent. Only a
/// client that pipelines behind a stream of events needs it.
#[cold]
fn all_sent_at(waiting: &Pending<Waiting>, shared: &Shared, conn: ConnId, life: u32) -> Nanos {
    let sent_at = |waiting: &Waiting| match waiting {
        Waiting::Response(due) if due.conn == conn && due.life == life => {
            due.first_due_at.max(due.response.events_end_at(shared))
        }
        _ => Nanos::ZERO,
    };
    waiting.iter().map(sent_at).max().unwrap_or(Nanos::ZERO)
}
