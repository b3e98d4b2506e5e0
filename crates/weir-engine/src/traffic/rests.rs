//! Connections that a script's `delay()` keeps idle, and until when.

use weir_io::{ConnId, Nanos};

use crate::deadlines::Deadlines;

/// The delays of one worker's connections. Kept apart from the deadlines of requests, of which a
/// busy connection has at most one in a timeout's span.
#[derive(Debug)]
pub(crate) struct Rests {
    /// By connection; [`Nanos::MAX`] if it is not delayed. Empty if no script delays.
    until: Vec<Nanos>,
    deadlines: Deadlines,
}

impl Rests {
    /// For so many connections that may be delayed.
    pub(super) fn new(connections: u32) -> Rests {
        let until = vec![Nanos::MAX; connections as usize];
        Rests { until, deadlines: Deadlines::new(connections) }
    }

    /// When the next delay ends, at the earliest.
    pub(crate) fn next(&self) -> Nanos {
        self.deadlines.next()
    }

    /// Delays `conn` until `until`.
    pub(super) fn begin(&mut self, conn: ConnId, until: Nanos) {
        self.until[conn.index()] = until;
        self.deadlines.arm(conn, until);
    }

    /// The socket of `conn` is gone, and its delay with it.
    pub(super) fn cancel(&mut self, conn: ConnId) {
        if let Some(until) = self.until.get_mut(conn.index()) {
            *until = Nanos::MAX;
        }
    }

    /// Removes a connection whose delay is over at `now`.
    pub(super) fn take_due(&mut self, now: Nanos) -> Option<ConnId> {
        while let Some(conn) = self.deadlines.take_due(now) {
            match self.until[conn.index()] {
                // The delay was that of a socket that is gone.
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
