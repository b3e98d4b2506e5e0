//! The event loop of one worker: waits, passes events to `Responder`, and executes its actions. It
//! handles timing and depends on no HTTP syntax.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use weir_io::{
    Backend, Close, ConnId, EventKind, Listener, Nanos, Segment, TemplateId, WaitPolicy,
};

use crate::action::{Action, Due};
use crate::behaviour::Behaviour;
use crate::counters::add;
use crate::fault::FaultKind;
use crate::responder::Responder;
use crate::response::{Part, Renderer, Response, ResponseKind};
use crate::stats::Shared;
use crate::web_socket::Echo;

/// One worker of the reference server, on any backend.
#[derive(Debug)]
pub struct Server<B> {
    backend: B,
    shared: Arc<Shared>,
    responder: Responder,
    renderer: Renderer,
    plain: Plain,
    policy: WaitPolicy,
    /// Buffer for frames of HTTP/2 and WebSocket.
    frames: Vec<u8>,
}

/// The behaviour's own response, prepared.
#[derive(Debug)]
enum Plain {
    /// Consecutive copies, so that the responses to pipelined requests are one segment.
    Template { id: TemplateId, response_bytes: u32, copies: u32 },
    /// A response too long for a template: rendered each time.
    Rendered(Box<Response>),
}

impl<B: Backend> Server<B> {
    /// Makes worker number `worker`, from zero and below the number passed to [`Shared::new`], of
    /// the server that `shared` belongs to. The clock of `backend` must have the epoch passed
    /// there. `policy` selects the wait strategy.
    pub fn new(
        mut backend: B,
        shared: Arc<Shared>,
        worker: usize,
        policy: WaitPolicy,
    ) -> Server<B> {
        let mut renderer = Renderer::new(&mut backend, shared.clone());
        let Behaviour { status, body_bytes, framing, .. } = shared.behaviour;
        let bare = Response::bare(ResponseKind::Ordinary, status, Nanos::ZERO);
        let response = Response { body_bytes, framing, ..bare };
        let plain = match renderer.plain_bytes(&response) {
            None => Plain::Rendered(Box::new(response)),
            Some(bytes) => {
                let copies = (PLAIN_TEMPLATE_BYTES / bytes.len()).max(1);
                let id = backend.template(bytes.repeat(copies).into());
                let response_bytes = u32::try_from(bytes.len()).expect("a short response");
                let copies = u32::try_from(copies).expect("at most the template's bytes");
                Plain::Template { id, response_bytes, copies }
            }
        };
        let responder = Responder::new(shared.clone(), worker);
        Server { backend, shared, responder, renderer, plain, policy, frames: Vec::new() }
    }

    /// Adds a listener.
    ///
    /// # Errors
    /// The backend cannot watch the listener.
    pub fn listen(&mut self, listener: Listener) -> io::Result<()> {
        self.backend.listen(listener)
    }

    /// Serves until `stop` is true. The thread that sets it must wake the backend.
    ///
    /// # Errors
    /// The backend fails (see [`Backend::wait`]).
    pub fn run(&mut self, stop: &AtomicBool) -> io::Result<()> {
        while !stop.load(Ordering::Acquire) {
            self.turn(stop)?;
        }
        self.responder.accounts.hand_over_arrivals();
        Ok(())
    }

    /// Waits once and handles all events.
    pub(crate) fn turn(&mut self, stop: &AtomicBool) -> io::Result<()> {
        self.stand_still(stop);
        let until = self.responder.next_due_at().unwrap_or(Nanos::MAX);
        // The wait also submits the sends queued by the last turn.
        self.backend.wait(until, self.policy)?;
        self.give_due(stop);
        loop {
            self.stand_still(stop);
            let Some(event) = self.backend.next() else { break };
            let conn = event.conn;
            let at = event.at;
            match event.kind {
                EventKind::Received { bytes, .. } => self.responder.receive(conn, bytes, at),
                EventKind::Accepted => self.responder.accepted(conn, at),
                EventKind::Closed => self.responder.peer_ended(conn),
                EventKind::Failed(_) => self.responder.gone(conn),
                EventKind::Connected | EventKind::Discarded(_) | EventKind::Transmitted { .. } => {}
            }
            self.perform_actions(stop);
            // A long batch of events must not delay responses that have become due meanwhile; `at`
            // is a free clock reading.
            if self.responder.next_due_at().is_some_and(|due_at| due_at <= at) {
                self.give_due(stop);
            }
        }
        self.give_due(stop);
        Ok(())
    }

    /// Executes the actions that are due.
    fn give_due(&mut self, stop: &AtomicBool) {
        if self.responder.next_due_at().is_none() {
            return;
        }
        let now = self.moment(stop);
        while let Some(action) = self.responder.take_due(now) {
            self.perform(action, stop);
            self.perform_actions(stop);
        }
    }

    fn perform_actions(&mut self, stop: &AtomicBool) {
        while let Some(action) = self.responder.actions.pop_front() {
            self.perform(action, stop);
        }
    }

    #[inline]
    fn perform(&mut self, action: Action, stop: &AtomicBool) {
        match action {
            Action::Plain { conn, copies } => {
                if self.responder.settle_plain(conn, copies) {
                    self.send_plain(conn, copies);
                }
            }
            Action::Give(due) => {
                if self.responder.is_wanted(&due) {
                    self.give(due, stop);
                }
            }
            Action::Echo(echo) => {
                if self.responder.sockets().is_wanted(&echo) {
                    self.give_echo(&echo, stop);
                }
            }
            Action::Push { conn } => self.give_own(conn, stop),
            Action::Flush { conn } => self.flush(conn, stop),
            Action::Close { conn } => self.close(conn, Close::Graceful, stop),
        }
    }

    fn send_plain(&mut self, conn: ConnId, copies: u32) {
        match &self.plain {
            &Plain::Template { id, response_bytes, copies: most } => {
                let mut left = copies;
                while left > 0 {
                    let count = left.min(most);
                    let bytes = count * response_bytes;
                    self.backend.send(conn, &[Segment::Template { id, bytes }]);
                    left -= count;
                }
            }
            Plain::Rendered(response) => {
                for _ in 0..copies {
                    let segments =
                        self.renderer.render(&mut self.backend, response, Part::WHOLE, Nanos::ZERO);
                    self.backend.send(conn, segments);
                }
            }
        }
    }

    /// Sends one response, or one piece of it and the garbage after it, or injects the fault in its
    /// place.
    #[inline(never)]
    fn give(&mut self, due: Box<Due>, stop: &AtomicBool) {
        let conn = due.conn;
        if let Some(fault) = due.fault.filter(|fault| *fault != FaultKind::Garbage) {
            return self.give_fault(&due, fault, stop);
        }
        let has_garbage = due.fault.is_some();
        let piece = due.piece;
        let pieces = due.pieces;
        let sent_at = if due.response.events.is_some() {
            let Some(sent_at) = self.give_event(&due, stop) else { return };
            sent_at
        } else {
            self.send(conn, &due.response, Part::Piece { piece, pieces }, stop)
        };
        if !self.responder.sent_piece(due, sent_at) {
            return;
        }
        if has_garbage {
            self.responder.injected(conn, FaultKind::Garbage);
            if self.responder.connection(conn).is_http2() {
                self.responder.push_garbage(conn);
            } else {
                let segments = self.renderer.garbage(&mut self.backend);
                self.backend.send(conn, segments);
            }
        }
        if self.responder.connection(conn).is_finished() {
            self.close(conn, Close::Graceful, stop);
        }
    }

    /// Sends the echo of a message, or injects the fault in its place.
    #[inline(never)]
    fn give_echo(&mut self, echo: &Echo, stop: &AtomicBool) {
        let conn = echo.conn;
        let replaces = |fault: &FaultKind| *fault != FaultKind::Garbage;
        if let Some(fault) = echo.fault.filter(replaces) {
            if fault == FaultKind::Partial {
                self.responder.sockets().push_echo(echo);
            }
            self.responder.injected(conn, fault);
            return match fault {
                FaultKind::Reset => self.close(conn, Close::Reset, stop),
                FaultKind::Blackhole => self.responder.sockets().mute(conn),
                _ => self.close(conn, Close::Graceful, stop),
            };
        }
        let mut sent_at = self.moment(stop);
        self.responder.sockets().push_echo(echo);
        if self.shared.behaviour.has_true_stamps() {
            self.flush(conn, stop);
            sent_at = self.moment(stop);
            self.backend.submit();
        }
        if echo.fault.is_some() {
            self.responder.injected(conn, FaultKind::Garbage);
        }
        self.responder.sockets().echoed(echo, sent_at);
        if self.responder.connection(conn).is_finished() {
            self.close(conn, Close::Graceful, stop);
        }
    }

    /// Sends a message that no message of the client caused, by itself, so that its send time is
    /// accurate.
    #[cold]
    fn give_own(&mut self, conn: ConnId, stop: &AtomicBool) {
        let now = self.moment(stop);
        let goes_on = self.responder.sockets().push_own(conn, now);
        self.flush(conn, stop);
        self.backend.submit();
        if !goes_on {
            self.close(conn, Close::Graceful, stop);
        }
    }

    /// Sends the head of a stream of events, or its next event, by itself, so that its send time is
    /// accurate. Returns the send time, or `None` if the stream is cut here.
    #[cold]
    fn give_event(&mut self, due: &Due, stop: &AtomicBool) -> Option<Nanos> {
        let conn = due.conn;
        let response = &due.response;
        let is_end = due.piece + 1 == due.pieces;
        let is_cut = is_end && response.events.as_ref().is_some_and(|events| events.is_cut);
        // A stream that is cut has no last piece.
        let pieces = if is_cut { due.pieces + 1 } else { due.pieces };
        let sent_at = self.send(conn, response, Part::Piece { piece: due.piece, pieces }, stop);
        let events = &self.responder.accounts.counters().events;
        add(&events.sent, u64::from(due.piece > 0));
        add(&events.cut, u64::from(is_cut));
        self.flush(conn, stop);
        self.backend.submit();
        if !is_cut {
            return Some(sent_at);
        }
        self.responder.injected(conn, FaultKind::Partial);
        match response.stream {
            0 => self.close(conn, Close::Graceful, stop),
            _ => self.responder.reset_stream(due),
        }
        None
    }

    /// Injects a fault in the place of a response, or within it.
    #[cold]
    fn give_fault(&mut self, due: &Due, fault: FaultKind, stop: &AtomicBool) {
        let conn = due.conn;
        if fault == FaultKind::Partial {
            self.send(conn, &due.response, Part::Half, stop);
        }
        self.responder.injected(conn, fault);
        match fault {
            FaultKind::Reset => self.close(conn, Close::Reset, stop),
            FaultKind::Close | FaultKind::Partial => self.close(conn, Close::Graceful, stop),
            FaultKind::Blackhole => self.responder.mute(due),
            FaultKind::ResetStream => self.responder.reset_stream(due),
            FaultKind::RefuseStream | FaultKind::Garbage => {
                unreachable!("a refused request has no response")
            }
        }
    }

    /// Sends a part of a response and returns its send time stamp.
    fn send(&mut self, conn: ConnId, response: &Response, part: Part, stop: &AtomicBool) -> Nanos {
        let mut sent_at = self.moment(stop);
        if response.stream != 0 {
            self.responder.push_response(conn, response, part, sent_at);
        } else {
            let segments = self.renderer.render(&mut self.backend, response, part, sent_at);
            if !segments.is_empty() {
                self.backend.send(conn, segments);
            }
        }
        if self.shared.behaviour.has_true_stamps() {
            self.flush(conn, stop);
            if !self.shared.behaviour.stamps {
                // No response carries the time stamp, so it can be taken after rendering, without
                // that cost.
                sent_at = self.moment(stop);
            }
            self.backend.submit();
        }
        sent_at
    }

    /// Sends the frames of HTTP/2 or WebSocket that wait.
    fn flush(&mut self, conn: ConnId, stop: &AtomicBool) {
        let connection = self.responder.connection(conn);
        if !connection.is_http2() && !connection.is_socket() {
            return;
        }
        let now = self.moment(stop);
        self.responder.take_output(conn, now, &mut self.frames);
        if !self.frames.is_empty() {
            let frames = self.backend.pool(&self.frames);
            self.backend.send(conn, &[Segment::Pooled(frames)]);
            self.frames.clear();
            self.frames.shrink_to(FRAMES_KEPT_BYTES);
        }
    }

    fn close(&mut self, conn: ConnId, how: Close, stop: &AtomicBool) {
        if self.responder.connection(conn).is_open {
            self.flush(conn, stop);
            self.responder.gone(conn);
            if how == Close::Reset {
                // Earlier responses are counted as sent, so they must leave before the reset.
                self.backend.submit();
            }
            self.backend.close(conn, how);
        }
    }

    /// Waits until the end of a programmed stall. Like a stopped process, the worker neither reads
    /// nor sends meanwhile.
    #[inline]
    fn stand_still(&mut self, stop: &AtomicBool) {
        if !self.shared.behaviour.stalls.is_empty() {
            self.moment(stop);
        }
    }

    /// Returns the time, once it is outside every programmed stall. The reading that is checked is
    /// the one returned: a second reading could fall into a stall.
    fn moment(&mut self, stop: &AtomicBool) -> Nanos {
        loop {
            let now = self.backend.now();
            let Some(until) = self.shared.stalled_until(now) else { return now };
            if stop.load(Ordering::Acquire) {
                return now;
            }
            // The last millisecond is a busy wait, since a sleep may end late.
            match until.since(now).checked_sub(1_000_000) {
                Some(left_ns) => std::thread::sleep(Duration::from_nanos(left_ns).min(NAP)),
                None => std::hint::spin_loop(),
            }
        }
    }
}

/// Interval at which a stalled worker checks `stop`.
const NAP: Duration = Duration::from_millis(10);

/// Bytes of the buffer for frames that are kept; larger bodies are rare.
const FRAMES_KEPT_BYTES: usize = 1 << 20;

/// Bytes of prepared responses in the template.
const PLAIN_TEMPLATE_BYTES: usize = 16 * 1024;

#[cfg(test)]
pub(crate) mod tests;
