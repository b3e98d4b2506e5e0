//! Bodies of responses that wait for the client's windows. Independent of the streams' other state.

use std::collections::VecDeque;

use super::super::frame::{FRAME_BYTES_DEFAULT, push_data, push_headers};
use super::super::link::Link;
use super::super::stream_table::StreamTable;
use super::Stream;

/// The part of a response that is not yet sent.
#[derive(Debug, Default)]
pub(super) struct Pending {
    data: Vec<u8>,
    sent: usize,
    is_end: bool,
    trailers: Option<Vec<(Vec<u8>, Vec<u8>)>>,
}

impl Pending {
    /// Drops everything, and keeps the buffer unless it is large.
    pub(super) fn clear(&mut self) {
        self.data.clear();
        self.data.shrink_to(FRAME_BYTES_DEFAULT as usize);
        (self.sent, self.is_end, self.trailers) = (0, false, None);
    }

    /// Adds data. `is_end` is true for the last ones, unless trailers follow.
    pub(super) fn add(&mut self, data: &[u8], is_end: bool) {
        self.data.extend_from_slice(data);
        self.is_end |= is_end;
    }

    /// Adds trailers, which end the response.
    pub(super) fn add_trailers(&mut self, fields: &[(&[u8], &[u8])]) {
        let owned = fields.iter().map(|(name, value)| (name.to_vec(), value.to_vec()));
        self.trailers = Some(owned.collect());
    }

    /// True if nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes() == 0 && !self.is_end && self.trailers.is_none()
    }

    /// Returns the number of bytes that wait.
    pub(super) fn bytes(&self) -> usize {
        self.data.len() - self.sent
    }
}

/// Sends what waits on the streams in `turns`, in turns, as far as the windows permit. Streams with
/// nothing left move to `sent`.
pub(super) fn push_pending(
    link: &mut Link,
    streams: &mut StreamTable<Stream>,
    turns: &mut VecDeque<u16>,
    out: &mut Vec<u8>,
    sent: &mut Vec<u16>,
) {
    let frame_bytes = link.frame_bytes_max().min(FRAME_BYTES_DEFAULT) as usize;
    let mut blocked = 0;
    while blocked < turns.len() {
        let Some(slot) = turns.pop_front() else { break };
        let number = streams.stream(slot);
        let Stream { pending, send_window, .. } = streams.state(slot);
        let rest = &pending.data[pending.sent..];
        let room = send_window.room().min(link.send_window.room()).min(frame_bytes);
        let data = &rest[..rest.len().min(room)];
        if data.is_empty() && !rest.is_empty() {
            blocked += 1;
            turns.push_back(slot);
            continue;
        }
        blocked = 0;
        let is_last = data.len() == rest.len();
        let is_end = is_last && pending.is_end && pending.trailers.is_none();
        if !data.is_empty() || is_end {
            push_data(out, number, data, is_end);
        }
        send_window.take(data.len());
        link.send_window.take(data.len());
        pending.sent += data.len();
        if !is_last {
            turns.push_back(slot);
            continue;
        }
        if let Some(trailers) = pending.trailers.take() {
            let mut block = Vec::new();
            link.encoder.begin(&mut block);
            trailers.iter().for_each(|(name, value)| link.encoder.field(name, value, &mut block));
            push_headers(out, number, &block, true, link.frame_bytes_max());
        }
        pending.clear();
        sent.push(slot);
    }
}
