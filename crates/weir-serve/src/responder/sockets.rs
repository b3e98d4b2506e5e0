//! WebSocket in the responder: the upgrade, messages and their echoes, messages that the server
//! sends by itself, and the end of a connection by Close frames.

use std::collections::VecDeque;
use std::sync::Arc;

use weir_http::ws::handshake::push_acceptance;
use weir_http::ws::{CloseCode, Opcode, UpgradeKey, WsEvent};
use weir_io::{ConnId, Nanos};

use super::waiting::{LINGER_NS, QUEUED_MAX, Waiting};
use crate::accounts::Accounts;
use crate::action::Action;
use crate::behaviour::Mode;
use crate::connection::{Connection, Protocol};
use crate::counters::add;
use crate::delay::Delay;
use crate::draws::Draws;
use crate::event_stream::EventProgress;
use crate::fault::Fault;
use crate::pending::{Fifo, Pending};
use crate::request::ServedRequest;
use crate::routes::Routed;
use crate::stats::Shared;
use crate::units::span_ns;
use crate::web_socket::{Echo, WebSocket};

/// Part of a socket's draws that the times of its own messages come from.
const PUSH_DRAWS: u64 = u64::MAX;

/// Fields of responses that describe a body, which an upgrade has not.
const FIELDS_OF_BODIES: [&str; 3] = ["content-type", "cache-control", "content-encoding"];

/// The part of a responder that WebSocket connections need.
pub(crate) struct Sockets<'r> {
    pub(super) shared: &'r Arc<Shared>,
    pub(super) accounts: &'r mut Accounts,
    pub(super) connections: &'r mut [Connection],
    pub(super) waiting: &'r mut Pending<Waiting>,
    pub(super) actions: &'r mut VecDeque<Action>,
    pub(super) fifo: &'r mut Fifo,
}

impl Sockets<'_> {
    /// True if an upgrade is accepted: if the response to the request would be a success, and no
    /// earlier one of its connection waits.
    pub(super) fn accepts(&self, conn: ConnId, request: &ServedRequest) -> bool {
        let behaviour = &self.shared.behaviour;
        let of_route = request.route.and_then(|index| behaviour.routes.get(index).status(false));
        let status = of_route.or(request.overrides.status).unwrap_or(behaviour.status);
        (200..300).contains(&status) && self.connections[conn.index()].queued == 0
    }

    /// Accepts an upgrade, for messages with this route and this delay.
    pub(super) fn upgrade(
        &mut self,
        conn: ConnId,
        request: &ServedRequest,
        key: &UpgradeKey,
        routed: Option<Routed>,
        delay: Delay,
        at: Nanos,
    ) {
        let shared = Arc::clone(self.shared);
        shared.note_request(at);
        add(&self.accounts.counters().websockets.opened, 1);
        let mut socket = WebSocket::new(routed, delay, at);
        let route = routed.map(|it| &shared.behaviour.routes.get(it.index).route);
        let mut fields = shared.behaviour.fields(route);
        let is_of_body =
            |name: &str| FIELDS_OF_BODIES.iter().any(|other| name.eq_ignore_ascii_case(other));
        fields.retain(|(name, _)| !is_of_body(name));
        let terms = request.deflate_terms().filter(|_| shared.behaviour.websocket.deflates);
        fields.extend(terms.map(|terms| ("Sec-WebSocket-Extensions", terms.field_value())));
        let mut head = Vec::new();
        push_acceptance(&mut head, key, &fields);
        socket.server.push_raw(&head);
        if let Some(terms) = terms {
            socket.server.deflate(terms);
            add(&self.accounts.counters().websockets.deflated, 1);
        }
        let life = self.connections[conn.index()].life;
        if let Some(settings) = shared.event_stream(routed) {
            let number = shared.take_stream(routed);
            let draws = Draws::new(shared.behaviour.seed, number).nested(PUSH_DRAWS);
            let mut pushes = EventProgress::new(settings, number, draws);
            let due_ns = if pushes.events == 0 { 0 } else { pushes.schedule(settings) };
            self.waiting.add(at.after(due_ns), Waiting::Push(conn, life));
            socket.pushes = Some(pushes);
        }
        if let Some(ping) = shared.behaviour.websocket.ping {
            self.waiting.add(at + ping, Waiting::Ping(conn, life));
        }
        self.connections[conn.index()].protocol = Protocol::WebSocket(Box::new(socket));
        self.flush_later(conn);
    }

    /// Handles bytes that arrived on a WebSocket connection.
    pub(super) fn receive(&mut self, conn: ConnId, bytes: &[u8], at: Nanos) {
        let Some(mut socket) = self.take(conn) else { return };
        let mut echoes = Vec::new();
        let mut pongs = 0;
        let read = socket.server.receive(bytes, |event| match event {
            WsEvent::Message { opcode, content } => echoes.push((opcode, content.to_vec())),
            WsEvent::Pong(_) => pongs += 1,
            WsEvent::Ping(_) | WsEvent::Close(..) => {}
        });
        add(&self.accounts.counters().websockets.pongs, pongs);
        for (opcode, content) in echoes {
            self.take_message(conn, &mut socket, opcode, content, at);
        }
        let has_ended = socket.server.is_closed() || read.is_err();
        self.put(conn, socket);
        self.flush_later(conn);
        if read.is_err() {
            add(&self.accounts.counters().requests.bad, 1);
        }
        if has_ended {
            self.actions.push_back(Action::Close { conn });
        }
    }

    /// Decides the echo of a message.
    fn take_message(
        &mut self,
        conn: ConnId,
        socket: &mut WebSocket,
        opcode: Opcode,
        content: Vec<u8>,
        at: Nanos,
    ) {
        let behaviour = &self.shared.behaviour;
        let connection = &mut self.connections[conn.index()];
        // The last message of a connection has been taken.
        if behaviour.requests_max().is_some_and(|most| connection.taken >= most) {
            return;
        }
        self.shared.note_request(at);
        let index = self.shared.next_index();
        let draws = Draws::new(behaviour.seed, index);
        let fault = Fault::strike(&behaviour.faults, index, draws);
        let fault = fault.filter(|fault| !fault.is_of_streams());
        let log_place = self.accounts.took(connection, &ServedRequest::default(), at);
        add(&self.accounts.counters().websockets.messages, 1);
        let delay_ns = socket.delay.sample_ns(draws);
        let ready_at = match behaviour.mode {
            Mode::Concurrent => at.after(delay_ns),
            Mode::Fifo => self.fifo.depart(at, delay_ns),
        };
        let due_at = socket.due_at(ready_at, !behaviour.websocket.is_unordered);
        let life = connection.life;
        connection.queued += 1;
        if connection.queued > QUEUED_MAX {
            connection.is_ending = true;
            self.actions.push_back(Action::Close { conn });
        }
        let echo = Box::new(Echo { conn, life, opcode, content, fault, log_place });
        match due_at > at {
            true => self.waiting.add(due_at, Waiting::Echo(echo)),
            false => self.actions.push_back(Action::Echo(echo)),
        }
    }

    /// True if an echo is still to be sent: not if its connection is closed or has become a black
    /// hole.
    pub(crate) fn is_wanted(&mut self, echo: &Echo) -> bool {
        if !self.connections[echo.conn.index()].is_current(echo.life) {
            return false;
        }
        let connection = &mut self.connections[echo.conn.index()];
        connection.queued -= 1;
        if connection.is_muted {
            self.accounts.abandoned(connection, true);
        }
        !self.connections[echo.conn.index()].is_muted
    }

    /// Turns the connection into a black hole, which only its peer can close.
    pub(crate) fn mute(&mut self, conn: ConnId) {
        let connection = &mut self.connections[conn.index()];
        connection.is_muted = true;
        if connection.has_peer_ended {
            self.actions.push_back(Action::Close { conn });
        }
    }

    /// Queues the frame of an echo.
    pub(crate) fn push_echo(&mut self, echo: &Echo) {
        if let Some(socket) = self.connections[echo.conn.index()].socket() {
            socket.push(echo);
        }
        self.flush_later(echo.conn);
    }

    /// Records that an echo was sent at `now`. The last one of a connection is followed by a Close
    /// frame.
    pub(crate) fn echoed(&mut self, echo: &Echo, now: Nanos) {
        let most = self.shared.behaviour.requests_max();
        let connection = &mut self.connections[echo.conn.index()];
        self.accounts.answered(connection, true, echo.log_place, now);
        add(&self.accounts.counters().websockets.echoes, 1);
        let Some(socket) = connection.socket() else { return };
        socket.echoes += 1;
        if most.is_some_and(|most| socket.echoes >= most) {
            socket.server.close(CloseCode::NORMAL);
            let life = connection.life;
            // The client has as long to answer it.
            self.waiting.add(now.after(LINGER_NS), Waiting::Lingering(echo.conn, life));
            self.flush_later(echo.conn);
        }
    }

    /// Queues the next message that the server sends by itself, with the time stamp `now`. Returns
    /// false if the connection is cut instead.
    pub(crate) fn push_own(&mut self, conn: ConnId, now: Nanos) -> bool {
        let connection = &mut self.connections[conn.index()];
        let life = connection.life;
        let is_muted = connection.is_muted;
        let Some(socket) = connection.socket() else { return true };
        let settings = self.shared.event_stream(socket.route);
        let Some((pushes, settings)) = socket.pushes.as_mut().zip(settings) else { return true };
        if pushes.events > 0 && !is_muted {
            let sent_ns = self.shared.epoch_monotonic_ns + now.0;
            let mut content = Vec::new();
            settings.push_data(&mut content, pushes.number(), sent_ns);
            let is_sent = socket.server.send(Opcode::TEXT, &content);
            add(&self.accounts.counters().websockets.pushed, u64::from(is_sent));
        }
        if pushes.number() < pushes.events {
            let due_at = socket.opened_at.after(pushes.schedule(settings));
            self.waiting.add(due_at, Waiting::Push(conn, life));
            return true;
        }
        !pushes.is_cut
    }

    /// Queues a Close frame on a connection that is idle. The client has some time to answer it.
    pub(super) fn leave(&mut self, conn: ConnId, now: Nanos) -> Option<Action> {
        let connection = &mut self.connections[conn.index()];
        let life = connection.life;
        connection.socket()?.server.close(CloseCode::GOING_AWAY);
        self.waiting.add(now.after(LINGER_NS), Waiting::Lingering(conn, life));
        Some(Action::Flush { conn })
    }

    /// Queues a Ping, and the one after it.
    pub(super) fn ping(&mut self, conn: ConnId, life: u32, now: Nanos) -> Option<Action> {
        let interval_ns = span_ns(self.shared.behaviour.websocket.ping?);
        if !self.connections[conn.index()].is_current(life) {
            return None;
        }
        let is_sent = self.connections[conn.index()].socket()?.server.send(Opcode::PING, b"weir");
        add(&self.accounts.counters().websockets.pings, u64::from(is_sent));
        self.waiting.add(now.after(interval_ns), Waiting::Ping(conn, life));
        Some(Action::Flush { conn })
    }

    fn flush_later(&mut self, conn: ConnId) {
        if let Some(socket) = self.connections[conn.index()].socket()
            && !std::mem::replace(&mut socket.is_flush_due, true)
        {
            self.actions.push_back(Action::Flush { conn });
        }
    }

    /// Takes the state of a connection, which `put` returns.
    fn take(&mut self, conn: ConnId) -> Option<Box<WebSocket>> {
        let protocol = &mut self.connections[conn.index()].protocol;
        match std::mem::take(protocol) {
            Protocol::WebSocket(socket) => Some(socket),
            other => {
                *protocol = other;
                None
            }
        }
    }

    fn put(&mut self, conn: ConnId, socket: Box<WebSocket>) {
        self.connections[conn.index()].protocol = Protocol::WebSocket(socket);
    }
}
