//! Limits of a worker's connections, derived from the job's plan and the script's callbacks alone.

use weir_http::Interest;
use weir_io::Nanos;
use weir_script::Calls;

use super::connection::Connection;
use crate::job::Job;

/// Connections of a worker from which on they lease their protocol and request slots, so that idle
/// ones take next to no memory.
const LEASED_FROM: u32 = 512;

/// Limits and options of a worker's connections.
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
    /// True if slots have intended times of their own, and are dispatched one by one.
    pub(crate) is_open_loop: bool,
    /// True if the backend may discard bodies.
    pub(crate) discard: bool,
    /// True if a connection is filled before the next one gets a request, and again when half of
    /// its slots are free. In a closed loop every slot is taken at once anyway, and so requests
    /// leave in sends of many.
    pub(crate) fill: bool,
    /// True if a connection takes the next batch of requests once it has all responses to the last
    /// one.
    pub(crate) batches: bool,
    /// True if the script's `delay()` is called before a connection takes a request.
    pub(crate) delays: bool,
    /// Part of each response that the script reads; `None` if it reads none.
    pub(crate) shows: Option<Interest>,
    /// True if responses are checked against expectations.
    pub(crate) checks: bool,
    /// Part of each response that is kept, for the script or for the expectations.
    pub(crate) keeps: Interest,
    /// True if responses are split into messages.
    pub(crate) messages: bool,
    /// True if the peer may send messages by itself.
    pub(crate) pushes: bool,
    /// True if a response after the timeout is still accepted.
    pub(crate) late_responses: bool,
    /// True if connections lease their protocol and request slots only while requests are in
    /// flight.
    pub(crate) leases: bool,
}

impl ConnectionLimits {
    /// Returns the limits of worker `number` of `job`, whose requests are independent streams or
    /// not.
    pub(crate) fn new(
        job: &Job,
        number: u32,
        script: Option<Calls>,
        streams: bool,
    ) -> ConnectionLimits {
        let connections = job.own_connections_max(number);
        let calls = script.unwrap_or_default();
        let shows = shown(&calls);
        let checks = job.expectations.as_ref().map(|checks| checks.interest());
        let messages = job.messages.as_ref().map(|_| Interest::Head);
        let splits = job.messages.as_ref().is_some_and(|rules| rules.format.is_some());
        let keeps = shows.max(checks).max(messages).unwrap_or_default();
        let is_read = shows.is_some() || keeps != Interest::Status;
        ConnectionLimits {
            connections,
            initial: job.partition(number).own_below(job.plan.load.connections.first()),
            depth: job.plan.depth(),
            timeout_ns: job.plan.load.timeout_ns,
            connect_timeout_ns: job.plan.load.connect_timeout_ns,
            is_open_loop: job.plan.load.is_open_loop(),
            discard: job.discard && job.tls.is_none() && !is_read && !streams,
            fill: !job.plan.load.is_open_loop() && !streams,
            // Requests of a string are independent streams.
            batches: calls.delay || (!streams && (calls.request || calls.takes_connections)),
            delays: calls.delay,
            shows,
            checks: checks.is_some() || splits,
            keeps,
            messages: messages.is_some(),
            pushes: job.plan.websocket().is_some(),
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

/// Returns the part of each response that a script reads; `None` if it reads none.
fn shown(calls: &Calls) -> Option<Interest> {
    calls.response.map(|wants| match (wants.fields, wants.body) {
        (_, true) => Interest::Body,
        (true, false) => Interest::Head,
        (false, false) => Interest::Status,
    })
}
