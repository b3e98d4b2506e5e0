//! The server's side of a connection: requests come out as events, responses go in. It can
//! break the protocol on request, to test clients. Independent of the content of responses.

mod event;
mod options;
mod request_fields;
mod responses;
mod session;
mod stream;

pub use event::ServerEvent;
pub use options::H2ServerOptions;
pub use request_fields::RequestFields;

use super::fault::{ErrorCode, Fault};
use super::frame::{FrameLimits, FrameReader, PREFACE, Settings, push_ping};
use crate::ProtocolError;
use session::Session;

/// Server side of one HTTP/2 connection.
///
/// After an error every call of [`H2Server::receive`] returns that error.
#[derive(Debug)]
pub struct H2Server {
    /// Bytes of the client's preface that have arrived.
    preface_bytes: usize,
    reader: FrameReader,
    session: Session,
}

impl H2Server {
    /// Creates a server, whose settings are queued at once.
    pub fn new(options: &H2ServerOptions) -> H2Server {
        let limits = FrameLimits {
            frame_bytes_max: options.settings.max_frame_bytes,
            block_bytes_max: options.list_bytes_max(),
        };
        let session = Session::new(options);
        H2Server { preface_bytes: 0, reader: FrameReader::new(limits), session }
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
                return Err(self.session.link.fail(0, Fault::PROTOCOL));
            }
            self.preface_bytes += begin.len();
            rest = after;
        }
        let read = self.reader.read(rest, |frame| self.session.handle(frame, &mut each));
        read.map_err(|fault| self.session.link.fail(self.session.last_stream, fault))
    }

    /// Sends the head of a response: an interim one (1xx), or the final one. Returns false if the
    /// stream has ended; nothing is sent then. The names have no upper-case letters.
    pub fn respond(
        &mut self,
        stream: u32,
        status: u16,
        fields: &[(&[u8], &[u8])],
        is_end: bool,
    ) -> bool {
        self.session.respond(stream, status, fields, is_end)
    }

    /// Sends a part of a response's body, as far as the client's windows permit; the rest is kept.
    /// Returns false if the stream has ended.
    pub fn send_data(&mut self, stream: u32, data: &[u8], is_end: bool) -> bool {
        self.session.send_data(stream, data, is_end)
    }

    /// Returns the number of bytes of a response that can be sent on a stream at once: 0 while
    /// earlier ones wait, or if the stream has ended.
    pub fn room(&mut self, stream: u32) -> usize {
        self.session.room(stream)
    }

    /// Ends a response with trailers. Returns false if the stream has ended.
    pub fn send_trailers(&mut self, stream: u32, fields: &[(&[u8], &[u8])]) -> bool {
        self.session.send_trailers(stream, fields)
    }

    /// Ends a stream without the rest of its response. Streams that are not open are reset too.
    pub fn reset_stream(&mut self, stream: u32, code: ErrorCode) {
        self.session.reset_stream(stream, code);
    }

    /// Announces that streams above `last_stream` are not processed; by default, later ones than
    /// the last request. Open ones above it are dropped, and requests on later ones are ignored.
    pub fn go_away(&mut self, last_stream: Option<u32>, code: ErrorCode) {
        self.session.go_away(last_stream, code);
    }

    /// Announces other settings. Larger frames are accepted at once, and later still.
    pub fn change_settings(&mut self, settings: &Settings) {
        let limits = &mut self.reader.limits;
        limits.frame_bytes_max = limits.frame_bytes_max.max(settings.max_frame_bytes);
        self.session.change_settings(settings);
    }

    /// Sends a probe.
    pub fn ping(&mut self, data: [u8; 8]) {
        push_ping(&mut self.session.link.out, data, false);
    }

    /// Sends any bytes, as a server that breaks the protocol.
    pub fn push_raw(&mut self, bytes: &[u8]) {
        self.session.link.out.extend_from_slice(bytes);
    }

    /// Appends the bytes to send now to `out`.
    pub fn poll_transmit(&mut self, out: &mut Vec<u8>) {
        self.session.push_output(out);
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

    /// Returns the number of bytes of responses that wait for the client's windows.
    pub fn pending_bytes(&mut self) -> usize {
        self.session.streams.open().map(|(_, _, stream)| stream.pending.bytes()).sum()
    }
}
