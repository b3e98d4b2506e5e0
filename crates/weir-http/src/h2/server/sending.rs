//! The sends that a server starts: responses, and announcements for the connection.

use super::super::fault::ErrorCode;
use super::super::frame::{Settings, push_headers, push_window_update};
use super::H2Server;
use super::session::ServerSession;
use super::stream::ServerStream;

impl H2Server {
    /// Sends the head of a response: an interim one (1xx), or the final one. Returns false if the
    /// stream has ended; nothing is sent then. The names have no upper-case letters.
    pub fn respond(
        &mut self,
        stream: u32,
        status: u16,
        fields: &[(&[u8], &[u8])],
        is_end: bool,
    ) -> bool {
        let session = &mut self.session;
        let Some(slot) = session.answerable(stream) else { return false };
        let state = session.streams.state(slot);
        if state.has_head {
            return false;
        }
        state.has_head = status >= 200;
        state.is_answered = is_end;
        let digits = [status / 100, status / 10 % 10, status % 10].map(|digit| b'0' + digit as u8);
        let ServerSession { link, block, .. } = session;
        block.clear();
        link.encoder.begin(block);
        link.encoder.field(b":status", &digits, block);
        fields.iter().for_each(|(name, value)| link.encoder.field(name, value, block));
        let frame_bytes_max = link.frame_bytes_max();
        push_headers(&mut link.out, stream, block, is_end, frame_bytes_max);
        session.remove_if_ended(slot);
        true
    }

    /// Sends a part of a response's body, as far as the client's windows permit; the rest is kept.
    /// Returns false if the stream has ended.
    pub fn send_data(&mut self, stream: u32, data: &[u8], is_end: bool) -> bool {
        let session = &mut self.session;
        let Some(slot) = session.answerable(stream) else { return false };
        let ServerStream { pending, is_answered, .. } = session.streams.state(slot);
        let is_waiting = !pending.is_empty();
        pending.data.extend_from_slice(data);
        pending.is_end |= is_end;
        *is_answered = is_end;
        if !is_waiting {
            session.turns.push_front(slot);
            let mut out = std::mem::take(&mut session.link.out);
            session.push_pending(&mut out);
            session.link.out = out;
        }
        true
    }

    /// Ends a response with trailers. Returns false if the stream has ended, or a part of the body
    /// still waits for windows; nothing is sent then. The names have no upper-case letters.
    pub fn send_trailers(&mut self, stream: u32, fields: &[(&[u8], &[u8])]) -> bool {
        let session = &mut self.session;
        let Some(slot) = session.answerable(stream) else { return false };
        let state = session.streams.state(slot);
        if !state.has_head || !state.pending.is_empty() {
            return false;
        }
        state.is_answered = true;
        let ServerSession { link, block, .. } = session;
        block.clear();
        link.encoder.begin(block);
        fields.iter().for_each(|(name, value)| link.encoder.field(name, value, block));
        let frame_bytes_max = link.frame_bytes_max();
        push_headers(&mut link.out, stream, block, true, frame_bytes_max);
        session.remove_if_ended(slot);
        true
    }

    /// Returns the number of bytes of a response that can be sent on a stream at once: 0 while
    /// earlier ones wait, or if the stream has ended.
    pub fn room(&mut self, stream: u32) -> usize {
        let Some(slot) = self.session.answerable(stream) else { return 0 };
        let ServerStream { pending, send_window, .. } = self.session.streams.state(slot);
        let room = send_window.room().min(self.session.link.send_window.room());
        if pending.is_empty() { room } else { 0 }
    }

    /// Announces that streams above `last_stream` are not processed; by default, later ones than
    /// the last request. Open ones above it are dropped, and requests on later ones are ignored.
    pub fn go_away(&mut self, last_stream: Option<u32>, code: ErrorCode) {
        let session = &mut self.session;
        let last_stream = last_stream.unwrap_or(session.last_stream);
        session.processed_max = last_stream;
        for (slot, number) in session.streams.above(last_stream) {
            session.link.drop_stream(number);
            session.remove(slot);
        }
        session.link.go_away(last_stream, code);
    }

    /// Announces other settings. Larger frames are accepted at once, and later still.
    pub fn change_settings(&mut self, settings: &Settings) {
        let frame_bytes_max = &mut self.reader.frame_bytes_max;
        *frame_bytes_max = settings.max_frame_bytes.max(*frame_bytes_max);
        let ServerSession { link, streams, settings: current, .. } = &mut self.session;
        link.push_settings(settings, current);
        *current = *settings;
        // Bytes used of a larger window are given back, or the client would wait for ever.
        for (_, number, stream) in streams.open() {
            let refill = stream.receive_window.refill(settings.initial_window_bytes);
            if let (Some(bytes), true, false) = (refill, link.refills, stream.is_received) {
                push_window_update(&mut link.out, number, bytes);
            }
        }
    }
}
