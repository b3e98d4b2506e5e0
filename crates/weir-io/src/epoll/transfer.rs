//! Reads, writes and closing of the epoll backend's connections.

use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd, OwnedFd};

use super::{Epoll, RawEvent, State, WATCHED, kind, saturated};
use crate::limits::{DISCARD_MAX, DISCARD_MIN, HEAD_BYTES, PIECES};
use crate::outgoing::{Outgoing, Queue};
use crate::raw_event::RawEventKind;
use crate::socket;
use crate::stamping;
use crate::stamps::Stamps;
use crate::token::Token;
use crate::wall::WallTime;
use crate::{Close, Segment};

/// A socket closed by its owner with bytes still unsent, which are sent first.
pub(super) struct LingeringClose {
    fd: OwnedFd,
    unsent: Queue,
}

impl Epoll {
    /// Reads a connection once.
    pub(super) fn read(&mut self, index: u32) -> Option<RawEvent> {
        let conn = &mut self.conns[index as usize];
        let fd = conn.fd.as_ref()?;
        conn.again = false;
        if conn.ended {
            // The stream has ended, so a failed send can be reported now.
            return self.fail_if_unsent(index);
        }
        let discard = u64::from(conn.discard);
        let skips = conn.is_tcp && discard >= DISCARD_MIN;
        let head_only = conn.discards && discard < DISCARD_MIN;
        let mut stamp = None;
        let (asked, result) = if conn.stamps.is_some() {
            let received = retried(|| stamping::recv(fd, &mut self.buffer));
            (
                self.buffer.len(),
                received.map(|(read, read_stamp)| {
                    stamp = read_stamp;
                    read
                }),
            )
        } else if skips {
            let asked = discard.min(DISCARD_MAX) as usize;
            (asked, retried(|| socket::recv_discard(fd, asked)))
        } else {
            let asked = if head_only { HEAD_BYTES as usize } else { self.buffer.len() };
            (asked, retried(|| socket::recv(fd, &mut self.buffer[..asked])))
        };
        match result {
            Ok(0) => {
                conn.ended = true;
                self.fail_if_unsent(index)
                    .or_else(|| Some(self.raw_event(index, RawEventKind::Closed)))
            }
            Ok(read) => {
                conn.discard = conn.discard.saturating_sub(saturated(read));
                // A short read of a stream has emptied it, and new bytes cause a new edge
                // (epoll(7)). But an end that has already been reported causes none.
                let more = read == asked || conn.drain || conn.send_error != 0;
                if more {
                    self.read_again(index);
                }
                if self.conns[index as usize].stamps.is_some() {
                    return self.received_stamped(index, read, stamp);
                }
                let received = RawEventKind::Received(read, None);
                let what = if skips { RawEventKind::Discarded(read as u64) } else { received };
                Some(self.raw_event(index, what))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                conn.drain = false;
                self.fail_if_unsent(index)
            }
            Err(error) => Some(self.fail(index, error)),
        }
    }

    /// Queues the events of a read from a stamped connection: transmissions so far, then the bytes.
    fn received_stamped(
        &mut self,
        index: u32,
        read: usize,
        stamp: Option<WallTime>,
    ) -> Option<RawEvent> {
        let conn = &mut self.conns[index as usize];
        let (stamps, generation) = (conn.stamps.as_mut()?, conn.generation);
        stamps.collect(conn.fd.as_ref()?);
        let at = self.wall.look();
        stamps.tell(&self.wall, at, (read, stamp), |what| {
            self.parked.push_back(RawEvent { conn: index, generation, at, what });
        });
        self.parked.pop_front()
    }

    /// Schedules another read of a connection, without a new event from the kernel.
    pub(super) fn read_again(&mut self, index: u32) {
        let conn = &mut self.conns[index as usize];
        if !conn.again {
            conn.again = true;
            self.again.push_back(index);
        }
    }

    /// Reports the failed send of a connection on which nothing is left to read.
    fn fail_if_unsent(&mut self, index: u32) -> Option<RawEvent> {
        let errno = self.conns[index as usize].send_error;
        (errno != 0).then(|| self.fail(index, io::Error::from_raw_os_error(errno.into())))
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

    /// Schedules a connection for the next flush.
    pub(super) fn write_later(&mut self, index: u32) {
        let conn = &mut self.conns[index as usize];
        if !conn.dirty {
            conn.dirty = true;
            self.unflushed.push(index);
        }
    }

    /// Writes a connection's queue, as far as the kernel takes it.
    pub(super) fn write(&mut self, index: u32) {
        let conn = &mut self.conns[index as usize];
        let Some(fd) = &conn.fd else { return };
        let (outgoing, stamps) = (&mut self.outgoing, conn.stamps.as_deref_mut());
        let mut is_stamped = false;
        let result = write_all(fd, outgoing, &mut conn.unsent, stamps, &mut is_stamped);
        if is_stamped {
            self.transmitting.push(index);
        }
        match result {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.block(index),
            Err(error) => {
                self.count_unsent(index);
                let conn = &mut self.conns[index as usize];
                self.outgoing.clear(&mut conn.unsent);
                // Responses may have arrived before the failure: they are returned first.
                let errno = error.raw_os_error().unwrap_or(libc::EIO);
                conn.send_error = u16::try_from(errno).unwrap_or(u16::MAX);
                self.read_again(index);
            }
        }
    }

    /// Records that a socket has no room.
    fn block(&mut self, index: u32) {
        let conn = &mut self.conns[index as usize];
        conn.blocked = true;
        // Stamped connections are only watched for room while they lack it.
        if let (Some(_), Some(fd)) = (&conn.stamps, &conn.fd) {
            let word = Token::new(kind::CONN, conn.generation, index).pack();
            let watched = self.poller.rename(fd.as_raw_fd(), WATCHED, word);
            debug_assert!(watched.is_ok(), "a watched descriptor can be watched for more");
        }
    }

    /// Closes a connection on the owner's request.
    pub(super) fn part(&mut self, index: u32, how: Close) {
        self.failing.forget(index);
        self.tally(index, false);
        let spent = self.spend(index, how);
        let conn = &mut self.conns[index as usize];
        if let Some(fd) = &conn.fd {
            match how {
                Close::Graceful => {
                    if conn.state == State::Open && !conn.unsent.is_empty() {
                        self.write(index);
                    }
                }
                // If this fails, the close is graceful, which is acceptable.
                Close::Reset => drop(socket::set_reset_on_close(fd)),
            }
        }
        let conn = &mut self.conns[index as usize];
        if how == Close::Graceful && conn.state == State::Open && !conn.unsent.is_empty() {
            let unsent = std::mem::replace(&mut conn.unsent, Queue::EMPTY);
            if let Some(fd) = conn.fd.take() {
                self.part_later(fd, unsent);
            }
        }
        self.shut(index);
        self.conns[index as usize].fd = spent;
    }

    /// Ends the connection on its socket, and takes out the socket if it can connect again. A new
    /// socket would cost a tenth more per connection. The socket stays watched, under the word of
    /// the old connection.
    fn spend(&mut self, index: u32, how: Close) -> Option<OwnedFd> {
        let conn = &mut self.conns[index as usize];
        if conn.family == 0 || conn.state != State::Open {
            return None;
        }
        conn.fd.take_if(|fd| match how {
            Close::Reset => socket::disconnect(fd).is_ok(),
            Close::Graceful if !conn.unsent.is_empty() => false,
            Close::Graceful => conn.ended && socket::end_for_another(fd).is_ok(),
        })
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
    fn count_unsent(&mut self, index: u32) {
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
        self.outgoing.clear(&mut conn.unsent);
        // Closing removes it from the epoll set, as there is no other handle on it.
        conn.fd = None;
        conn.state = State::Closed;
        conn.again = false;
        if std::mem::take(&mut conn.numbered) {
            self.numbers.give_back(index);
        }
    }

    /// Keeps a closed socket until the kernel has taken the rest of its bytes.
    fn part_later(&mut self, fd: OwnedFd, unsent: Queue) {
        let number = fd.as_raw_fd();
        let slot = self.lingering.insert(LingeringClose { fd, unsent });
        let word = Token::new(kind::LINGERING, 0, slot).pack();
        if self.poller.rename(number, WATCHED, word).is_err() {
            self.end_lingering(slot);
        }
    }

    pub(super) fn go_on_with_lingering(&mut self, slot: u32) {
        let Some(LingeringClose { fd, unsent }) = self.lingering.entry(slot) else { return };
        let result = write_all(fd, &mut self.outgoing, unsent, None, &mut false);
        if !result.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock) {
            self.end_lingering(slot);
        }
    }

    fn end_lingering(&mut self, slot: u32) {
        if let Some(mut lingering) = self.lingering.remove(slot) {
            self.outgoing.clear(&mut lingering.unsent);
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
        let asks = stamps.as_ref().is_some_and(|stamps| stamps.asks());
        let written = if queue.is_single() && !asks {
            retried(|| socket::send(fd, front))?
        } else {
            let control = if asks { stamping::ASK.bytes() } else { &[] };
            let mut slices = [IoSlice::new(&[]); PIECES];
            let (count, _) = outgoing.slices(queue, &mut slices);
            retried(|| socket::send_vectored(fd, &slices[..count], control))?
        };
        outgoing.advance(queue, written);
        if let Some(stamps) = &mut stamps {
            *is_stamped |= stamps.sent(written, asks);
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
