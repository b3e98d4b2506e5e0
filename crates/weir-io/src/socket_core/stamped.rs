//! Stamped connections: set-up, transmit stamps, and the order of their events.

use super::SocketCore;
use crate::backend::ConnId;
use crate::raw_event::{Filled, RawEvent};
use crate::slab::NONE;
use crate::stamping;
use crate::time::Nanos;
use crate::wall::WallTime;

impl<C: Default> SocketCore<C> {
    /// Requests time stamps before anything is sent; a kernel without them is not an error.
    pub(super) fn begin_stamps(&mut self, index: u32) {
        let conn = &mut self.conns[index as usize];
        let (Some(fd), Some(stamps)) = (&conn.fd, self.stamps.states.entry(conn.stamps)) else {
            return;
        };
        if stamping::enable(fd, stamps.every_send).is_err() {
            self.stamps.states.remove(std::mem::replace(&mut conn.stamps, NONE));
            return;
        }
        // The first reading of the wall clock must precede the first stamp.
        self.stamps.wall.look();
    }

    /// Reads the error queues of connections that have just sent. On loopback the stamp is there as
    /// soon as the send returns. A stamp left there would wake the engine for nothing.
    #[inline]
    pub(crate) fn collect_transmitted(&mut self) {
        for index in self.stamps.transmitting.drain(..) {
            let conn = &self.conns[index as usize];
            if let (Some(stamps), Some(fd)) = (self.stamps.states.entry(conn.stamps), &conn.fd) {
                stamps.collect(fd);
            }
        }
    }

    /// Queues the transmissions so far and the bytes received as events, and returns the first. The
    /// bytes arrived with `stamp` and were received at `at`, or just now.
    pub(crate) fn received_stamped(
        &mut self,
        index: u32,
        bytes: Filled,
        stamp: Option<WallTime>,
        at: Option<Nanos>,
    ) -> Option<RawEvent> {
        let state = &self.conns[index as usize];
        let stamps = self.stamps.states.entry(state.stamps)?;
        let generation = state.generation;
        stamps.collect(state.fd.as_ref()?);
        let now = self.stamps.wall.look();
        let at = at.unwrap_or(now);
        stamps.report(&self.stamps.wall, at, bytes, stamp, |kind| {
            self.parked.push_back(RawEvent { conn: ConnId(index), generation, at, kind });
        });
        self.parked.pop_front()
    }
}
