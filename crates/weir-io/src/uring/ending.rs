//! Closing of the io_uring backend's connections.

use std::io;
use std::os::fd::{IntoRawFd, OwnedFd};

use io_uring::{opcode, squeue, types};

use super::sending::Slow;
use super::{NONE, NOTHING, RawEvent, State, Uring, kind};
use crate::outgoing::Queue;
use crate::raw_event::RawEventKind;
use crate::socket;
use crate::token::Token;
use crate::{Close, Segment};

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
        let raw_event = self.raw_event(index, RawEventKind::Failed(error));
        self.count_unsent(index);
        self.failing.tell(index);
        self.tally(index, true);
        self.shut(index);
        raw_event
    }

    /// Closes a connection on the owner's request.
    pub(super) fn part(&mut self, index: u32, how: Close) {
        self.failing.forget(index);
        self.tally(index, false);
        let spent = self.spend(index, how);
        let conn = &mut self.conns[index as usize];
        if how == Close::Reset {
            // If this fails, the close is graceful, which is acceptable.
            conn.fd.iter().for_each(|fd| drop(socket::set_reset_on_close(fd)));
        } else if conn.state == State::Open && !conn.unsent.is_empty() {
            self.part_later(index);
        }
        self.shut(index);
        self.conns[index as usize].fd = spent;
    }

    /// Ends the connection on its socket, and takes out the socket if it can connect again. A new
    /// socket would cost a tenth more per connection.
    fn spend(&mut self, index: u32, how: Close) -> Option<OwnedFd> {
        let conn = &mut self.conns[index as usize];
        if conn.family == 0 || conn.state != State::Open || conn.slow != NONE {
            return None;
        }
        conn.fd.take_if(|fd| match how {
            // A pending receive is cancelled before the socket connects again.
            Close::Reset => socket::disconnect(fd).is_ok(),
            Close::Graceful if conn.armed != NOTHING || !conn.unsent.is_empty() => false,
            Close::Graceful => conn.ended && socket::end_for_another(fd).is_ok(),
        })
    }

    /// Keeps the socket until the kernel has taken the rest of its bytes.
    fn part_later(&mut self, index: u32) {
        let conn = &mut self.conns[index as usize];
        let unsent = std::mem::replace(&mut conn.unsent, Queue::EMPTY);
        let slot = std::mem::replace(&mut conn.slow, NONE);
        let lingering = Slow::LingeringClose(conn.fd.take(), unsent);
        if slot == NONE {
            let slot = self.slow.insert(lingering);
            self.notes.slow.push(slot);
        } else if let Some(slow) = self.slow.entry(slot) {
            // The slow send in progress continues under the new owner.
            *slow = lingering;
        }
    }

    /// Drops segments for a connection that has failed or is closed.
    #[cold]
    pub(super) fn forget(&mut self, index: u32, segments: &[Segment]) {
        let conn = self.conns.get(index as usize);
        if conn.is_some_and(|conn| conn.is_live() && !conn.numbered) {
            let bytes = segments.iter().map(|segment| self.outgoing.segment_bytes(*segment));
            self.failing.lost(index, bytes.sum());
        }
        segments.iter().for_each(|segment| self.outgoing.forget(*segment));
    }

    /// Counts the unsent bytes of a failing connection. Accepted connections are not counted.
    pub(super) fn count_unsent(&mut self, index: u32) {
        let conn = &self.conns[index as usize];
        if !conn.numbered && !conn.unsent.is_empty() {
            self.failing.lost(index, self.outgoing.unsent_bytes(&conn.unsent));
        }
    }

    /// Reads the kernel's counters of a socket before it is closed. Accepted ones are not counted.
    fn tally(&mut self, index: u32, has_failed: bool) {
        let conn = &self.conns[index as usize];
        if let (Some(fd), false) = (&conn.fd, conn.numbered) {
            self.tcp.closing(fd, has_failed);
        }
    }

    /// Closes the socket and releases the connection's number.
    fn shut(&mut self, index: u32) {
        let conn = &mut self.conns[index as usize];
        let generation = conn.generation;
        let armed = std::mem::replace(&mut conn.armed, NOTHING);
        if armed != NOTHING {
            // The pending request keeps the socket open.
            self.notes.cancels.push(Token::new(armed, generation, index).pack());
        }
        if conn.state == State::Connecting {
            self.notes.cancels.push(Token::new(kind::CONNECT, generation, index).pack());
        }
        let unsent = std::mem::replace(&mut conn.unsent, Queue::EMPTY);
        self.abandon(index, unsent);
        let conn = &mut self.conns[index as usize];
        self.notes.closes.extend(conn.fd.take());
        conn.state = State::Closed;
        conn.unarmed = false;
        if std::mem::take(&mut conn.numbered) {
            self.numbers.give_back(index);
        }
    }

    /// Drops a connection's unsent bytes; those of a slow send only once the kernel has finished.
    fn abandon(&mut self, index: u32, mut unsent: Queue) {
        let conn = &mut self.conns[index as usize];
        let slot = std::mem::replace(&mut conn.slow, NONE);
        if slot == NONE {
            self.outgoing.clear(&mut unsent);
            return;
        }
        if let Some(slow) = self.slow.entry(slot) {
            *slow = Slow::LingeringClose(None, unsent);
        }
        self.notes.cancels.push(Token::new(kind::SLOW, 0, slot).pack());
    }
}
