//! Receives on the stamped connections of the io_uring backend.

use io_uring::cqueue;

use super::ring::CompletionEntry;
use super::{NOTHING, RawEvent, Uring};
use crate::raw_event::Filled;
use crate::stamping::{self, CONTROL_BYTES};
use crate::token::Token;
use crate::wall::WallTime;

/// Size of `struct io_uring_recvmsg_out`, which comes first in a buffer. It has four words: the
/// second is the length of the control data, the third is the number of bytes
/// (io_uring_prep_recvmsg_multishot(3)).
const OUT_BYTES: usize = 16;

/// Bytes before the payload in a buffer: that structure, and room for the control data.
const HEAD_BYTES: usize = OUT_BYTES + CONTROL_BYTES;

impl Uring {
    pub(super) fn on_received_stamped(
        &mut self,
        token: Token,
        done: CompletionEntry,
    ) -> Option<RawEvent> {
        let buffer = cqueue::buffer_select(done.flags);
        let Some(conn) = self.core.live(token) else {
            buffer.into_iter().for_each(|buffer| self.buffers.give_back(buffer));
            return None;
        };
        let is_last = !cqueue::more(done.flags);
        if is_last {
            conn.own.armed = NOTHING;
        }
        let Some(buffer) = buffer else {
            return self.on_nothing_received(token.index, done.result);
        };
        let whole = Filled { buffer, start: 0, len: u32::try_from(done.result).unwrap_or(0) };
        let (len, stamp) = open(self.buffers.bytes(whole));
        if len == 0 {
            self.buffers.give_back(buffer);
            return self.on_nothing_received(token.index, done.result.min(0));
        }
        if is_last {
            self.receive_on(token.index);
        }
        let filled = Filled { buffer, start: HEAD_BYTES as u32, len };
        self.core.received_stamped(token.index, filled, stamp, Some(self.collected_at))
    }
}

/// Returns the number of payload bytes in a buffer, and their time stamp.
fn open(buffer: &[u8]) -> (u32, Option<WallTime>) {
    let word = |at: usize| {
        let word = buffer.get(at..at + 4).and_then(|word| word.try_into().ok());
        word.map_or(0, u32::from_ne_bytes)
    };
    let control = OUT_BYTES..OUT_BYTES + (word(4) as usize).min(CONTROL_BYTES);
    let len = word(8).min(buffer.len().saturating_sub(HEAD_BYTES) as u32);
    (len, buffer.get(control).and_then(stamping::received))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_opened_as_far_as_it_is_filled() {
        let check = |control: u32, bytes: u32, filled: usize, expected: u32| {
            let words = [0, control, bytes, 0].map(u32::to_ne_bytes).concat();
            let mut buffer = words;
            buffer.resize(filled, 0);
            assert_eq!(open(&buffer), (expected, None));
        };
        check(0, 5, HEAD_BYTES + 5, 5);
        check(CONTROL_BYTES as u32, 5, HEAD_BYTES + 5, 5);
        check(u32::MAX, u32::MAX, HEAD_BYTES + 5, 5);
        check(0, 0, HEAD_BYTES, 0);
        check(0, 5, HEAD_BYTES - 1, 0);
        assert_eq!(open(&[]), (0, None));
    }
}
