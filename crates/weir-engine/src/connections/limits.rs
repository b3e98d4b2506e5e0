//! Limits of a worker's connections, derived from the job's plan and the script's callbacks alone.

use weir_http::Interest;
use weir_io::Nanos;
use weir_script::Calls;

use super::connection::Connection;
use crate::job::Job;

/// Connections of a worker from which on they lease their protocol and request slots, so that idle
/// ones take next to no memory.
const LEASED_FROM: u32 = 512;

/// The time at which a connection takes further requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refill {
    /// As soon as it has room for one. The least loaded connection is next.
    One,
    /// As soon as half of its slots are free: it is filled before the next connection gets a
    /// request. In a closed loop every slot is taken at once anyway, and so requests leave in
    /// sends of many.
    Half,
    /// Once it has all responses to its last batch of requests.
    Batch,
}

/// Limits of a worker's connections.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionLimits {
    /// Connections of this worker at most.
    pub(crate) connections: u32,
    /// Of `connections`: those that are opened before the load. The others are opened during it,
    /// if slots lack a connection or when their time comes.
    pub(crate) initial: u32,
    /// Requests in flight per connection; a script's string may need more.
    pub(crate) depth: u16,
    /// Longest wait for a response, in nanoseconds.
    timeout_ns: u64,
    /// Longest wait for a connection, in nanoseconds.
    pub(crate) connect_timeout_ns: u64,
    pub(crate) refill: Refill,
    /// True if a response after the timeout is still accepted.
    pub(crate) late_responses: bool,
    /// True if connections lease their protocol and request slots only while requests are in
    /// flight.
    pub(crate) leases: bool,
}

impl ConnectionLimits {
    /// Returns the limits of worker `number` of `job`, with the functions that its script has, if
    /// there is one. `keeps` is the part of responses that is kept; requests are independent
    /// `streams` or not.
    pub(crate) fn new(
        job: &Job,
        number: u32,
        script: Option<&Calls>,
        keeps: Interest,
        streams: bool,
    ) -> ConnectionLimits {
        let load = &job.plan.load;
        let connections = job.own_connections_max(number);
        ConnectionLimits {
            connections,
            initial: job.partition(number).own_below(load.connections.first()),
            depth: job.plan.depth(),
            timeout_ns: load.timeout_ns,
            connect_timeout_ns: load.connect_timeout_ns,
            refill: match script {
                Some(calls) if calls.delay => Refill::Batch,
                // Requests of a string are independent streams.
                _ if streams => Refill::One,
                Some(calls) if calls.request || calls.takes_connections => Refill::Batch,
                _ if job.plan.has_due_times() => Refill::One,
                _ => Refill::Half,
            },
            late_responses: job.ending.late_responses,
            // A script needs slots for a whole batch, what is kept of responses is read and dropped
            // after they have arrived, and a multiplexed protocol has state between requests: their
            // connections keep it.
            leases: connections >= LEASED_FROM
                && script.is_none()
                && keeps == Interest::Status
                && !streams,
        }
    }

    /// Returns the time at which a request sent at `sent_at` is overdue.
    #[inline]
    pub(crate) fn overdue_at(&self, sent_at: Nanos) -> Nanos {
        sent_at.after(self.timeout_ns)
    }

    /// Returns the time before which, and at which, a request was sent that is overdue at `now`.
    pub(crate) fn overdue_before(&self, now: Nanos) -> Nanos {
        now.before(self.timeout_ns)
    }

    /// Returns the longest time without a response during which one may still come: a request and
    /// a connect together.
    pub(crate) fn patience_ns(&self) -> u64 {
        self.timeout_ns + self.connect_timeout_ns
    }

    /// True if all connections are opened before the load.
    pub(crate) fn are_fixed(&self) -> bool {
        self.initial == self.connections
    }

    /// Returns the state of connection `number` before it has a socket. The start of the load waits
    /// for the initial ones alone.
    pub(super) fn connection(&self, number: u32) -> Connection {
        Connection::new(self.depth, number < self.initial)
    }
}
