//! The server's side of a connection: requests come out as events, responses go in. It can
//! break the protocol on request, to test clients. Independent of the content of responses.

mod event;
mod request_fields;
mod sending;
mod session;
mod stream;

pub use event::ServerEvent;
pub use request_fields::RequestFields;

use super::fault::{ErrorCode, H2Fault};
use super::frame::{FrameReader, PREFACE};
use super::options::H2Options;
use crate::error::ProtocolError;
use session::ServerSession;

/// Server side of one HTTP/2 connection.
///
/// After an error every call of [`H2Server::receive`] returns that error.
#[derive(Debug)]
pub struct H2Server {
    /// Bytes of the client's preface that have arrived.
    preface_bytes: usize,
    reader: FrameReader,
    session: ServerSession,
}

impl H2Server {
    /// Creates a server, whose settings are queued at once.
    pub fn new(options: &H2Options) -> H2Server {
        let reader = FrameReader::new(options.settings.max_frame_bytes, options.list_bytes_max());
        let session = ServerSession::new(options);
        H2Server { preface_bytes: 0, reader, session }
    }

    /// Parses received bytes and passes the events in them to `each`, in order.
    ///
    /// # Errors
    /// If the client broke the protocol. GOAWAY is then queued, and the connection must be closed.
    pub fn receive(
        &mut self,
        bytes: &[u8],
        mut each: impl FnMut(ServerEvent<'_>),
    ) -> Result<(), ProtocolError> {
        self.session.link.check()?;
        let mut rest = bytes;
        if self.preface_bytes < PREFACE.len() {
            let missing = &PREFACE[self.preface_bytes..];
            let (begin, after) = rest.split_at(rest.len().min(missing.len()));
            if !missing.starts_with(begin) {
                return Err(self.session.link.fail(0, H2Fault::PROTOCOL));
            }
            self.preface_bytes += begin.len();
            rest = after;
        }
        let read = self.reader.read(rest, |frame| self.session.handle(frame, &mut each));
        read.map_err(|fault| self.session.link.fail(self.session.last_stream, fault))
    }

    /// Ends a stream without the rest of its response. Streams that are not open are reset too.
    pub fn reset_stream(&mut self, stream: u32, code: ErrorCode) {
        self.session.reset_stream(stream, code);
    }

    /// Sends any bytes, as a server that breaks the protocol.
    pub fn push_raw(&mut self, bytes: &[u8]) {
        self.session.link.out.extend_from_slice(bytes);
    }

    /// Appends the bytes to send now to `out`.
    pub fn poll_transmit(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.session.link.out);
        if !self.session.turns.is_empty() && self.session.link.check().is_ok() {
            self.session.push_pending(out);
        }
    }

    /// Returns the number of streams that have not ended in both directions.
    pub fn open_streams(&self) -> u32 {
        self.session.streams.len()
    }

    /// Returns the number of requests that were not processed since the last call: beyond the limit
    /// of streams, or above the last stream that GOAWAY announced. They caused no event.
    pub fn take_refused(&mut self) -> u64 {
        std::mem::take(&mut self.session.refused)
    }

    /// Returns the number of invalid requests since the last call.
    pub fn take_malformed(&mut self) -> u64 {
        std::mem::take(&mut self.session.malformed)
    }
}
