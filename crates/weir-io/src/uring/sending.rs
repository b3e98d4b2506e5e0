//! Sends, in order, and without a completion if successful.
//!
//! The ring does not order submissions of one socket: a send that finds the socket's buffer full
//! would wait aside while the next one overtakes it. So sends are submitted with `MSG_DONTWAIT`,
//! which forbids waiting, and `MSG_WAITALL`, which makes anything short of all bytes a failure. A
//! failure produces a completion, success does not.
//!
//! Hence each send has one of two results once the enter has returned. Either the socket has taken
//! it completely, or its completion with the number of bytes taken is in the queue. (`probe` checks
//! this at start-up.) A connection never has two sends in one submission. The next submission is
//! prepared only after the completions of the last one have been processed. So no send overtakes
//! another. The kernel also has no more use for any of the bytes, and pooled buffers are free at
//! once.
//!
//! The rest of a stalled send, the front piece of the queue, goes into a slow send, which waits in
//! the kernel for room. Until its completion the connection sends nothing else.

use std::io;
use std::os::fd::{AsRawFd, RawFd};

use io_uring::{opcode, squeue, types};

use super::pending_sends::{Issued, Slow};
use super::{NOTHING, Uring, kind};
use crate::slab::NONE;
use crate::socket_core::ConnState;
use crate::stamping;
use crate::token::Token;

/// Send all bytes at once or fail, without a signal.
const AT_ONCE: i32 = libc::MSG_NOSIGNAL | libc::MSG_WAITALL | libc::MSG_DONTWAIT;

impl Uring {
    /// Prepares all recorded sends. Returns true if more has to be sent after this submission. In
    /// that case the submission must not sleep, because successful sends do not end a sleep.
    pub(super) fn prepare_sends(&mut self) -> io::Result<bool> {
        self.slow.submit(&mut self.core, &mut self.ring)?;
        let mut sends = std::mem::take(&mut self.core.to_send);
        let mut is_all = true;
        for index in sends.drain(..) {
            self.core.conns[index as usize].dirty = false;
            is_all &= self.prepare_send(index)?;
        }
        if self.core.to_send.is_empty() {
            self.core.to_send = sends;
        }
        Ok(!is_all)
    }

    /// Prepares the send of one connection. Returns true if that is all it has to send.
    fn prepare_send(&mut self, index: u32) -> io::Result<bool> {
        let conn = &mut self.core.conns[index as usize];
        let (Some(fd), Some(front)) = (&conn.fd, self.core.outgoing.front(&conn.unsent)) else {
            return Ok(true);
        };
        if conn.state != ConnState::Open || conn.own.slow() != NONE {
            // Recorded again once it is connected, or there is room.
            return Ok(true);
        }
        let target = types::Fd(fd.as_raw_fd());
        let with_stamp = self
            .core
            .stamps
            .states
            .entry(conn.stamps)
            .is_some_and(|stamps| stamps.requests_stamp());
        let control = if with_stamp { stamping::SEND_CONTROL.bytes() } else { &[] };
        let (entry, bytes, is_all) = if conn.unsent.is_single() && !with_stamp {
            let send = opcode::Send::new(target, front.as_ptr(), front.len() as u32);
            (send.flags(AT_ONCE).build(), front.len(), true)
        } else if let Some(message) = self.vectors.lay(&self.core.outgoing, &conn.unsent, control) {
            let flags = AT_ONCE.cast_unsigned();
            let send = opcode::SendMsg::new(target, message.header).flags(flags);
            (send.build(), message.bytes, message.is_all)
        } else {
            // No room in this submission.
            self.core.send_later(index);
            return Ok(false);
        };
        self.issued.push(Issued { index, with_stamp, bytes });
        let word = Token::pack(kind::SEND, conn.generation, index);
        let entry = entry.flags(squeue::Flags::SKIP_SUCCESS).user_data(word);
        // SAFETY: the send completes within the enter, and the pieces stay in their queue, the
        // message header in `vectors`, until `settle`, which comes after it.
        unsafe { self.ring.push(&entry)? };
        Ok(is_all)
    }

    /// Processes the results of the sends of the submission that has just been entered.
    pub(super) fn settle(&mut self) {
        let mut issued = std::mem::take(&mut self.issued);
        self.stalls.sort_unstable_by_key(|(index, _)| *index);
        for Issued { index, with_stamp, bytes } in issued.drain(..) {
            let conn = &mut self.core.conns[index as usize];
            match self.stalls.binary_search_by_key(&index, |(index, _)| *index) {
                Err(_) => {
                    self.core.outgoing.advance(&mut conn.unsent, bytes);
                    if let Some(stamps) = self.core.stamps.states.entry(conn.stamps)
                        && stamps.sent(bytes, with_stamp)
                    {
                        self.core.stamps.transmitting.push(index);
                    }
                    if !conn.unsent.is_empty() {
                        self.core.send_later(index);
                    }
                }
                Ok(at) => self.stalled(index, with_stamp, self.stalls[at].1),
            }
        }
        self.issued = issued;
        self.stalls.clear();
    }

    fn stalled(&mut self, index: u32, with_stamp: bool, result: i32) {
        let conn = &mut self.core.conns[index as usize];
        if result > 0 {
            let bytes = result.unsigned_abs() as usize;
            self.core.outgoing.advance(&mut conn.unsent, bytes);
            if let Some(stamps) = self.core.stamps.states.entry(conn.stamps) {
                stamps.sent(bytes, with_stamp);
            }
        } else if result != -libc::EAGAIN {
            return self.send_failed(index, -result);
        }
        if conn.unsent.is_empty() {
            return;
        }
        conn.own.replace_slow(self.slow.add(Slow::Conn(index)));
    }

    pub(super) fn on_slow_sent(&mut self, slot: u32, result: i32) {
        let sent = usize::try_from(result).unwrap_or(0);
        match self.slow.entries.entry(slot) {
            Some(Slow::Conn(index)) => {
                let index = *index;
                let conn = &mut self.core.conns[index as usize];
                conn.own.replace_slow(NONE);
                self.core.outgoing.advance(&mut conn.unsent, sent);
                if let Some(stamps) = self.core.stamps.states.entry(conn.stamps) {
                    stamps.sent(sent, false);
                }
                self.slow.entries.remove(slot);
                match -result {
                    libc::EAGAIN | libc::EINTR | ..=0 => self.core.send_later(index),
                    errno => self.send_failed(index, errno),
                }
            }
            Some(Slow::LingeringClose(fd, unsent)) => {
                self.core.outgoing.advance(unsent, sent);
                if sent > 0 && fd.is_some() && !unsent.is_empty() {
                    return self.slow.due.push(slot);
                }
                self.core.outgoing.clear(unsent);
                self.notes.closes.extend(fd.take());
                self.slow.entries.remove(slot);
            }
            None => {}
        }
    }

    /// Records a failed send, and receives the responses that may have arrived before it.
    fn send_failed(&mut self, index: u32, errno: i32) {
        self.core.send_failed(index, errno);
        let conn = &self.core.conns[index as usize];
        if conn.ended {
            self.core.fail_later(index, io::Error::from_raw_os_error(errno));
        } else if conn.own.armed != NOTHING && conn.own.armed != kind::POLL {
            // The completion of the pending receive makes room for one that does not wait.
            self.notes.cancels.push(Token::pack(conn.own.armed, conn.generation, index));
        } else {
            self.receive_on(index);
        }
    }
}

/// Returns the start-up probe's send, which has the form of the other sends in this file.
pub(super) fn at_once(fd: RawFd, bytes: &[u8]) -> squeue::Entry {
    let send = opcode::Send::new(types::Fd(fd), bytes.as_ptr(), bytes.len() as u32);
    send.flags(AT_ONCE).build().flags(squeue::Flags::SKIP_SUCCESS)
}
