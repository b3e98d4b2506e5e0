//! The server's side of a connection, after the upgrade. It decides no response: events come out,
//! and frames go in.

use super::close_code::CloseCode;
use super::deflate::{DeflateTerms, Deflater};
use super::frame::{Opcode, push_close, push_frame};
use super::reader::{WsEvent, WsReader};
use crate::error::ProtocolError;

/// Server side of one WebSocket connection. It answers Pings and Close frames.
#[derive(Debug)]
pub struct WsServer {
    reader: WsReader,
    /// Deflates messages; `None` if the client has not offered that, or it was not accepted.
    deflater: Option<Deflater>,
    out: Vec<u8>,
    /// Content of the last Ping that is not answered.
    ping: Option<Vec<u8>>,
    /// Code of the client's Close frame, or of the fault that ended the connection.
    closed: Option<CloseCode>,
    has_closed: bool,
}

impl WsServer {
    /// Creates the server side of a connection whose upgrade was accepted. Messages of more than
    /// `message_bytes_max` bytes are refused.
    pub fn new(message_bytes_max: usize) -> WsServer {
        let reader = WsReader::new(true, message_bytes_max);
        WsServer {
            reader,
            deflater: None,
            out: Vec::new(),
            ping: None,
            closed: None,
            has_closed: false,
        }
    }

    /// Deflates messages from now on, and accepts deflated ones, on these terms.
    pub fn deflate(&mut self, terms: DeflateTerms) {
        self.reader.inflate(terms);
        self.deflater = Some(terms.server_deflater());
    }

    /// Reads bytes, and calls `on_event` for each message or control frame that they complete.
    ///
    /// # Errors
    /// If the client broke the protocol. A Close frame is then queued, and the connection must be
    /// closed.
    pub fn receive(
        &mut self,
        bytes: &[u8],
        mut on_event: impl FnMut(WsEvent<'_>),
    ) -> Result<(), ProtocolError> {
        let WsServer { reader, ping, closed, .. } = self;
        let read = reader.read(bytes, |event| {
            match event {
                WsEvent::Ping(content) => *ping = Some(content.to_vec()),
                WsEvent::Close(code, _) => *closed = Some(code),
                WsEvent::Message { .. } | WsEvent::Pong(_) => {}
            }
            on_event(event);
        });
        if let Some(code) = self.closed {
            self.close(code);
        }
        read.map_err(|fault| {
            self.close(fault.code);
            fault.error
        })
    }

    /// Queues a message, or a Ping, unless a Close frame was sent. Returns true if it was queued.
    pub fn send(&mut self, opcode: Opcode, content: &[u8]) -> bool {
        if self.has_closed {
            return false;
        }
        let (opcode, content) = match &mut self.deflater {
            Some(deflater) if !opcode.is_control() => {
                (opcode.deflated(), deflater.deflate(content))
            }
            _ => (opcode, content),
        };
        push_frame(&mut self.out, opcode, true, None, content);
        true
    }

    /// Queues any bytes after the frames.
    pub fn push_raw(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// Queues a Close frame, unless one was sent.
    pub fn close(&mut self, code: CloseCode) {
        if !std::mem::replace(&mut self.has_closed, true) {
            push_close(&mut self.out, code, None);
        }
    }

    /// True if both sides have sent a Close frame.
    pub fn is_closed(&self) -> bool {
        self.has_closed && self.closed.is_some()
    }

    /// Returns the code of the client's Close frame.
    pub fn closed(&self) -> Option<CloseCode> {
        self.closed
    }

    /// Moves the bytes to send now to `out`.
    pub fn poll_transmit(&mut self, out: &mut Vec<u8>) {
        if let Some(content) = self.ping.take().filter(|_| !self.has_closed) {
            push_frame(&mut self.out, Opcode::PONG, true, None, &content);
        }
        out.append(&mut self.out);
    }
}
