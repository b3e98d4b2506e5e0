//! State of one WebSocket connection (RFC 6455): its frames, and the settings of its messages. It
//! decides no response and reads no clock.

use weir_http::ws::frame::push_header;
use weir_http::ws::{Opcode, WsServer};
use weir_io::{ConnId, Nanos};

use crate::counters::{Counters, add};
use crate::delay::Delay;
use crate::event_stream::EventProgress;
use crate::fault::FaultKind;
use crate::log::LogPlace;
use crate::response::GARBAGE;
use crate::routes::Routed;

/// Most bytes of a client's message: 16 MiB.
const MESSAGE_BYTES_MAX: usize = 16 << 20;

/// State of a WebSocket connection.
#[derive(Debug)]
pub(crate) struct WebSocket {
    pub(crate) server: WsServer,
    pub(crate) route: Option<Routed>,
    /// Delay of each echo.
    pub(crate) delay: Delay,
    /// Time at which the upgrade was read.
    pub(crate) opened_at: Nanos,
    /// Progress of the messages that the server sends by itself.
    pub(crate) pushes: Option<EventProgress>,
    /// Time at which the last echo is due, if echoes leave in the order of the messages.
    pub(crate) last_due_at: Nanos,
    /// Echoes that have left.
    pub(crate) echoes: u64,
    /// True if a flush is queued.
    pub(crate) is_flush_due: bool,
}

/// An echo that is decided and perhaps held back.
#[derive(Clone, Debug)]
pub(crate) struct Echo {
    pub(crate) conn: ConnId,
    /// Life of the connection, see `Connection::life`.
    pub(crate) life: u32,
    pub(crate) opcode: Opcode,
    pub(crate) content: Vec<u8>,
    pub(crate) fault: Option<FaultKind>,
    pub(crate) log_place: Option<LogPlace>,
}

impl WebSocket {
    pub(crate) fn new(route: Option<Routed>, delay: Delay, opened_at: Nanos) -> WebSocket {
        WebSocket {
            server: WsServer::new(MESSAGE_BYTES_MAX),
            route,
            delay,
            opened_at,
            pushes: None,
            last_due_at: Nanos::ZERO,
            echoes: 0,
            is_flush_due: false,
        }
    }

    /// Returns the time at which an echo leaves that is ready at `ready_at`.
    pub(crate) fn due_at(&mut self, ready_at: Nanos, is_ordered: bool) -> Nanos {
        let due_at = if is_ordered { ready_at.max(self.last_due_at) } else { ready_at };
        self.last_due_at = self.last_due_at.max(due_at);
        due_at
    }

    /// Moves the frames that can be sent to `out`; drops them if the connection is muted.
    pub(crate) fn take_output(&mut self, is_muted: bool, out: &mut Vec<u8>) {
        self.is_flush_due = false;
        match is_muted {
            true => self.server.poll_transmit(&mut Vec::new()),
            false => self.server.poll_transmit(out),
        }
    }

    /// Counts the end of the connection.
    pub(crate) fn count_end(&self, counters: &Counters) {
        add(counters.websockets.ended(self.server.closed()), 1);
    }

    /// Queues an echo, and with [`FaultKind::Garbage`] bytes that are no frame; with
    /// [`FaultKind::Partial`] half of it.
    pub(crate) fn push(&mut self, echo: &Echo) {
        if echo.fault == Some(FaultKind::Partial) {
            let mut frame = Vec::new();
            push_header(&mut frame, echo.opcode, true, None, echo.content.len() as u64);
            // Of an empty message half of its header.
            frame.extend_from_slice(&echo.content[..echo.content.len() / 2]);
            frame.truncate(if echo.content.is_empty() { 1 } else { frame.len() });
            self.server.push_raw(&frame);
            return;
        }
        self.server.send(echo.opcode, &echo.content);
        if echo.fault == Some(FaultKind::Garbage) {
            self.server.push_raw(GARBAGE);
        }
    }
}
