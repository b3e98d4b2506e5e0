//! Planned renewal: a connection that has reached its limit of requests or age takes no more
//! requests. It is renewed once all its responses have arrived. None of this is an error.

use weir_io::{ConnId, Nanos};

use super::{Action, ConnectionPool};
use crate::connection::State;

impl ConnectionPool {
    /// Counts a request against the limit of the socket of `conn`. A function of its own, so that
    /// unlimited connections pay nothing. A script's batch is not divided: its last requests may
    /// exceed the limit.
    #[inline(never)]
    pub(super) fn spend(&mut self, conn: ConnId) {
        let taken = &mut self.taken[conn.index()];
        *taken = taken.saturating_add(1);
        if *taken >= self.limits.requests_max {
            self.retire(conn);
        }
    }

    /// Marks `conn` as taking no more requests.
    pub(super) fn retire(&mut self, conn: ConnId) {
        self.connections[conn.index()].state = State::Retiring;
        self.ready.remove(conn);
    }

    /// Retires `conn`, which has reached its limit of age.
    pub(super) fn outlive(&mut self, conn: ConnId, now: Nanos) -> Action {
        self.retire(conn);
        if self.connections[conn.index()].load == 0 {
            return self.renew(conn, now);
        }
        // Its requests may time out; the timer checks that next.
        self.deadlines.arm(conn, now);
        Action::None
    }

    /// Ends the socket of `conn`, on which nothing is in flight, and queues the next one.
    pub(super) fn renew(&mut self, conn: ConnId, at: Nanos) -> Action {
        self.recorder.renewed();
        self.connections[conn.index()].end_as_planned();
        self.shut(conn, at);
        Action::Close(self.limits.renew_by)
    }
}
