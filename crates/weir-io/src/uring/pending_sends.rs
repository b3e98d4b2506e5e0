//! Sends that the kernel works on: sends of the current submission, and sends that wait for room.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use io_uring::{opcode, types};

use super::kind;
use super::requests::Requests;
use super::ring::Ring;
use crate::outgoing::Queue;
use crate::slab::{NONE, Slab};
use crate::socket_core::SocketCore;
use crate::token::Token;

/// Send all bytes, however long it takes.
const IN_TIME: i32 = libc::MSG_NOSIGNAL | libc::MSG_WAITALL;

/// A send of the current submission.
pub(super) struct Issued {
    pub(super) index: u32,
    pub(super) with_stamp: bool,
    pub(super) bytes: usize,
}

/// A send that waits for room.
pub(super) enum Slow {
    /// The front of an open connection's queue.
    Conn(u32),
    /// Bytes of a socket that its owner closed before they were sent. Without the descriptor, the
    /// bytes are only kept until the kernel releases them.
    LingeringClose(Option<OwnedFd>, Queue),
}

/// The sends that wait for room, by the index in their tokens.
#[derive(Default)]
pub(super) struct SlowSends {
    pub(super) entries: Slab<Slow>,
    /// Those to submit.
    pub(super) due: Vec<u32>,
}

impl SlowSends {
    /// Adds a send to submit, and returns its slot.
    pub(super) fn add(&mut self, slow: Slow) -> u32 {
        let slot = self.entries.insert(slow);
        self.due.push(slot);
        slot
    }

    /// Gives the send in a slot another owner; adds it if there is none.
    pub(super) fn hand_over(&mut self, slot: u32, to: Slow) {
        if slot == NONE {
            self.add(to);
        } else if let Some(slow) = self.entries.entry(slot) {
            *slow = to;
        }
    }

    /// Submits those that are due, each with the front of its queue.
    pub(super) fn submit(
        &mut self,
        core: &mut SocketCore<Requests>,
        ring: &mut Ring,
    ) -> io::Result<()> {
        for slot in self.due.drain(..) {
            let (fd, queue) = match self.entries.entry(slot) {
                Some(Slow::Conn(index)) => {
                    let conn = &mut core.conns[*index as usize];
                    (conn.fd.as_ref(), &mut conn.unsent)
                }
                Some(Slow::LingeringClose(fd, unsent)) => (fd.as_ref(), unsent),
                None => continue,
            };
            let (Some(fd), Some(bytes)) = (fd, core.outgoing.front(queue)) else {
                // Abandoned before it started, so no completion will free it.
                core.outgoing.clear(queue);
                self.entries.remove(slot);
                continue;
            };
            let fd = types::Fd(fd.as_raw_fd());
            let entry = opcode::Send::new(fd, bytes.as_ptr(), bytes.len() as u32).flags(IN_TIME);
            let word = Token::pack(kind::SLOW, 0, slot);
            // SAFETY: the piece stays in its queue, and so its bytes in place, until the
            // completion; nothing is sent or dropped from a queue that a slow send works on.
            unsafe { ring.push(&entry.build().user_data(word))? };
        }
        Ok(())
    }
}
