//! Planned renewal: a connection that has reached its limit of requests or age takes no more
//! requests. It is renewed once all its responses have arrived. None of this is an error.

use weir_io::{Close, ConnId, Nanos};
use weir_result::{Closer, ConnectionPlan};

use super::{Action, ConnectionPool};
use crate::connection::State;

/// Limits of a socket's requests and age, and the requests that the sockets have taken.
#[derive(Debug)]
pub(super) struct Renewal {
    /// Requests that a socket takes before it is renewed; [`u32::MAX`] for no limit.
    requests_max: u32,
    /// Greatest age of a socket that takes a request, in nanoseconds; [`u64::MAX`] for no limit.
    pub(super) lifetime_ns: u64,
    /// Method of closing a socket that is renewed.
    close: Close,
    /// Requests that each connection's socket has taken; empty if that is not limited.
    taken: Vec<u32>,
}

impl Renewal {
    /// Returns the limits of `plan`, for a worker with `connections` connections.
    pub(super) fn new(plan: &ConnectionPlan, connections: u32) -> Renewal {
        let requests_max = plan.requests_max().unwrap_or(u32::MAX);
        let counted = if requests_max < u32::MAX { connections } else { 0 };
        Renewal {
            requests_max,
            lifetime_ns: plan.lifetime_ns.unwrap_or(u64::MAX),
            close: match plan.close {
                Some(Closer::Client) => Close::Reset,
                _ => Close::Graceful,
            },
            taken: vec![0; counted as usize],
        }
    }

    /// True if the requests of a socket are limited.
    #[inline]
    pub(super) fn counts_requests(&self) -> bool {
        self.requests_max < u32::MAX
    }

    /// Counts from 0 again, for a new socket of `conn`.
    pub(super) fn opened(&mut self, conn: ConnId) {
        if let Some(taken) = self.taken.get_mut(conn.index()) {
            *taken = 0;
        }
    }
}

impl ConnectionPool {
    /// Counts a request against the limit of the socket of `conn`. A function of its own, so that
    /// unlimited connections pay nothing. A script's batch is not divided: its last requests may
    /// exceed the limit.
    #[inline(never)]
    pub(super) fn spend(&mut self, conn: ConnId, now: Nanos) {
        let taken = &mut self.renewal.taken[conn.index()];
        *taken = taken.saturating_add(1);
        if *taken >= self.renewal.requests_max {
            self.retire(conn, now);
        }
    }

    /// Marks `conn` as taking no more requests from `now` on.
    pub(super) fn retire(&mut self, conn: ConnId, now: Nanos) {
        self.connections[conn.index()].state = State::Retiring;
        self.ready.remove(conn);
        if self.limits.streams {
            self.record_capacity(conn, now);
        }
    }

    /// Retires `conn`, which has reached its limit of age.
    pub(super) fn outlive(&mut self, conn: ConnId, now: Nanos) -> Action {
        self.retire(conn, now);
        if self.connections[conn.index()].load == 0 {
            return self.renew(conn, now);
        }
        // Its requests may time out; the timer checks that next.
        self.deadlines.arm(conn, now);
        Action::None
    }

    /// Ends the socket of `conn`, on which nothing is in flight, and queues the next one.
    pub(super) fn renew(&mut self, conn: ConnId, at: Nanos) -> Action {
        // If the peer announced the end before its first response, the next socket has to wait.
        if !self.is_announced(conn) {
            self.recorder.renewed();
            self.connections[conn.index()].end_as_planned();
        }
        // A reset drops what was sent before.
        if self.renewal.close == Close::Graceful {
            self.layers.announce_close(conn);
        }
        self.shut(conn, at);
        Action::Close(self.renewal.close)
    }
}
