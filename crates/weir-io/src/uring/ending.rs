//! Closing of the io_uring backend's connections.

use std::io;
use std::os::fd::IntoRawFd;

use io_uring::{opcode, squeue, types};

use super::sending::Slow;
use super::{NOTHING, RawEvent, Uring, kind};
use crate::Close;
use crate::outgoing::Queue;
use crate::slab::NONE;
use crate::socket_core::State;
use crate::token::Token;

impl Uring {
    /// Prepares cancels and closes, which come first in a submission: a receive or send recorded
    /// for the same connection is for its next socket.
    pub(super) fn prepare_endings(&mut self) -> io::Result<()> {
        let quiet = Token::new(kind::QUIET, 0, 0).pack();
        for word in self.notes.cancels.drain(..) {
            let cancel = opcode::AsyncCancel::new(word).build();
            let entry = cancel.flags(squeue::Flags::SKIP_SUCCESS).user_data(quiet);
            // SAFETY: the entry points to nothing.
            unsafe { self.ring.push(&entry)? };
        }
        for fd in self.notes.closes.drain(..) {
            let close = opcode::Close::new(types::Fd(fd.into_raw_fd())).build();
            let entry = close.flags(squeue::Flags::SKIP_SUCCESS).user_data(quiet);
            // SAFETY: the descriptor has just been given up by its only owner.
            unsafe { self.ring.push(&entry)? };
        }
        Ok(())
    }

    /// Ends a connection because of an error.
    pub(super) fn fail(&mut self, index: u32, error: io::Error) -> RawEvent {
        let raw_event = self.core.fail(index, error, self.collected_at);
        self.shut(index);
        raw_event
    }

    /// Closes a connection on the owner's request.
    pub(super) fn part(&mut self, index: u32, how: Close) {
        let own = &self.core.conns[index as usize].own;
        // After a reset, a pending receive is cancelled before the socket connects again.
        let is_unarmed = how == Close::Reset || own.armed == NOTHING;
        let is_free = is_unarmed && own.slow() == NONE;
        let spent = self.core.part(index, how, is_free);
        if how == Close::Graceful && self.core.conns[index as usize].has_unsent() {
            self.part_later(index);
        }
        self.shut(index);
        self.core.conns[index as usize].fd = spent;
    }

    /// Keeps the socket until the kernel has taken the rest of its bytes.
    fn part_later(&mut self, index: u32) {
        let conn = &mut self.core.conns[index as usize];
        let unsent = std::mem::replace(&mut conn.unsent, Queue::EMPTY);
        let slot = conn.own.replace_slow(NONE);
        let lingering = Slow::LingeringClose(conn.fd.take(), unsent);
        if slot == NONE {
            let slot = self.slow.insert(lingering);
            self.notes.slow.push(slot);
        } else if let Some(slow) = self.slow.entry(slot) {
            // The slow send in progress continues under the new owner.
            *slow = lingering;
        }
    }

    /// Closes the socket and releases the connection's number.
    fn shut(&mut self, index: u32) {
        let conn = &mut self.core.conns[index as usize];
        let generation = conn.generation;
        conn.own.unarmed = false;
        let armed = std::mem::replace(&mut conn.own.armed, NOTHING);
        if armed != NOTHING {
            // The pending request keeps the socket open.
            self.notes.cancels.push(Token::new(armed, generation, index).pack());
        }
        if conn.state == State::Connecting {
            self.notes.cancels.push(Token::new(kind::CONNECT, generation, index).pack());
        }
        self.abandon(index);
        self.notes.closes.extend(self.core.shut(index));
    }

    /// Hands the unsent bytes to the slow send in progress, if there is one: they are dropped only
    /// once the kernel has finished.
    fn abandon(&mut self, index: u32) {
        let conn = &mut self.core.conns[index as usize];
        let slot = conn.own.replace_slow(NONE);
        if let Some(slow) = self.slow.entry(slot) {
            *slow = Slow::LingeringClose(None, std::mem::replace(&mut conn.unsent, Queue::EMPTY));
            self.notes.cancels.push(Token::new(kind::SLOW, 0, slot).pack());
        }
    }
}
