//! The part of a connection that both sides have: settings, both header tables, the connection's
//! windows, probes, and limits on frames without content. Independent of streams.

use std::collections::VecDeque;

use super::cancelled::CancelledStreams;
use super::fault::{ErrorCode, H2Fault};
use super::frame::{
    FRAME_BYTES_DEFAULT, H2Frame, Settings, WINDOW_BYTES_DEFAULT, push_data, push_goaway,
    push_ping, push_reset, push_settings, push_settings_ack, push_window_update,
};
use super::hpack::{Decoder, Encoder};
use super::options::H2Options;
use super::windows::{ReceiveWindow, SendWindow};
use crate::error::ProtocolError;

/// Most frames without content since the last one with content: settings, probes, empty DATA,
/// interim responses, frames of ended streams. Each of them may need an answer.
const IDLE_FRAMES_MAX: u32 = 10_000;

/// State of one side of a connection.
#[derive(Debug)]
pub(crate) struct H2Link {
    /// Bytes to send.
    pub(crate) out: Vec<u8>,
    pub(crate) encoder: Encoder,
    pub(crate) decoder: Decoder,
    /// The peer's settings; none before the first ones have arrived.
    pub(crate) peer: Option<Settings>,
    pub(crate) send_window: SendWindow,
    receive_window: ReceiveWindow,
    /// False to leave receive windows as they are, once used.
    pub(crate) refills: bool,
    /// Size of the connection's receive window.
    receive_window_bytes: u32,
    /// First window of each stream for receiving, in bytes. Until smaller ones are acknowledged, it
    /// is the largest announced.
    pub(crate) stream_window_bytes: u32,
    /// Settings that the peer has not acknowledged.
    unacknowledged: VecDeque<Settings>,
    idle_frames: u32,
    cancelled: CancelledStreams,
    error: Option<ProtocolError>,
}

impl H2Link {
    /// Creates a link with the options of its side.
    pub(crate) fn new(options: &H2Options) -> H2Link {
        H2Link {
            out: Vec::new(),
            encoder: Encoder::new(options.encoder_table_bytes),
            decoder: Decoder::new(options.list_bytes_max()),
            peer: None,
            send_window: SendWindow::new(WINDOW_BYTES_DEFAULT),
            receive_window: ReceiveWindow::default(),
            refills: options.refills_windows,
            receive_window_bytes: options.connection_window_bytes.max(WINDOW_BYTES_DEFAULT),
            stream_window_bytes: WINDOW_BYTES_DEFAULT,
            unacknowledged: VecDeque::new(),
            idle_frames: 0,
            cancelled: CancelledStreams::default(),
            error: None,
        }
    }

    /// Starts a new connection; allocations are kept.
    pub(crate) fn reset(&mut self) {
        self.out.clear();
        self.encoder.reset();
        self.decoder.reset();
        self.peer = None;
        self.send_window = SendWindow::new(WINDOW_BYTES_DEFAULT);
        self.receive_window = ReceiveWindow::default();
        self.stream_window_bytes = WINDOW_BYTES_DEFAULT;
        self.unacknowledged.clear();
        self.idle_frames = 0;
        self.cancelled.clear();
        self.error = None;
    }

    /// Returns the error of the fault that ended the connection.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), ProtocolError> {
        self.error.map_or(Ok(()), Err)
    }

    /// Ends the connection because of a fault; `last_stream` is the last one processed. Returns the
    /// error.
    #[cold]
    pub(crate) fn fail(&mut self, last_stream: u32, fault: H2Fault) -> ProtocolError {
        let error = if self.peer.is_some() { fault.error } else { ProtocolError::BadPreface };
        self.go_away(last_stream, fault.code);
        self.error = Some(error);
        error
    }

    /// Returns the memory that received frames have caused it to hold, in bytes.
    pub(crate) fn held_bytes(&self) -> usize {
        let unacknowledged = self.unacknowledged.capacity() * size_of::<Settings>();
        let cancelled = self.cancelled.held_bytes();
        self.out.capacity() + self.decoder.held_bytes() + unacknowledged + cancelled
    }

    /// Queues settings that differ from those `before`.
    pub(crate) fn push_settings(&mut self, settings: &Settings, before: &Settings) {
        push_settings(&mut self.out, settings, before);
        self.unacknowledged.push_back(*settings);
        // The peer may use larger values as soon as it has the settings.
        self.decoder.raise_size_limit(settings.header_table_bytes);
        self.stream_window_bytes = self.stream_window_bytes.max(settings.initial_window_bytes);
    }

    /// Queues the increase of the connection's window to its size.
    pub(crate) fn open_window(&mut self) {
        if self.receive_window_bytes > WINDOW_BYTES_DEFAULT {
            let more = self.receive_window_bytes - WINDOW_BYTES_DEFAULT;
            push_window_update(&mut self.out, 0, more);
        }
    }

    /// Returns the first window of a new stream for sending.
    #[inline]
    pub(crate) fn initial_window(&self) -> u32 {
        self.peer.map_or(WINDOW_BYTES_DEFAULT, |peer| peer.initial_window_bytes)
    }

    /// Returns the length of the longest payload to send.
    #[inline]
    pub(crate) fn frame_bytes_max(&self) -> u32 {
        self.peer.map_or(FRAME_BYTES_DEFAULT, |peer| peer.max_frame_bytes)
    }

    /// Applies the peer's settings and acknowledges them. Returns the change of the streams' send
    /// windows (RFC 9113 §6.9.2).
    pub(crate) fn settings(&mut self, payload: &[u8]) -> Result<i64, H2Fault> {
        if self.peer.is_some() {
            self.count_idle()?;
        }
        let before = self.initial_window();
        // The default of push is left out, so that only a peer that sets it has it.
        let defaults = Settings { enable_push: false, ..Settings::default() };
        let mut peer = self.peer.unwrap_or(defaults);
        peer.apply(payload, |bytes| self.encoder.set_size_limit(bytes))?;
        self.peer = Some(peer);
        push_settings_ack(&mut self.out);
        Ok(i64::from(peer.initial_window_bytes) - i64::from(before))
    }

    /// Handles a frame of the connection that means the same on both sides.
    pub(crate) fn handle(&mut self, frame: H2Frame<'_>) -> Result<(), H2Fault> {
        match frame {
            H2Frame::WindowUpdate { stream: 0, bytes } => return self.send_window.widen(bytes),
            H2Frame::SettingsAck => self.settings_ack(),
            H2Frame::Ping(data) => push_ping(&mut self.out, data, true),
            H2Frame::Ignored => {}
            // The settings of a client forbid pushing; the others are frames of streams.
            _ => return Err(H2Fault::PROTOCOL),
        }
        self.count_idle()
    }

    /// Handles the acknowledgement of the oldest settings.
    fn settings_ack(&mut self) {
        if let Some(settings) = self.unacknowledged.pop_front() {
            self.decoder.set_size_limit(settings.header_table_bytes);
            self.stream_window_bytes = settings.initial_window_bytes;
            for later in &self.unacknowledged {
                self.decoder.raise_size_limit(later.header_table_bytes);
                self.stream_window_bytes = self.stream_window_bytes.max(later.initial_window_bytes);
            }
        }
    }

    /// Resets a stream. Late frames of it are accepted.
    pub(crate) fn reset_stream(&mut self, stream: u32, code: ErrorCode) {
        push_reset(&mut self.out, stream, code);
        self.drop_stream(stream);
    }

    /// Accepts late frames of a stream that this side has ended.
    pub(crate) fn drop_stream(&mut self, stream: u32) {
        self.cancelled.insert(stream);
    }

    /// Checks HEADERS or DATA on a stream that is not open (RFC 9113 §5.1); `is_idle` if it never
    /// was.
    #[cold]
    pub(crate) fn late(&self, stream: u32, is_idle: bool) -> Result<(), H2Fault> {
        match is_idle {
            true => Err(H2Fault::PROTOCOL),
            false if self.cancelled.contains(stream) => Ok(()),
            false => Err(H2Fault::STREAM_CLOSED),
        }
    }

    /// Counts a frame other than HEADERS and DATA on a stream that is not open; `is_idle` if it
    /// never was.
    pub(crate) fn count_late(&mut self, is_idle: bool) -> Result<(), H2Fault> {
        if is_idle { Err(H2Fault::PROTOCOL) } else { self.count_idle() }
    }

    /// Appends a DATA frame with as much of `rest` as the windows of the connection and the stream
    /// permit, and returns the number of bytes; `None` if they permit nothing. `is_end` is true if
    /// the stream ends with `rest`.
    pub(crate) fn push_data(
        &mut self,
        stream: u32,
        window: &mut SendWindow,
        rest: &[u8],
        is_end: bool,
        out: &mut Vec<u8>,
    ) -> Option<usize> {
        // Short frames, so that small bodies do not wait for large ones.
        let frame_bytes = self.frame_bytes_max().min(FRAME_BYTES_DEFAULT) as usize;
        let room = window.room().min(self.send_window.room()).min(frame_bytes);
        let data = &rest[..rest.len().min(room)];
        if data.is_empty() && !rest.is_empty() {
            return None;
        }
        let is_end = is_end && data.len() == rest.len();
        if !data.is_empty() || is_end {
            push_data(out, stream, data, is_end);
        }
        window.take(data.len());
        self.send_window.take(data.len());
        Some(data.len())
    }

    /// Takes received DATA from the connection's window, and refills it.
    #[inline]
    pub(crate) fn take_data(&mut self, flow_bytes: u32) -> Result<(), H2Fault> {
        self.receive_window.take(flow_bytes, self.receive_window_bytes)?;
        if self.refills
            && let Some(bytes) = self.receive_window.refill(self.receive_window_bytes)
        {
            push_window_update(&mut self.out, 0, bytes);
        }
        Ok(())
    }

    /// Counts a frame without content.
    #[inline]
    pub(crate) fn count_idle(&mut self) -> Result<(), H2Fault> {
        self.idle_frames += 1;
        if self.idle_frames > IDLE_FRAMES_MAX { Err(H2Fault::TOO_MANY_FRAMES) } else { Ok(()) }
    }

    /// Counts a frame with content.
    #[inline]
    pub(crate) fn count_content(&mut self) {
        self.idle_frames = 0;
    }

    /// Queues the announcement that the connection ends.
    pub(crate) fn go_away(&mut self, last_stream: u32, code: ErrorCode) {
        push_goaway(&mut self.out, last_stream, code);
    }
}
