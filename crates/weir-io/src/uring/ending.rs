//! Closing of the io_uring backend's connections.

use std::io;

use super::pending_sends::Slow;
use super::{NOTHING, RawEvent, Uring, kind};
use crate::backend::Close;
use crate::slab::NONE;
use crate::socket_core::ConnState;
use crate::token::Token;

impl Uring {
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
        let conn = &mut self.core.conns[index as usize];
        if how == Close::Graceful && conn.has_unsent() {
            // Keeps the socket until the kernel has taken the rest of its bytes. The slow send in
            // progress, if there is one, continues under the new owner.
            let unsent = std::mem::take(&mut conn.unsent);
            let lingering = Slow::LingeringClose(conn.fd.take(), unsent);
            self.slow.hand_over(conn.own.replace_slow(NONE), lingering);
        }
        self.shut(index);
        self.core.conns[index as usize].fd = spent;
    }

    /// Closes the socket and releases the connection's number.
    fn shut(&mut self, index: u32) {
        let conn = &mut self.core.conns[index as usize];
        let generation = conn.generation;
        conn.own.unarmed = false;
        let armed = std::mem::replace(&mut conn.own.armed, NOTHING);
        if armed != NOTHING {
            // The pending request keeps the socket open.
            self.notes.cancels.push(Token::pack(armed, generation, index));
        }
        if conn.state == ConnState::Connecting {
            self.notes.cancels.push(Token::pack(kind::CONNECT, generation, index));
        }
        let slot = conn.own.replace_slow(NONE);
        if slot != NONE {
            // The unsent bytes are dropped only once the kernel has finished with the slow send.
            let unsent = std::mem::take(&mut conn.unsent);
            self.slow.hand_over(slot, Slow::LingeringClose(None, unsent));
            self.notes.cancels.push(Token::pack(kind::SLOW, 0, slot));
        }
        self.notes.closes.extend(self.core.shut(index));
    }
}
