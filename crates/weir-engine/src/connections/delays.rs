//! Connections that a script's `delay()` keeps idle, and the ends of their delays.

use weir_io::{ConnId, Nanos};

use super::deadlines::Deadlines;

/// The delays of one worker's connections. They are kept apart from the timers of requests, of
/// which a busy connection has at most one per timeout span.
#[derive(Debug)]
pub(super) struct Delays {
    /// End of the delay by connection; [`Nanos::MAX`] if it is not delayed. Empty if no script
    /// delays.
    until: Vec<Nanos>,
    deadlines: Deadlines,
}

impl Delays {
    /// Returns the delays of `connections` connections; none is delayed yet.
    pub(super) fn new(connections: u32) -> Delays {
        let until = vec![Nanos::MAX; connections as usize];
        Delays { until, deadlines: Deadlines::new(connections) }
    }

    /// True if a script may delay connections.
    #[inline(always)]
    pub(super) fn are_possible(&self) -> bool {
        !self.until.is_empty()
    }

    /// Returns a lower bound of the end of the next delay.
    #[inline]
    pub(super) fn next(&self) -> Nanos {
        self.deadlines.next()
    }

    /// Delays `conn` until `until`.
    pub(super) fn begin(&mut self, conn: ConnId, until: Nanos) {
        self.until[conn.index()] = until;
        self.deadlines.arm(conn, until);
    }

    /// Cancels the delay of `conn`, whose socket is gone.
    pub(super) fn cancel(&mut self, conn: ConnId) {
        if let Some(until) = self.until.get_mut(conn.index()) {
            *until = Nanos::MAX;
        }
    }

    /// Removes a connection whose delay is over at `now`.
    pub(super) fn take_due(&mut self, now: Nanos) -> Option<ConnId> {
        while let Some(conn) = self.deadlines.take_due(now) {
            match self.until[conn.index()] {
                // The delay belonged to a socket that is gone.
                Nanos::MAX => {}
                until if until > now => self.deadlines.arm(conn, until),
                _ => {
                    self.until[conn.index()] = Nanos::MAX;
                    return Some(conn);
                }
            }
        }
        None
    }
}
