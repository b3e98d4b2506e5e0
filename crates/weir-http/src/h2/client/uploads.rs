//! Bodies of requests: sent in turns as far as the windows of their streams and of the connection
//! permit. Records when the peer's windows hold them up.

use std::collections::VecDeque;
use std::sync::Arc;

use super::super::frame::{FRAME_BYTES_DEFAULT, push_data};
use super::super::link::Link;
use super::super::stream_table::StreamTable;
use super::Stream;
use crate::Request;

/// A body that is not yet sent as a whole.
#[derive(Debug)]
pub(super) struct Upload {
    request: Arc<Request>,
    sent: usize,
}

impl Upload {
    pub(super) fn new(request: &Arc<Request>) -> Upload {
        Upload { request: Arc::clone(request), sent: 0 }
    }
}

/// Time for which bodies of requests waited for the peer's flow-control windows, since creation. It
/// is the peer's time, not the client's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowWaits {
    /// Times that bodies had to wait, until none did.
    pub waits: u64,
    /// Sum of these times, in nanoseconds. A wait counts when it has ended.
    pub waited_ns: u64,
}

/// The bodies that are being sent.
#[derive(Debug, Default)]
pub(super) struct Uploads {
    /// Slots of their streams, in the order of their turns.
    turns: VecDeque<u16>,
    waiting_since: Option<u64>,
    pub(super) waits: WindowWaits,
}

impl Uploads {
    /// Drops all bodies. A wait of theirs counts up to `now_ns`.
    pub(super) fn clear(&mut self, now_ns: u64) {
        self.turns.clear();
        self.record(now_ns);
    }

    pub(super) fn add(&mut self, slot: u16) {
        self.turns.push_back(slot);
    }

    /// Removes the body of a stream that ends before it was sent.
    pub(super) fn remove(&mut self, slot: u16, now_ns: u64) {
        self.turns.retain(|other| *other != slot);
        self.record(now_ns);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// Appends DATA frames to `out` until all bodies are sent or wait for a window.
    pub(super) fn push(
        &mut self,
        link: &mut Link,
        streams: &mut StreamTable<Stream>,
        now_ns: u64,
        out: &mut Vec<u8>,
    ) {
        // Short frames, so that small bodies do not wait for large ones.
        let frame_bytes = link.frame_bytes_max().min(FRAME_BYTES_DEFAULT) as usize;
        let mut blocked = 0;
        while blocked < self.turns.len() && link.send_window.room() > 0 {
            let Some(slot) = self.turns.pop_front() else { break };
            let number = streams.stream(slot);
            let stream = streams.state(slot);
            let Some(upload) = &mut stream.upload else { continue };
            let rest = &upload.request.body()[upload.sent..];
            let room = stream.send_window.room().min(link.send_window.room()).min(frame_bytes);
            let data = &rest[..rest.len().min(room)];
            if data.is_empty() {
                blocked += 1;
                self.turns.push_back(slot);
                continue;
            }
            blocked = 0;
            let is_last = data.len() == rest.len();
            push_data(out, number, data, is_last);
            stream.send_window.take(data.len());
            link.send_window.take(data.len());
            upload.sent += data.len();
            if is_last {
                stream.upload = None;
            } else {
                self.turns.push_back(slot);
            }
        }
        self.record(now_ns);
    }

    /// Records the begin or the end of a wait.
    fn record(&mut self, now_ns: u64) {
        match self.waiting_since {
            None if !self.turns.is_empty() => {
                self.waits.waits += 1;
                self.waiting_since = Some(now_ns);
            }
            Some(since) if self.turns.is_empty() => {
                self.waits.waited_ns += now_ns.saturating_sub(since);
                self.waiting_since = None;
            }
            _ => {}
        }
    }
}
