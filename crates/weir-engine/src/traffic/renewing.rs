//! Planned ends: a connection that has carried what it may, or is as old as it may be, takes no
//! more requests, and is renewed once all that it carries is answered. None of this is an error.

use weir_io::{ConnId, Nanos};

use super::{Action, Traffic};
use crate::connection::State;

impl Traffic {
    /// Counts a request against those that the socket of `conn` may take. Apart, so that it costs
    /// others nothing. A script's batch is not divided: its last requests may be too many.
    #[inline(never)]
    pub(super) fn spend(&mut self, conn: ConnId) {
        let taken = &mut self.taken[conn.index()];
        *taken = taken.saturating_add(1);
        if *taken >= self.limits.requests_max {
            self.retire(conn);
        }
    }

    /// `conn` takes no more requests.
    fn retire(&mut self, conn: ConnId) {
        self.connections[conn.index()].state = State::Retiring;
        self.lanes.remove(conn);
    }

    /// `conn` is as old as it may be.
    pub(super) fn outlive(&mut self, conn: ConnId, now: Nanos) -> Action {
        self.retire(conn);
        if self.connections[conn.index()].load == 0 {
            return self.renew(conn, now);
        }
        // Its requests may time out, which is looked at next.
        self.deadlines.arm(conn, now);
        Action::None
    }

    /// Ends the socket of `conn`, on which nothing is in flight; another one is opened at once.
    pub(super) fn renew(&mut self, conn: ConnId, at: Nanos) -> Action {
        self.recorder.renewed();
        self.connections[conn.index()].end_as_planned();
        self.shut(conn, at);
        Action::Close(self.limits.renew_by)
    }
}
