//! Memory of cancelled streams, for which late frames may still come (RFC 9113 §5.1). Independent
//! of frames.

use std::collections::VecDeque;

/// Cancelled streams whose numbers are kept. Late frames of older ones are accepted as well.
const STREAMS_KEPT: usize = 256;

/// Streams that this side has ended before the peer had.
#[derive(Debug, Default)]
pub(crate) struct CancelledStreams {
    kept: VecDeque<u32>,
    /// Greatest number that was dropped.
    dropped: u32,
}

impl CancelledStreams {
    pub(crate) fn clear(&mut self) {
        self.kept.clear();
        self.dropped = 0;
    }

    /// Returns the memory that it holds, in bytes.
    pub(crate) fn held_bytes(&self) -> usize {
        self.kept.capacity() * size_of::<u32>()
    }

    pub(crate) fn insert(&mut self, stream: u32) {
        if self.kept.len() == STREAMS_KEPT {
            let oldest = self.kept.pop_front().unwrap_or(0);
            self.dropped = self.dropped.max(oldest);
        }
        self.kept.push_back(stream);
    }

    /// True if the stream was cancelled, or may have been.
    pub(crate) fn contains(&self, stream: u32) -> bool {
        stream <= self.dropped || self.kept.contains(&stream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_streams_are_forgotten_in_order() {
        let mut streams = CancelledStreams::default();
        (1..=999).step_by(2).for_each(|stream| streams.insert(stream));
        assert!(streams.contains(999) && streams.contains(1) && !streams.contains(1001));
        assert_eq!(streams.kept.len(), STREAMS_KEPT);
        streams.clear();
        assert!(!streams.contains(1));
    }
}
