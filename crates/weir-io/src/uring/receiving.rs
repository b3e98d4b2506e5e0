//! What the ring receives, and how it is asked to.

use std::io;
use std::os::fd::AsRawFd;
use std::ptr;

use io_uring::{cqueue, opcode, squeue, types};

use super::buffers::{Filled, GROUP};
use super::ring::Completion;
use super::{Conn, Happened, State, Uring, kind};
use crate::happened::What;
use crate::limits::{DISCARD_MAX, DISCARD_MIN, HEAD_BYTES};
use crate::token::Token;

/// How many connections that found no buffer free are asked to receive in one submission. Were all
/// asked, the first few would take all buffers again and the rest fail again, each time.
const FED: usize = 16;

impl Uring {
    /// Has the next submission receive on a connection.
    pub(super) fn receive_on(&mut self, index: u32) {
        let conn = &mut self.conns[index as usize];
        if !conn.unarmed {
            conn.unarmed = true;
            self.notes.receives.push(index);
        }
    }

    pub(super) fn prepare_receives(&mut self) -> io::Result<()> {
        let starved = self.notes.starved.len().min(FED);
        for index in self.notes.starved.drain(..starved) {
            self.notes.receives.push(index);
        }
        for at in 0..self.notes.receives.len() {
            let index = self.notes.receives[at];
            let conn = &mut self.conns[index as usize];
            if !std::mem::take(&mut conn.unarmed)
                || conn.state != State::Open
                || conn.armed.is_some()
            {
                continue;
            }
            let (kind, entry) = receive(conn, &self.header);
            conn.armed = Some(kind);
            let word = Token::new(kind, conn.generation, index).pack();
            // SAFETY: received bytes go to the buffers of the ring, discarded ones nowhere; the
            // header lives as long as the ring.
            unsafe { self.ring.push(&entry.user_data(word))? };
        }
        self.notes.receives.clear();
        Ok(())
    }

    #[inline]
    pub(super) fn on_received(&mut self, token: Token, done: Completion) -> Option<Happened> {
        let buffer = cqueue::buffer_select(done.flags);
        let is_last = !cqueue::more(done.flags);
        let len = u32::try_from(done.result).unwrap_or(0);
        let Some(conn) = self.live(token) else {
            buffer.into_iter().for_each(|buffer| self.buffers.give_back(buffer));
            return None;
        };
        if is_last {
            conn.armed = None;
        }
        let (Some(buffer), 1..) = (buffer, len) else {
            buffer.into_iter().for_each(|buffer| self.buffers.give_back(buffer));
            return self.on_nothing_received(token.index, done.result);
        };
        conn.discard = conn.discard.saturating_sub(u64::from(len));
        if is_last {
            // One request at a time, or the kernel ended a multishot one, which it may at any time.
            self.receive_on(token.index);
        }
        let filled = Filled { buffer, start: 0, len };
        Some(self.happened(token.index, What::Received(filled, None)))
    }

    pub(super) fn on_skipped(&mut self, token: Token, done: Completion) -> Option<Happened> {
        let conn = self.live(token)?;
        conn.armed = None;
        if done.result <= 0 {
            return self.on_nothing_received(token.index, done.result);
        }
        let bytes = u64::from(done.result.unsigned_abs());
        conn.discard = conn.discard.saturating_sub(bytes);
        self.receive_on(token.index);
        Some(self.happened(token.index, What::Discarded(bytes)))
    }

    /// The end of the stream, or an error.
    pub(super) fn on_nothing_received(&mut self, index: u32, result: i32) -> Option<Happened> {
        match -result {
            0 => {
                self.conns[index as usize].ended = true;
                self.fail_if_unsent(index).or_else(|| Some(self.happened(index, What::Closed)))
            }
            // Only a receive after a failed send says so: everything has been read.
            libc::EAGAIN => self.fail_if_unsent(index).or_else(|| {
                self.receive_on(index);
                None
            }),
            libc::ENOBUFS => {
                let conn = &mut self.conns[index as usize];
                if !std::mem::replace(&mut conn.unarmed, true) {
                    self.notes.starved.push_back(index);
                }
                None
            }
            // The receive was cancelled to make place for another kind.
            libc::ECANCELED | libc::EINTR => {
                self.receive_on(index);
                None
            }
            errno => Some(self.fail(index, io::Error::from_raw_os_error(errno))),
        }
    }

    /// Reports the failed send of a connection on which nothing is left to receive.
    fn fail_if_unsent(&mut self, index: u32) -> Option<Happened> {
        let errno = self.conns[index as usize].send_error;
        (errno != 0).then(|| self.fail(index, io::Error::from_raw_os_error(errno)))
    }
}

/// The receive that fits the state of a connection.
fn receive(conn: &Conn, header: &libc::msghdr) -> (u8, squeue::Entry) {
    let fd = types::Fd(conn.fd.as_ref().map_or(-1, AsRawFd::as_raw_fd));
    let selected = |len: u32, flags| {
        let entry = opcode::Recv::new(fd, ptr::null_mut(), len).buf_group(GROUP).flags(flags);
        entry.build().flags(squeue::Flags::BUFFER_SELECT)
    };
    if conn.send_error != 0 {
        // What the kernel has already, and no waiting for more.
        return (kind::RECV, selected(0, libc::MSG_DONTWAIT));
    }
    if conn.stamps.is_some() {
        // Always multishot: one at a time would have the kernel try and try again while something
        // lies in the error queue.
        return (kind::STAMPED, opcode::RecvMsgMulti::new(fd, header, GROUP).build());
    }
    if !conn.discards {
        return (kind::RECV, opcode::RecvMulti::new(fd, GROUP).build());
    }
    if conn.discard < DISCARD_MIN {
        return (kind::RECV, selected(HEAD_BYTES, 0));
    }
    // With MSG_TRUNC a TCP socket takes bytes off the stream without copying them (tcp(7)).
    let len = conn.discard.min(DISCARD_MAX) as u32;
    let entry = opcode::Recv::new(fd, ptr::null_mut(), len).flags(libc::MSG_TRUNC);
    (kind::SKIP, entry.build())
}
