//! Planned renewal: a connection that has reached its limit of requests or age takes no more
//! requests. It is renewed once all its responses have arrived. None of this is an error.

use weir_io::{Close, ConnId};
use weir_result::{Closer, ConnectionPlan};

/// Limits of a socket's requests and age, and the requests that the sockets have taken.
#[derive(Debug)]
pub(crate) struct Renewal {
    /// Requests that a socket takes before it is renewed; [`u32::MAX`] for no limit.
    requests_max: u32,
    /// Greatest age of a socket that takes a request, in nanoseconds; [`u64::MAX`] for no limit.
    pub(crate) lifetime_ns: u64,
    /// Method of closing a socket that is renewed.
    pub(crate) close: Close,
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
    pub(crate) fn counts_requests(&self) -> bool {
        self.requests_max < u32::MAX
    }

    /// Returns the number of requests that the socket of `conn` takes before it is renewed.
    pub(crate) fn left(&self, conn: ConnId) -> u32 {
        self.taken.get(conn.index()).map_or(u32::MAX, |taken| self.requests_max - taken)
    }

    /// Counts from 0 again, for a new socket of `conn`.
    pub(super) fn opened(&mut self, conn: ConnId) {
        if let Some(taken) = self.taken.get_mut(conn.index()) {
            *taken = 0;
        }
    }

    /// Counts a request of the socket of `conn`. Returns true if the limit is reached.
    pub(super) fn spend(&mut self, conn: ConnId) -> bool {
        let taken = &mut self.taken[conn.index()];
        *taken = taken.saturating_add(1);
        *taken >= self.requests_max
    }
}
