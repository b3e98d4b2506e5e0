//! Reads, writes and closing of the epoll backend's connections.

use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd, OwnedFd};

use super::lingering::LingeringClose;
use super::{Epoll, RawEvent, WATCHED, kind};
use crate::backend::Close;
use crate::limits::{DISCARD_MAX, DISCARD_MIN, HEAD_BYTES, PIECES};
use crate::outgoing::{Outgoing, Queue};
use crate::raw_event::{Filled, RawEventKind};
use crate::slab::NONE;
use crate::socket;
use crate::stamping;
use crate::stamps::Stamps;
use crate::token::Token;

impl Epoll {
    /// Reads a connection once.
    pub(super) fn read(&mut self, index: u32) -> Option<RawEvent> {
        let conn = &mut self.core.conns[index as usize];
        let fd = conn.fd.as_ref()?;
        conn.own.again = false;
        if conn.ended {
            // The stream has ended, so a failed send can be reported now.
            return self.fail_if_unsent(index);
        }
        let discard = u64::from(conn.discard);
        let skips = conn.own.is_tcp && discard >= DISCARD_MIN;
        let head_only = conn.discards && discard < DISCARD_MIN;
        let mut stamp = None;
        let is_stamped = conn.stamps != NONE;
        let (requested, result) = if is_stamped {
            let received = retried(|| stamping::recv(fd, &mut self.buffer));
            stamp = received.as_ref().map_or(None, |(_, stamp)| *stamp);
            (self.buffer.len(), received.map(|(read, _)| read))
        } else if skips {
            let requested = discard.min(DISCARD_MAX) as usize;
            (requested, retried(|| socket::recv_discard(fd, requested)))
        } else {
            let requested = if head_only { HEAD_BYTES as usize } else { self.buffer.len() };
            (requested, retried(|| socket::recv(fd, &mut self.buffer[..requested])))
        };
        match result {
            Ok(0) => {
                conn.ended = true;
                self.fail_if_unsent(index)
                    .or_else(|| Some(self.raw_event(index, RawEventKind::Closed)))
            }
            Ok(read) => {
                let len = u32::try_from(read).unwrap_or(u32::MAX);
                conn.discard = conn.discard.saturating_sub(len);
                // A short read of a stream has emptied it, and new bytes cause a new edge
                // (epoll(7)). But an end that has already been reported causes none.
                let more = read == requested || conn.drains || conn.send_error != 0;
                if more {
                    self.read_again(index);
                }
                let filled = Filled { buffer: 0, start: 0, len };
                if is_stamped {
                    return self.core.received_stamped(index, filled, stamp, None);
                }
                let received = RawEventKind::Received { bytes: filled, rx_at: None };
                let kind = if skips { RawEventKind::Discarded(read as u64) } else { received };
                Some(self.raw_event(index, kind))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                conn.drains = false;
                self.fail_if_unsent(index)
            }
            Err(error) => Some(self.fail(index, error)),
        }
    }

    /// Schedules another read of a connection, without a new event from the kernel.
    pub(super) fn read_again(&mut self, index: u32) {
        let conn = &mut self.core.conns[index as usize];
        if !conn.own.again {
            conn.own.again = true;
            self.again.push_back(index);
        }
    }

    /// Reports the failed send of a connection on which nothing is left to read.
    fn fail_if_unsent(&mut self, index: u32) -> Option<RawEvent> {
        let error = self.core.conns[index as usize].send_failure()?;
        Some(self.fail(index, error))
    }

    /// Ends a connection because of an error.
    pub(super) fn fail(&mut self, index: u32, error: io::Error) -> RawEvent {
        let raw_event = self.core.fail(index, error, self.core.clock.now());
        self.shut(index);
        raw_event
    }

    /// Writes a connection's queue, as far as the kernel takes it.
    pub(super) fn write(&mut self, index: u32) {
        let conn = &mut self.core.conns[index as usize];
        let Some(fd) = &conn.fd else { return };
        let outgoing = &mut self.core.outgoing;
        let stamps = self.core.stamps.states.entry(conn.stamps);
        let mut is_stamped = false;
        let result = write_all(fd, outgoing, &mut conn.unsent, stamps, &mut is_stamped);
        if is_stamped {
            self.core.stamps.transmitting.push(index);
        }
        match result {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.block(index),
            Err(error) => {
                self.core.send_failed(index, error.raw_os_error().unwrap_or(libc::EIO));
                self.read_again(index);
            }
        }
    }

    /// Records that a socket has no room.
    fn block(&mut self, index: u32) {
        let conn = &mut self.core.conns[index as usize];
        conn.own.blocked = true;
        // Stamped connections are only watched for room while they lack it.
        if let (true, Some(fd)) = (conn.stamps != NONE, &conn.fd) {
            let word = Token::pack(kind::CONN, conn.generation, index);
            let watched = self.poller.rename(fd.as_raw_fd(), WATCHED, word);
            debug_assert!(watched.is_ok(), "a watched descriptor can be watched for more");
        }
    }

    /// Closes a connection on the owner's request. A socket that can connect again stays watched,
    /// under the word of the old connection.
    pub(super) fn part(&mut self, index: u32, how: Close) {
        let spent = self.core.part(index, how, true);
        if how == Close::Graceful && self.core.conns[index as usize].has_unsent() {
            self.write(index);
            self.part_later(index);
        }
        self.shut(index);
        self.core.conns[index as usize].fd = spent;
    }

    /// Closes the socket and releases the connection's number.
    fn shut(&mut self, index: u32) {
        self.core.conns[index as usize].own.again = false;
        // Closing removes it from the epoll set, as there is no other handle on it.
        drop(self.core.shut(index));
    }

    /// Keeps the socket of a closing connection until the kernel has taken the rest of its bytes.
    fn part_later(&mut self, index: u32) {
        let conn = &mut self.core.conns[index as usize];
        let unsent = std::mem::take(&mut conn.unsent);
        let Some(fd) = conn.fd.take_if(|_| !unsent.is_empty()) else { return };
        let number = fd.as_raw_fd();
        let slot = self.lingering.insert(LingeringClose { fd, unsent });
        let word = Token::pack(kind::LINGERING, 0, slot);
        if self.poller.rename(number, WATCHED, word).is_err() {
            self.end_lingering(slot);
        }
    }

    pub(super) fn go_on_with_lingering(&mut self, slot: u32) {
        let Some(LingeringClose { fd, unsent }) = self.lingering.entry(slot) else { return };
        let result = write_all(fd, &mut self.core.outgoing, unsent, None, &mut false);
        if !result.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock) {
            self.end_lingering(slot);
        }
    }

    fn end_lingering(&mut self, slot: u32) {
        if let Some(mut lingering) = self.lingering.remove(slot) {
            self.core.outgoing.clear(&mut lingering.unsent);
        }
    }
}

/// Writes until the queue is empty or the kernel refuses. After a partial write it tries once more,
/// because only a refusal guarantees an event when there is room. Sets `is_stamped` if the kernel
/// stamps some of the bytes.
fn write_all(
    fd: &OwnedFd,
    outgoing: &mut Outgoing,
    queue: &mut Queue,
    mut stamps: Option<&mut Stamps>,
    is_stamped: &mut bool,
) -> io::Result<()> {
    while let Some(front) = outgoing.front(queue) {
        let with_stamp = stamps.as_ref().is_some_and(|stamps| stamps.requests_stamp());
        let written = if queue.is_single() && !with_stamp {
            retried(|| socket::send(fd, front))?
        } else {
            let control = if with_stamp { stamping::SEND_CONTROL.bytes() } else { &[] };
            let mut slices = [IoSlice::new(&[]); PIECES];
            let (count, _) = outgoing.slices(queue, &mut slices);
            retried(|| socket::send_vectored(fd, &slices[..count], control))?
        };
        outgoing.advance(queue, written);
        if let Some(stamps) = &mut stamps {
            *is_stamped |= stamps.sent(written, with_stamp);
        }
    }
    Ok(())
}

/// Repeats a call that a signal interrupted.
#[inline]
fn retried<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
