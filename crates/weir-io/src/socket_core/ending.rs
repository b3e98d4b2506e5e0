//! Ends of connections: failures, closes, and the count of both.

use std::io;
use std::os::fd::OwnedFd;

use super::{ConnState, SocketCore};
use crate::backend::{Close, Segment};
use crate::raw_event::{Filled, RawEvent, RawEventKind};
use crate::socket;
use crate::time::Nanos;

impl<C: Default> SocketCore<C> {
    /// Counts a connection that ends because of an error, and returns the event. The engine closes
    /// the socket.
    pub(crate) fn fail(&mut self, index: u32, error: io::Error, at: Nanos) -> RawEvent {
        let raw_event = self.raw_event(index, RawEventKind::Failed(error), at);
        self.count_unsent(index);
        self.failing.report(index);
        self.tally(index, true);
        raw_event
    }

    /// Counts a connection that ends on its owner's request. Returns its socket if that can connect
    /// again; `is_free` is true if the engine has no request on it. The engine closes any other.
    pub(crate) fn part(&mut self, index: u32, how: Close, is_free: bool) -> Option<OwnedFd> {
        self.failing.forget(index);
        self.tally(index, false);
        let conn = &mut self.conns[index as usize];
        let spent = if is_free { conn.spend(how) } else { None };
        if let (Close::Reset, Some(fd)) = (how, &conn.fd) {
            // If this fails, the close is graceful, which is acceptable.
            let _graceful = socket::set_reset_on_close(fd);
        }
        spent
    }

    /// Drops a connection's unsent bytes, releases its number and returns its socket.
    pub(crate) fn shut(&mut self, index: u32) -> Option<OwnedFd> {
        let conn = &mut self.conns[index as usize];
        self.outgoing.clear(&mut conn.unsent);
        conn.state = ConnState::Closed;
        if std::mem::take(&mut conn.numbered) {
            self.numbers.give_back(index);
        }
        conn.fd.take()
    }

    /// Drops the events of a connection that have not been returned, and passes on the buffers of
    /// their bytes.
    #[inline]
    pub(crate) fn withdraw(&mut self, index: u32, mut unread: impl FnMut(Filled)) {
        let found = self.found.take_if(|found| found.conn.0 == index);
        // All parked events come from one receive, so from one connection.
        let is_parked = self.parked.front().is_some_and(|parked| parked.conn.0 == index);
        let parked = self.parked.drain(if is_parked { 0 } else { self.parked.len() }..);
        for withdrawn in found.into_iter().chain(parked) {
            if let RawEventKind::Received { bytes, .. } = withdrawn.kind {
                unread(bytes);
            }
        }
    }

    /// Records a failed send. Responses may have arrived before it: they are returned first.
    pub(crate) fn send_failed(&mut self, index: u32, errno: i32) {
        self.count_unsent(index);
        let conn = &mut self.conns[index as usize];
        self.outgoing.clear(&mut conn.unsent);
        conn.send_error = u8::try_from(errno).unwrap_or(u8::MAX);
        conn.drains = true;
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
}
