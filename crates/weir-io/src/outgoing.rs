//! Bytes that wait to be sent: templates, pooled buffers, and one queue of pieces per connection.
//! Makes no system call.
//!
//! All queues share one slab of pieces. A connection therefore costs eight bytes here, however deep
//! its queue has been, and nothing is allocated after warm-up.

use std::io::IoSlice;
use std::sync::Arc;

use crate::backend::{PooledId, Segment, TemplateId};

/// Null index of a piece or a pooled buffer.
const NONE: u32 = u32::MAX;

/// Largest capacity that a pooled buffer keeps after use, in bytes; a larger one is freed.
const KEPT_BYTES: usize = 64 * 1024;

/// One connection's unsent pieces, in order: a list in [`Outgoing`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Queue {
    head: u32,
    tail: u32,
}

impl Default for Queue {
    fn default() -> Queue {
        Queue { head: NONE, tail: NONE }
    }
}

impl Queue {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.head == NONE
    }

    /// True if the queue has exactly one piece.
    #[inline]
    pub(crate) fn is_single(&self) -> bool {
        self.head == self.tail && self.head != NONE
    }
}

#[derive(Debug)]
struct OutgoingPiece {
    segment: Segment,
    /// Bytes of the segment already sent.
    sent: u32,
    /// End of the piece in the segment.
    end: u32,
    next: u32,
}

/// The bytes behind all queues of one backend.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    templates: Vec<Arc<[u8]>>,
    pooled: Vec<Vec<u8>>,
    free_pooled: Vec<u32>,
    pieces: Vec<OutgoingPiece>,
    free_piece: u32,
}

impl Outgoing {
    pub(crate) fn new() -> Outgoing {
        Outgoing { free_piece: NONE, ..Outgoing::default() }
    }

    pub(crate) fn template(&mut self, bytes: Arc<[u8]>) -> TemplateId {
        assert!(u32::try_from(bytes.len()).is_ok(), "a template of 4 GiB or more");
        self.templates.push(bytes);
        TemplateId(index(self.templates.len() - 1))
    }

    pub(crate) fn pool(&mut self, bytes: &[u8]) -> PooledId {
        assert!(u32::try_from(bytes.len()).is_ok(), "a pooled buffer of 4 GiB or more");
        let id = self.free_pooled.pop().unwrap_or_else(|| {
            self.pooled.push(Vec::new());
            index(self.pooled.len() - 1)
        });
        self.pooled[id as usize].extend_from_slice(bytes);
        PooledId(id)
    }

    /// Appends a segment. An empty segment adds no piece.
    #[inline]
    pub(crate) fn push(&mut self, queue: &mut Queue, segment: Segment) {
        let end = match segment {
            Segment::Template { id, bytes } => {
                debug_assert!(bytes as usize <= self.templates[id.0 as usize].len());
                bytes
            }
            Segment::Pooled(id) => index(self.pooled[id.0 as usize].len()),
        };
        if end == 0 {
            return self.forget(segment);
        }
        let piece = OutgoingPiece { segment, sent: 0, end, next: NONE };
        let at = self.free_piece;
        let at = if at == NONE {
            self.pieces.push(piece);
            index(self.pieces.len() - 1)
        } else {
            self.free_piece = self.pieces[at as usize].next;
            self.pieces[at as usize] = piece;
            at
        };
        if queue.is_empty() {
            queue.head = at;
        } else {
            self.pieces[queue.tail as usize].next = at;
        }
        queue.tail = at;
    }

    /// The unsent bytes of the first piece.
    #[inline]
    pub(crate) fn front(&self, queue: &Queue) -> Option<&[u8]> {
        (!queue.is_empty()).then(|| self.bytes(queue.head))
    }

    /// Stores the first pieces in `slices`, as many as fit. Returns their number, and true if these
    /// are all.
    pub(crate) fn slices<'a>(&'a self, queue: &Queue, slices: &mut [IoSlice<'a>]) -> (usize, bool) {
        let mut at = queue.head;
        let mut count = 0;
        while at != NONE && count < slices.len() {
            slices[count] = IoSlice::new(self.bytes(at));
            at = self.pieces[at as usize].next;
            count += 1;
        }
        (count, at == NONE)
    }

    /// Drops the first `bytes` bytes, which the kernel has taken, and frees the completed pieces.
    #[inline]
    pub(crate) fn advance(&mut self, queue: &mut Queue, mut bytes: usize) {
        while bytes > 0 {
            let piece = &mut self.pieces[queue.head as usize];
            let left = (piece.end - piece.sent) as usize;
            if bytes < left {
                piece.sent += index(bytes);
                return;
            }
            bytes -= left;
            self.pop(queue);
        }
    }

    /// Returns the bytes that the kernel has not taken.
    pub(crate) fn unsent_bytes(&self, queue: &Queue) -> u64 {
        let mut at = queue.head;
        let mut bytes = 0;
        while at != NONE {
            let piece = &self.pieces[at as usize];
            bytes += u64::from(piece.end - piece.sent);
            at = piece.next;
        }
        bytes
    }

    /// Returns the bytes of a segment.
    pub(crate) fn segment_bytes(&self, segment: Segment) -> u64 {
        match segment {
            Segment::Template { bytes, .. } => bytes.into(),
            Segment::Pooled(id) => self.pooled[id.0 as usize].len() as u64,
        }
    }

    /// Drops everything.
    pub(crate) fn clear(&mut self, queue: &mut Queue) {
        while !queue.is_empty() {
            self.pop(queue);
        }
    }

    #[inline]
    fn pop(&mut self, queue: &mut Queue) {
        let at = queue.head;
        let piece = &mut self.pieces[at as usize];
        let segment = piece.segment;
        queue.head = piece.next;
        if queue.head == NONE {
            queue.tail = NONE;
        }
        piece.next = self.free_piece;
        self.free_piece = at;
        self.forget(segment);
    }

    #[inline]
    fn bytes(&self, at: u32) -> &[u8] {
        let piece = &self.pieces[at as usize];
        let source: &[u8] = match piece.segment {
            Segment::Template { id, .. } => &self.templates[id.0 as usize],
            Segment::Pooled(id) => &self.pooled[id.0 as usize],
        };
        &source[piece.sent as usize..piece.end as usize]
    }

    /// Frees the buffer of a segment that was sent or never will be.
    #[inline]
    pub(crate) fn forget(&mut self, segment: Segment) {
        if let Segment::Pooled(PooledId(id)) = segment {
            let buffer = &mut self.pooled[id as usize];
            if buffer.capacity() > KEPT_BYTES {
                *buffer = Vec::new();
            }
            buffer.clear();
            self.free_pooled.push(id);
        }
    }
}

/// Converts an index into one of the tables, or a length within a piece; both are below 2^32.
#[inline]
fn index(value: usize) -> u32 {
    debug_assert!(u32::try_from(value).is_ok());
    value as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unsent(out: &Outgoing, queue: &Queue) -> Vec<u8> {
        let mut slices = [IoSlice::new(&[]); 16];
        let (count, are_all) = out.slices(queue, &mut slices);
        assert!(are_all);
        slices[..count].iter().flat_map(|slice| slice.iter().copied()).collect()
    }

    #[test]
    fn pieces_leave_in_order_wherever_they_are_cut() {
        for cut in 0..=11 {
            let mut out = Outgoing::new();
            let id = out.template(Arc::from(&b"abcdef"[..]));
            let mut queue = Queue::default();
            out.push(&mut queue, Segment::Template { id, bytes: 3 });
            assert!(queue.is_single());
            let pooled = out.pool(b"12345");
            out.push(&mut queue, Segment::Pooled(pooled));
            out.push(&mut queue, Segment::Template { id, bytes: 0 });
            out.push(&mut queue, Segment::Template { id, bytes: 3 });
            assert_eq!(unsent(&out, &queue), b"abc12345abc");
            assert_eq!(out.slices(&queue, &mut [IoSlice::new(&[]); 2]), (2, false));
            out.advance(&mut queue, cut);
            assert_eq!(unsent(&out, &queue), b"abc12345abc"[cut..]);
            assert_eq!(queue.is_empty(), cut == 11);
            out.clear(&mut queue);
            assert_eq!(queue, Queue::default());
            assert_eq!(out.free_pooled.len(), 1);
        }
    }

    #[test]
    fn buffers_and_pieces_are_used_again() {
        let mut out = Outgoing::new();
        let mut queue = Queue::default();
        for round in 0..10_000u32 {
            for _ in 0..3 {
                let id = out.pool(&round.to_ne_bytes());
                out.push(&mut queue, Segment::Pooled(id));
            }
            let expected = round.to_ne_bytes().repeat(3);
            assert_eq!(unsent(&out, &queue), expected);
            out.advance(&mut queue, 12);
        }
        assert_eq!((out.pooled.len(), out.pieces.len()), (3, 3));
        let id = out.pool(&[0; 1_000_000]);
        out.forget(Segment::Pooled(id));
        assert!(out.pooled.iter().all(|buffer| buffer.capacity() <= KEPT_BYTES));
    }

    #[test]
    fn queues_do_not_mix() {
        let mut out = Outgoing::new();
        let mut one = Queue::default();
        let mut two = Queue::default();
        for bytes in [&b"a"[..], b"b", b"c"] {
            let id = out.pool(bytes);
            out.push(&mut one, Segment::Pooled(id));
            let id = out.pool(&bytes.repeat(2));
            out.push(&mut two, Segment::Pooled(id));
        }
        assert_eq!(unsent(&out, &one), b"abc");
        out.clear(&mut one);
        assert_eq!(unsent(&out, &two), b"aabbcc");
    }
}
