//! Bodies of requests: sent in turns as far as the windows of their streams and of the connection
//! permit. Measures the time for which the peer's windows hold them up.

use std::collections::VecDeque;

use super::super::link::H2Link;
use super::super::stream_table::StreamTable;
use super::stream::ClientStream;
use crate::multiplexed::WindowWaits;

/// The bodies that are being sent.
#[derive(Debug, Default)]
pub(super) struct Uploads {
    /// Bodies in the order of their turns.
    turns: VecDeque<Turn>,
    /// True if bodies were added that were not sent yet.
    has_new: bool,
    /// Waits that have ended.
    ended: WindowWaits,
}

/// A body in the order of turns.
#[derive(Clone, Copy, Debug)]
struct Turn {
    /// Slot of its stream.
    slot: u16,
    /// Time at which it was first sent: what was not sent then waits for a window. [`u64::MAX`]
    /// before that.
    begun_ns: u64,
}

impl Uploads {
    /// Drops all bodies. A wait of theirs counts up to `now_ns`.
    pub(super) fn clear(&mut self, now_ns: u64) {
        self.ended = self.waits(now_ns);
        self.turns.clear();
    }

    pub(super) fn add(&mut self, slot: u16) {
        self.turns.push_back(Turn { slot, begun_ns: u64::MAX });
        self.has_new = true;
    }

    /// Removes the body of a stream that ends before it was sent.
    pub(super) fn remove(&mut self, slot: u16, now_ns: u64) {
        let Some(at) = self.turns.iter().position(|turn| turn.slot == slot) else { return };
        let removed = self.turns.remove(at);
        self.ended.record(removed.map_or(0, |turn| now_ns.saturating_sub(turn.begun_ns)));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// Returns the waits so far. Those that have not ended count up to `now_ns`.
    pub(super) fn waits(&self, now_ns: u64) -> WindowWaits {
        let mut waits = self.ended;
        self.turns.iter().for_each(|turn| waits.record(now_ns.saturating_sub(turn.begun_ns)));
        waits
    }

    /// Appends DATA frames to `out` until all bodies are sent or wait for a window.
    pub(super) fn push(
        &mut self,
        link: &mut H2Link,
        streams: &mut StreamTable<ClientStream>,
        now_ns: u64,
        out: &mut Vec<u8>,
    ) {
        let mut blocked = 0;
        while blocked < self.turns.len() && link.send_window.room() > 0 {
            let Some(turn) = self.turns.pop_front() else { break };
            let number = streams.stream(turn.slot);
            let stream = streams.state(turn.slot);
            let Some(upload) = &mut stream.upload else { continue };
            let body = upload.request.body();
            let rest = &body[upload.sent..];
            let window = &mut stream.send_window;
            let Some(bytes) = link.push_data(number, window, rest, true, out) else {
                blocked += 1;
                self.turns.push_back(turn);
                continue;
            };
            blocked = 0;
            upload.sent += bytes;
            if upload.sent == body.len() {
                stream.upload = None;
                self.ended.record(now_ns.saturating_sub(turn.begun_ns));
            } else {
                self.turns.push_back(turn);
            }
        }
        if std::mem::take(&mut self.has_new) {
            let new = self.turns.iter_mut().filter(|turn| turn.begun_ns == u64::MAX);
            new.for_each(|turn| turn.begun_ns = now_ns);
        }
    }
}
