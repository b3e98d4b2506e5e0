//! Receives of the io_uring backend: their submission and completion.

use std::io;
use std::os::fd::AsRawFd;
use std::ptr;

use io_uring::{cqueue, opcode, squeue, types};

use super::buffers::GROUP;
use super::ring::CompletionEntry;
use super::{NOTHING, RawEvent, Uring, UringConn, kind};
use crate::limits::{DISCARD_MAX, DISCARD_MIN, HEAD_BYTES};
use crate::raw_event::{Filled, RawEventKind};
use crate::slab::NONE;
use crate::socket_core::ConnState;
use crate::token::Token;

/// Events watched on a polled connection.
const WATCHED: u32 = (libc::POLLIN | libc::POLLRDHUP) as u32;

/// Events that report the end of a stream.
const ENDING: i32 = (libc::POLLRDHUP | libc::POLLHUP | libc::POLLERR) as i32;

/// Connections per submission that receive again after finding no free buffer. If all did, the
/// first few would take all buffers again and the rest would fail again, each time. Those that
/// filled none come first, so that one whose bytes never end cannot take all buffers again.
const FED: usize = 16;

impl Uring {
    /// True if there is work or an event without waiting for new completions.
    pub(super) fn has_more(&self) -> bool {
        !self.later.is_empty()
            || !self.connected.is_empty()
            || !self.core.failures.is_empty()
            || self.notes.has_starved()
            || !self.notes.receives.is_empty()
            || (!self.waiting.is_empty() && self.core.numbers.are_left())
    }

    /// Schedules a receive on a connection for the next submission.
    pub(super) fn receive_on(&mut self, index: u32) {
        let conn = &mut self.core.conns[index as usize];
        if !conn.own.unarmed {
            conn.own.unarmed = true;
            self.notes.receives.push(index);
        }
    }

    pub(super) fn prepare_receives(&mut self) -> io::Result<()> {
        self.notes.feed(FED);
        if self.polls {
            return self.prepare_polled();
        }
        for at in 0..self.notes.receives.len() {
            let index = self.notes.receives[at];
            let conn = &mut self.core.conns[index as usize];
            if !std::mem::take(&mut conn.own.unarmed)
                || conn.state != ConnState::Open
                || conn.own.armed != NOTHING
            {
                continue;
            }
            let (kind, entry) = receive(conn, &self.header);
            conn.own.armed = kind;
            let word = Token::pack(kind, conn.generation, index);
            // SAFETY: received bytes go to the buffers of the ring, discarded ones nowhere; the
            // header lives as long as the ring.
            unsafe { self.ring.push(&entry.user_data(word))? };
        }
        self.notes.receives.clear();
        Ok(())
    }

    /// Prepares receives if they are polled for: polls connections without a poll, and receives,
    /// without waiting, on those that the kernel reported as ready. The number of receives is
    /// limited by the number of buffers, as a receive without a buffer fails.
    fn prepare_polled(&mut self) -> io::Result<()> {
        let mut taken = 0;
        while let Some(index) = self.notes.receives.get(taken).copied() {
            let conn = &mut self.core.conns[index as usize];
            if conn.state == ConnState::Open && conn.own.armed == kind::POLL {
                // One buffer belongs to the event returned last.
                if self.receiving + 1 >= u32::from(self.buffers.count) {
                    break;
                }
            }
            taken += 1;
            if !std::mem::take(&mut conn.own.unarmed) || conn.state != ConnState::Open {
                continue;
            }
            let (kind, entry) = match conn.own.armed {
                NOTHING if conn.stamps != NONE => receive(conn, &self.header),
                NOTHING => (kind::POLL, poll(conn)),
                kind::POLL => receive_now(conn),
                _ => continue,
            };
            if conn.own.armed == NOTHING {
                conn.own.armed = kind;
            }
            self.receiving += u32::from(kind == kind::RECV);
            let word = Token::pack(kind, conn.generation, index);
            // SAFETY: as for the receives that wait.
            unsafe { self.ring.push(&entry.user_data(word))? };
        }
        self.notes.receives.drain(..taken);
        Ok(())
    }

    /// Handles a poll's completion: there are bytes to receive, or the poll has ended.
    pub(super) fn on_polled(&mut self, token: Token, done: CompletionEntry) -> Option<RawEvent> {
        let conn = self.core.live(token)?;
        if !cqueue::more(done.flags) {
            // A new poll reports at once what is there.
            conn.own.armed = NOTHING;
        }
        conn.drains |= done.result > 0 && done.result & ENDING != 0;
        if done.result < 0 && !matches!(-done.result, libc::ECANCELED | libc::EINTR) {
            let error = io::Error::from_raw_os_error(-done.result);
            return Some(self.fail(token.index, error));
        }
        if !conn.ended {
            self.receive_on(token.index);
        }
        None
    }

    #[inline]
    pub(super) fn on_received(&mut self, token: Token, done: CompletionEntry) -> Option<RawEvent> {
        let buffer = cqueue::buffer_select(done.flags);
        let is_last = !cqueue::more(done.flags);
        self.receiving -= u32::from(self.polls);
        let len = u32::try_from(done.result).unwrap_or(0);
        let Some(conn) = self.core.live(token) else {
            buffer.into_iter().for_each(|buffer| self.buffers.give_back(buffer));
            return None;
        };
        if is_last && conn.own.armed == kind::RECV {
            conn.own.armed = NOTHING;
        }
        let (Some(buffer), 1..) = (buffer, len) else {
            buffer.into_iter().for_each(|buffer| self.buffers.give_back(buffer));
            return self.on_nothing_received(token.index, done.result);
        };
        conn.discard = conn.discard.saturating_sub(len);
        // A short read of a stream has emptied it, and new bytes are reported. But an end that has
        // already been reported is not reported again.
        let is_empty = conn.own.armed == kind::POLL && !conn.drains && len < HEAD_BYTES;
        if is_last && !is_empty {
            // Single-shot receive, or the kernel ended a multishot one, which it may do at any
            // time.
            self.receive_on(token.index);
        }
        let filled = Filled { buffer, start: 0, len };
        let received = RawEventKind::Received { bytes: filled, rx_at: None };
        Some(self.core.raw_event(token.index, received, self.collected_at))
    }

    pub(super) fn on_skipped(&mut self, token: Token, done: CompletionEntry) -> Option<RawEvent> {
        let conn = self.core.live(token)?;
        if conn.own.armed == kind::SKIP {
            conn.own.armed = NOTHING;
        }
        if done.result <= 0 {
            return self.on_nothing_received(token.index, done.result);
        }
        let bytes = done.result.unsigned_abs();
        conn.discard = conn.discard.saturating_sub(bytes);
        self.receive_on(token.index);
        let discarded = RawEventKind::Discarded(bytes.into());
        Some(self.core.raw_event(token.index, discarded, self.collected_at))
    }

    /// Handles the end of the stream, or an error.
    pub(super) fn on_nothing_received(&mut self, index: u32, result: i32) -> Option<RawEvent> {
        match -result {
            0 => {
                self.core.conns[index as usize].ended = true;
                self.fail_if_unsent(index).or_else(|| {
                    Some(self.core.raw_event(index, RawEventKind::Closed, self.collected_at))
                })
            }
            // Only a non-waiting receive returns this: everything has been read.
            libc::EAGAIN => self.fail_if_unsent(index).or_else(|| {
                let conn = &mut self.core.conns[index as usize];
                conn.drains = false;
                if conn.own.armed != kind::POLL {
                    self.receive_on(index);
                }
                None
            }),
            libc::ENOBUFS => {
                let was_fed = self.was_fed(index);
                let conn = &mut self.core.conns[index as usize];
                if !std::mem::replace(&mut conn.own.unarmed, true) {
                    self.notes.starve(index, was_fed);
                }
                None
            }
            // The receive was cancelled to make room for another kind.
            libc::ECANCELED | libc::EINTR => {
                self.receive_on(index);
                None
            }
            errno => Some(self.fail(index, io::Error::from_raw_os_error(errno))),
        }
    }

    /// True if the receive that found no free buffer had filled one just before: its completions
    /// are adjacent.
    fn was_fed(&self, index: u32) -> bool {
        let before = self.cursor.checked_sub(2).and_then(|at| self.ready.get(at));
        before.is_some_and(|done| {
            Token::unpack(done.word).index == index && cqueue::buffer_select(done.flags).is_some()
        })
    }

    /// Reports the failed send of a connection on which nothing is left to receive.
    fn fail_if_unsent(&mut self, index: u32) -> Option<RawEvent> {
        let error = self.core.conns[index as usize].send_failure()?;
        Some(self.fail(index, error))
    }
}

/// Returns the receive that suits the state of a connection.
fn receive(conn: &UringConn, header: &libc::msghdr) -> (u8, squeue::Entry) {
    let fd = target(conn);
    if conn.send_error != 0 {
        // Takes the bytes that have arrived and does not wait for more.
        return (kind::RECV, selected(conn, 0, libc::MSG_DONTWAIT));
    }
    if conn.stamps != NONE {
        // Always multishot: with single receives the kernel would retry endlessly while the error
        // queue is not empty.
        return (kind::STAMPED, opcode::RecvMsgMulti::new(fd, header, GROUP).build());
    }
    if !conn.discards {
        return (kind::RECV, opcode::RecvMulti::new(fd, GROUP).build());
    }
    if u64::from(conn.discard) < DISCARD_MIN {
        return (kind::RECV, selected(conn, HEAD_BYTES, 0));
    }
    (kind::SKIP, skip(conn, 0))
}

/// Returns the receive that suits the state of a connection reported as ready. It takes the bytes
/// there are and never waits, so that the poll goes on.
fn receive_now(conn: &UringConn) -> (u8, squeue::Entry) {
    if conn.send_error == 0 && conn.discards && u64::from(conn.discard) >= DISCARD_MIN {
        return (kind::SKIP, skip(conn, libc::MSG_DONTWAIT));
    }
    let head_only = conn.send_error == 0 && conn.discards;
    (kind::RECV, selected(conn, if head_only { HEAD_BYTES } else { 0 }, libc::MSG_DONTWAIT))
}

/// Receives into a buffer of the pool, at most `len` bytes; zero means a whole buffer.
fn selected(conn: &UringConn, len: u32, flags: i32) -> squeue::Entry {
    let entry = opcode::Recv::new(target(conn), ptr::null_mut(), len).buf_group(GROUP);
    entry.flags(flags).build().flags(squeue::Flags::BUFFER_SELECT)
}

/// Takes bytes off a TCP stream without copying them, by MSG_TRUNC (tcp(7)).
fn skip(conn: &UringConn, flags: i32) -> squeue::Entry {
    let len = u64::from(conn.discard).min(DISCARD_MAX) as u32;
    let entry = opcode::Recv::new(target(conn), ptr::null_mut(), len);
    entry.flags(libc::MSG_TRUNC | flags).build()
}

fn poll(conn: &UringConn) -> squeue::Entry {
    opcode::PollAdd::new(target(conn), WATCHED).multi(true).build()
}

fn target(conn: &UringConn) -> types::Fd {
    types::Fd(conn.fd.as_ref().map_or(-1, AsRawFd::as_raw_fd))
}
