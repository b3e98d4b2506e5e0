//! Message headers of sends that consist of several pieces, kept in place until the kernel has
//! copied them, which it does when it takes the submission.

use std::io::IoSlice;
use std::mem;
use std::ptr;

use crate::limits::PIECES;
use crate::outgoing::{Outgoing, Queue};

/// Limit on the pieces of all messages of one submission, reached only if needed.
const ALL_PIECES: usize = 1024;

/// Initial room for pieces.
const FIRST_PIECES: usize = 2 * PIECES;

/// A message ready to send.
pub(super) struct Message {
    pub(super) header: *const libc::msghdr,
    /// Bytes that it sends.
    pub(super) bytes: usize,
    /// True if it holds the whole queue.
    pub(super) is_all: bool,
}

/// Messages of the current submission.
#[derive(Default)]
pub(super) struct Vectors {
    pieces: Box<[libc::iovec]>,
    headers: Box<[libc::msghdr]>,
    pieces_used: usize,
    headers_used: usize,
    /// True if there was no room for a message.
    is_short: bool,
}

impl Vectors {
    /// Allocates the tables, lazily: many rings never need them, and most need few entries.
    #[cold]
    fn allocate(&mut self, pieces: usize) {
        let piece = libc::iovec { iov_base: ptr::null_mut(), iov_len: 0 };
        // SAFETY: all-zero bytes are a valid msghdr: no address, no control data, nothing to send.
        let header: libc::msghdr = unsafe { mem::zeroed() };
        self.pieces = vec![piece; pieces].into_boxed_slice();
        // Nearly every message has two pieces at least.
        self.headers = vec![header; pieces / 2].into_boxed_slice();
    }

    /// Lays out the first pieces of a queue, with this control data; `None` if there is no room
    /// until the next [`clear`](Vectors::clear).
    pub(super) fn lay(
        &mut self,
        outgoing: &Outgoing,
        queue: &Queue,
        control: &'static [u8],
    ) -> Option<Message> {
        if self.pieces.is_empty() {
            self.allocate(FIRST_PIECES);
        }
        self.is_short = self.pieces_used + PIECES > self.pieces.len()
            || self.headers_used == self.headers.len();
        if self.is_short {
            return None;
        }
        let mut slices = [IoSlice::new(&[]); PIECES];
        let (count, is_all) = outgoing.slices(queue, &mut slices);
        let places = &mut self.pieces[self.pieces_used..][..count];
        let mut bytes = 0;
        for (place, slice) in places.iter_mut().zip(&slices) {
            let iov_base = slice.as_ptr().cast_mut().cast();
            *place = libc::iovec { iov_base, iov_len: slice.len() };
            bytes += slice.len();
        }
        let header = &mut self.headers[self.headers_used];
        header.msg_iov = places.as_mut_ptr();
        header.msg_iovlen = count as _;
        header.msg_control = control.as_ptr().cast_mut().cast();
        header.msg_controllen = control.len() as _;
        self.pieces_used += count;
        self.headers_used += 1;
        Some(Message { header, bytes, is_all })
    }

    /// Drops all messages, as the kernel has copied them.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.pieces_used = 0;
        self.headers_used = 0;
        if mem::take(&mut self.is_short) && self.pieces.len() < ALL_PIECES {
            self.allocate(2 * self.pieces.len());
        }
    }
}
