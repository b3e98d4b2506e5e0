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
    /// Such connections that found no free buffer, in order of arrival: those that filled none
    /// before, and those that filled some.
    pub(super) hungry: VecDeque<u32>,
    pub(super) fed: VecDeque<u32>,
    pub(super) waker: bool,
}

impl PendingWork {
    /// Records a connection that found no free buffer; `was_fed` if it had filled some.
    pub(super) fn starve(&mut self, index: u32, was_fed: bool) {
        if was_fed { self.fed.push_back(index) } else { self.hungry.push_back(index) }
    }

    /// True if connections that found no free buffer are to receive again.
    pub(super) fn has_starved(&self) -> bool {
        !self.hungry.is_empty() || !self.fed.is_empty()
    }

    /// Schedules receives on at most `count` of them, first on those that filled no buffer.
    pub(super) fn feed(&mut self, count: usize) {
        let PendingWork { receives, hungry, fed, .. } = self;
        let first = hungry.len().min(count);
        receives.extend(hungry.drain(..first));
        receives.extend(fed.drain(..fed.len().min(count - first)));
    }

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
