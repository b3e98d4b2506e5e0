//! The queue of connections that are to be opened, and when the next of them may be.

use weir_io::{ConnId, Nanos};

use super::Traffic;
use crate::connection::State;

impl Traffic {
    /// Puts `conn` in the queue of connections to be opened.
    pub(super) fn queue(&mut self, conn: ConnId, at: Nanos) {
        if let Some(pace) = &mut self.pace
            && self.to_open.is_empty()
        {
            pace.skip_to(at);
        }
        self.connections[conn.index()].state = State::Queued;
        self.to_open.push_back(conn);
    }

    /// When the next connection may be opened, where that is a matter of time.
    pub(crate) fn opens_at(&self) -> Nanos {
        match &self.pace {
            Some(pace) if !self.to_open.is_empty() => pace.next(),
            _ => Nanos::MAX,
        }
    }

    /// The next connection to open, now connecting.
    pub(crate) fn take_to_open(&mut self, now: Nanos) -> Option<ConnId> {
        if self.pace.as_ref().is_some_and(|pace| pace.next() > now) {
            return None;
        }
        let conn = self.to_open.pop_front()?;
        if let Some(pace) = &mut self.pace {
            pace.take();
        }
        self.connections[conn.index()].state = State::Connecting { since: now };
        self.connecting += 1;
        self.deadlines.arm(conn, now.after(self.limits.connect_timeout_ns));
        Some(conn)
    }
}
