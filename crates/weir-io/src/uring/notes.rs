//! Work recorded by the trait's calls.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{IntoRawFd, OwnedFd};

use io_uring::{opcode, types};

use super::ring::Ring;
use crate::socket::SockAddr;

/// Connects for which memory is kept.
const FEW_CONNECTS: usize = 64;

/// Work of the next submission, in the order in which it is submitted.
#[derive(Default)]
pub(super) struct PendingWork {
    /// Words of requests to cancel.
    pub(super) cancels: Vec<u64>,
    pub(super) closes: Vec<OwnedFd>,
    pub(super) connects: Vec<(u32, u16, SockAddr)>,
    /// Connections to receive on; each once, if its `unarmed` is set.
    pub(super) receives: Vec<u32>,
    /// Such connections that found no free buffer, in order of arrival.
    pub(super) starved: VecDeque<u32>,
    pub(super) waker: bool,
}

impl PendingWork {
    /// Submits cancels and closes, which come first in a submission: a receive or send recorded
    /// for the same connection is for its next socket.
    pub(super) fn submit_endings(&mut self, ring: &mut Ring) -> io::Result<()> {
        for word in self.cancels.drain(..) {
            // SAFETY: the entry points to nothing.
            unsafe { ring.push_quiet(opcode::AsyncCancel::new(word).build())? };
        }
        for fd in self.closes.drain(..) {
            // SAFETY: the descriptor has just been given up by its only owner.
            unsafe { ring.push_quiet(opcode::Close::new(types::Fd(fd.into_raw_fd())).build())? };
        }
        Ok(())
    }

    /// Drops the connects, whose addresses the kernel has copied. There are hundreds of them, of
    /// 120 bytes each, while a worker opens its connections.
    #[inline]
    pub(super) fn forget_connects(&mut self) {
        self.connects.clear();
        self.connects.shrink_to(FEW_CONNECTS);
    }
}
