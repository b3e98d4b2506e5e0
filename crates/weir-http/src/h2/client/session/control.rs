//! Frames other than HEADERS and DATA: what they change in the connection and in its streams.

use super::ClientSession;
use crate::h2::fault::{ErrorCode, H2Fault};
use crate::h2::frame::H2Frame;
use crate::multiplexed::StreamEventKind;

impl ClientSession {
    /// Handles a frame other than HEADERS and DATA. The first one must be SETTINGS (RFC 9113 §3.4).
    #[cold]
    pub(super) fn control(&mut self, frame: H2Frame<'_>) -> Result<(), H2Fault> {
        match frame {
            H2Frame::Settings(payload) => self.settings(payload),
            _ if self.link.peer.is_none() => Err(H2Fault::PROTOCOL),
            H2Frame::Reset { stream, code } => self.reset_by_peer(stream, code),
            H2Frame::WindowUpdate { stream: stream @ 1.., bytes } => {
                self.window_update(stream, bytes)
            }
            H2Frame::GoAway { last_stream, code } => {
                self.go_away(last_stream, code);
                self.link.count_idle()
            }
            H2Frame::Malformed { stream, fault } => {
                if let Some(slot) = self.streams.find(stream) {
                    self.fail_stream(slot, fault);
                }
                self.link.count_idle()
            }
            frame => self.link.handle(frame),
        }
    }

    fn settings(&mut self, payload: &[u8]) -> Result<(), H2Fault> {
        let is_first = self.link.peer.is_none();
        let change = self.link.settings(payload)?;
        // A server must not enable what only it would use (RFC 9113 §6.5.2).
        if self.link.peer.is_some_and(|peer| peer.enable_push) {
            return Err(H2Fault::PROTOCOL);
        }
        if change != 0 && !is_first {
            self.streams.open().try_for_each(|(_, _, stream)| stream.send_window.change(change))?;
        }
        Ok(())
    }

    fn reset_by_peer(&mut self, number: u32, code: ErrorCode) -> Result<(), H2Fault> {
        let Some(slot) = self.streams.find(number) else {
            // After a complete response, or after a cancellation.
            return self.link.count_late(self.is_idle(number));
        };
        self.end_by_peer(slot, code, code == ErrorCode::REFUSED_STREAM);
        Ok(())
    }

    /// Ends a stream for the peer's reason. `is_refused` is true if that reason says that a request
    /// without a response was not processed.
    fn end_by_peer(&mut self, slot: u16, code: ErrorCode, is_refused: bool) {
        let kind = match is_refused && !self.streams.state(slot).has_head {
            true => StreamEventKind::Returned,
            false => StreamEventKind::Reset(code.reason()),
        };
        self.end(slot, kind);
    }

    fn window_update(&mut self, number: u32, bytes: u32) -> Result<(), H2Fault> {
        let Some(slot) = self.streams.find(number) else {
            return self.link.count_late(self.is_idle(number));
        };
        if let Err(fault) = self.streams.state(slot).send_window.widen(bytes) {
            self.fail_stream(slot, fault);
        }
        Ok(())
    }

    /// Handles the end of new streams: those above the last one were not processed (RFC 9113 §6.8).
    fn go_away(&mut self, last_stream: u32, code: ErrorCode) {
        self.is_retiring = true;
        if self.goaway.is_none() || code != ErrorCode::NO_ERROR {
            self.goaway = Some(code);
        }
        for (slot, number) in self.streams.above(last_stream) {
            self.link.drop_stream(number);
            self.end_by_peer(slot, code, true);
        }
    }
}
