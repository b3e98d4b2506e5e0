//! Measurements as the engine counts them: plain counters and histograms that add up.
//!
//! Each worker makes one; [`Measurements::merge`] adds them. Nothing here is derived: rates,
//! percentiles and text are derived from these when the document is made.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::errno;
use crate::evidence::{Departures, Occupancy, Stamped, TcpUsage, WorkerUsage};
use crate::histogram::{Histogram, SparseHistogram};
use crate::script_usage::ScriptUsage;

/// Measurements of one worker, or of several after [`Measurements::merge`].
#[derive(Clone, Debug, Default)]
pub struct Measurements {
    /// |M|: measured slots. Open loop: from the plan's formula, not from counting. Closed loop:
    /// dispatches in the window, counted at dispatch.
    pub planned: u64,
    /// Outcomes of the slots of M; they add up to `planned`.
    pub outcomes: Outcomes,
    /// Responses of M by status code.
    pub status: BTreeMap<u16, u64>,
    /// Slots of M that ended as `transport_error`, by kind; they add up to that class.
    pub errors: BTreeMap<ErrorKind, u64>,
    /// Requests put on the wire.
    pub sent: Sent,
    /// `Te − T0`. In a closed loop the same as `service_time`.
    pub response_time: ByOutcome,
    /// `Te − Ts`; slots never sent have none.
    pub service_time: ByOutcome,
    /// `Ts − T0` of every slot of M that was sent (`ok`), and its bound for those never sent
    /// (`censored`). Empty in a closed loop.
    pub send_lag: ByOutcome,
    /// `Ts − max(T0, freed_at)` of every slot of M that was sent: the client's part of the lag.
    pub sched_lag: Histogram,
    /// `max(0, freed_at − T0)` of every slot of M that was sent: waiting for a busy connection.
    pub connection_wait: Histogram,
    /// `Te − T0 − sched_lag` of the `ok` slots: the response time without the client's lateness.
    /// Empty in a closed loop, which has no plan.
    pub unlagged: Histogram,
    /// Times from kernel time stamps, of a sample of the `ok` slots.
    pub stamped: Stamped,
    /// Sends per millisecond. Empty in a closed loop.
    pub departures: Departures,
    /// Little's law, counted twice.
    pub occupancy: Occupancy,
    /// `Tf − Ts` of the `ok` slots.
    pub first_byte: Histogram,
    /// Duration of every successful connect, renewals and warm-up included.
    pub connect: Histogram,
    /// Of `connect`: connects before the schedule's start.
    pub connect_setup: Histogram,
    /// Of `connect`: connects up inside the window.
    pub connect_window: Histogram,
    /// The window in equal parts by `T0`.
    pub slices: Vec<Slice>,
    /// Counts inside `[t0, t1)`, whichever slots they belong to.
    pub window: Window,
    /// Of the members of M: slots without a response within the timeout, whatever their class. More
    /// than `outcomes.timed_out` if the plan awaits late responses.
    pub overdue: u64,
    /// Completions per second of each worker in spans of 100 ms inside the window, idle ones
    /// included; the unit is 1/s, not ns. Empty unless requested.
    pub thread_rates: Histogram,
    /// `Te − T0` of the last response of each batch of requests that were sent as one. Empty unless
    /// requested.
    pub batch_time: Histogram,
    /// Duration of every successful TLS handshake, renewals and warm-up included.
    pub tls_handshake: Histogram,
    /// Usage of the scripts, if there was one.
    pub script: Option<ScriptUsage>,
    /// Connections: requested, opened, renewed, failed.
    pub connections: Connections,
    /// Kernel counters of the load's TCP sockets.
    pub tcp: TcpUsage,
    /// Outcomes of each destination's share, if there are several destinations.
    pub destinations: Vec<DestinationCounts>,
    /// Phases as the workers observed them, one entry for each.
    pub workers: Vec<WorkerPhases>,
    /// The time series.
    pub intervals: Vec<Interval>,
    /// Interim (1xx) responses, which end no request.
    pub interim_responses: u64,
    /// True if the warm-up waited for a steady load and ended at its time limit instead.
    pub is_unsettled: bool,
    /// True if a signal ended the run.
    pub interrupted: bool,
}

/// Counts of the six classes (METHOD 1.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// Complete responses that count as success (by default a status below 400).
    pub ok: u64,
    /// Complete responses that do not count as success.
    pub bad_response: u64,
    /// Slots that ended without a complete response: reset, closed, malformed.
    pub transport_error: u64,
    /// Slots without a complete response within the timeout.
    pub timed_out: u64,
    /// Slots sent, and still without a response when the run ended.
    pub in_flight_at_end: u64,
    /// Slots due, and never sent.
    pub never_sent: u64,
}

impl Outcomes {
    /// Returns the sum of the six classes, which must equal the planned count.
    pub fn total(&self) -> u64 {
        self.ok
            + self.bad_response
            + self.transport_error
            + self.timed_out
            + self.in_flight_at_end
            + self.never_sent
    }
}

/// Distribution of one time over slots, by outcome.
#[derive(Clone, Debug, Default)]
pub struct ByOutcome {
    /// `ok` slots, exact.
    pub ok: Histogram,
    /// `bad_response` slots, exact.
    pub bad: Histogram,
    /// `transport_error` slots: their age at the failure.
    pub failed_at: Histogram,
    /// `timed_out`, `in_flight_at_end` and `never_sent` slots: their age, a lower bound.
    pub censored: Histogram,
}

/// Reason why a slot ended as `transport_error`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorKind {
    /// The peer closed before the first byte of the response.
    ClosedBeforeAnswer,
    /// The peer closed inside the response.
    ClosedInAnswer,
    /// The response broke HTTP; the stable code of the rule it broke.
    Protocol(&'static str),
    /// A system call failed with this errno (errno(3)).
    Errno(i32),
    /// TLS failed; a stable code.
    Tls(&'static str),
}

impl ErrorKind {
    /// Returns the name in a document: `closed_before_answer`, `ECONNRESET`, `protocol_bad_chunk`,
    /// `errno_999`.
    pub fn name(&self) -> String {
        match self {
            ErrorKind::ClosedBeforeAnswer => "closed_before_answer".to_owned(),
            ErrorKind::ClosedInAnswer => "closed_in_answer".to_owned(),
            ErrorKind::Protocol(rule) => format!("protocol_{rule}"),
            ErrorKind::Tls(code) => format!("tls_{code}"),
            ErrorKind::Errno(number) => {
                let name = errno::name(*number);
                if name.starts_with('E') { name } else { format!("errno_{name}") }
            }
        }
    }
}

/// Connections: requested, opened, renewed, failed.
#[derive(Clone, Debug, Default)]
pub struct Connections {
    /// Connections requested.
    pub asked: u64,
    /// Of `asked`: open at t0.
    pub open_at_t0: u64,
    /// Greatest number open at once.
    pub open_max: u64,
    /// Successful connects over the whole run.
    pub connects: u64,
    /// Connections that the peer closed, cleanly and outside a response.
    pub closed_by_peer: u64,
    /// Connections that this side closed by plan.
    pub renewed: u64,
    /// Connections that failed.
    pub failures: BTreeMap<FailureKind, u64>,
}

/// Outcomes of one destination's share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DestinationCounts {
    /// Successful connects over the whole run.
    pub connects: u64,
    /// Connects that failed.
    pub connects_failed: u64,
    /// Connections that failed after they were up.
    pub connections_failed: u64,
    /// Slots of M that ended as `ok`.
    pub ok: u64,
    /// Slots of M that ended as `bad_response`.
    pub bad_response: u64,
    /// Slots of M that ended as `transport_error`.
    pub transport_error: u64,
    /// Slots of M that ended as `timed_out`.
    pub timed_out: u64,
    /// Slots of M that ended as `in_flight_at_end`.
    pub in_flight_at_end: u64,
}

impl DestinationCounts {
    /// Returns the number of requests, which saturates: a document may hold any counts.
    pub fn requests(&self) -> u64 {
        let classes = [self.ok, self.bad_response, self.transport_error, self.timed_out];
        classes.into_iter().fold(self.in_flight_at_end, u64::saturating_add)
    }
}

/// Phase and cause of a failed connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FailureKind {
    /// Phase in which it failed.
    pub phase: FailurePhase,
    /// Cause of the failure.
    pub cause: FailureCause,
}

/// State of a connection when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FailurePhase {
    /// Connecting.
    Connect,
    /// Open, with nothing in flight.
    Idle,
    /// Open, with requests in flight.
    InUse,
}

/// Cause of a failed connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FailureCause {
    /// A system call failed with this errno.
    Errno(i32),
    /// Connecting, or a response, took longer than allowed.
    Timeout,
    /// The peer closed at a point that the protocol does not allow.
    Closed,
    /// The peer broke HTTP; the stable code of the rule.
    Protocol(&'static str),
    /// TLS failed; a stable code.
    Tls(&'static str),
}

/// Requests put on the wire, by phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Requests due before t0 by plan.
    pub warmup: u64,
    /// Slots of M that were sent.
    pub measured: u64,
    /// Requests due in the drain by plan: they keep the load up until M is resolved.
    pub tail: u64,
    /// Requests whose send failed before the kernel had taken all of their bytes; in none of the
    /// other counts.
    pub failed: u64,
    /// Repeated sends of requests that the peer had returned; in none of the other counts.
    pub resent: u64,
    /// Of all sends: requests that the peer returned without processing them.
    pub returned: u64,
}

/// One of the equal parts of the window, by `T0`.
#[derive(Clone, Debug, Default)]
pub struct Slice {
    /// Start, in nanoseconds from t0.
    pub start_ns: u64,
    /// End, in nanoseconds from t0, exclusive.
    pub end_ns: u64,
    /// Response time of its `ok` slots.
    pub ok: Histogram,
    /// Response time, or age, of its other slots.
    pub not_ok: Histogram,
    /// Requests sent in the slice, by `Ts`.
    pub sent: u64,
    /// Complete responses in the slice, by `Te`, whichever slots they belong to.
    pub completed: u64,
    /// Of `completed`: `ok`.
    pub good: u64,
    /// Requests on the wire at the end of the slice.
    pub in_flight: u64,
    /// Slots due and unsent at the end of the slice; 0 in a closed loop.
    pub backlog: u64,
}

/// Counts inside `[t0, t1)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Requests sent with `Ts` inside the window.
    pub sent: u64,
    /// Complete responses.
    pub completed: u64,
    /// Of `completed`: `ok`.
    pub good: u64,
    /// Bytes received, heads included.
    pub bytes_received: u64,
}

/// The phases of one worker, in nanoseconds since the epoch, as it observed them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerPhases {
    /// Number of the worker, from 0.
    pub worker: u32,
    /// CPU that the worker was pinned to.
    pub cpu: Option<u32>,
    /// Number of its connections.
    pub connections: u32,
    /// Start of connecting.
    pub connect_ns: u64,
    /// End of connecting: all its connections were up or had failed once.
    pub connected_ns: u64,
    /// S, the start of the schedule: the same for all workers.
    pub start_ns: u64,
    /// First clock reading at or after the planned t0.
    pub t0_ns: u64,
    /// First clock reading at or after the planned t1.
    pub t1_ns: u64,
    /// End of the load: M was resolved, or the drain's limit was reached.
    pub tail_end_ns: u64,
    /// End of the drain; its sockets were closed.
    pub drained_ns: u64,
    /// t0 and t1 as the worker used them.
    pub window_ns: (u64, u64),
    /// CPU time of the worker's thread, user and system, in nanoseconds.
    pub cpu_time_ns: u64,
    /// CPU time, waiting and stalls of its thread inside the window.
    pub usage: WorkerUsage,
}

/// One interval of the time series, by when things happened (not by plan).
#[derive(Clone, Debug, Default)]
pub struct Interval {
    /// Start, in nanoseconds from t0; negative during warm-up.
    pub start_ns: i64,
    /// Length in nanoseconds; the last interval may be shorter.
    pub length_ns: u64,
    /// Requests sent.
    pub sent: u64,
    /// Complete responses, `ok` and bad.
    pub completed: u64,
    /// Of `completed`: responses that do not count as success.
    pub bad: u64,
    /// Requests that ended in a transport error.
    pub errors: u64,
    /// Requests that timed out.
    pub timed_out: u64,
    /// Bytes received.
    pub bytes_received: u64,
    /// Requests in flight at the end of the interval.
    pub in_flight: u64,
    /// Slots due and unsent at the end of the interval.
    pub backlog: u64,
    /// Response times (closed loop: service times) of `completed`.
    pub latency: SparseHistogram,
}

impl Measurements {
    /// Adds another worker's measurements.
    pub fn merge(&mut self, other: &Measurements) {
        self.planned += other.planned;
        self.outcomes.add(&other.outcomes);
        add_counts(&mut self.status, &other.status);
        add_counts(&mut self.errors, &other.errors);
        self.sent.add(&other.sent);
        self.response_time.add(&other.response_time);
        self.service_time.add(&other.service_time);
        self.send_lag.add(&other.send_lag);
        self.sched_lag.add(&other.sched_lag);
        self.connection_wait.add(&other.connection_wait);
        self.unlagged.add(&other.unlagged);
        self.stamped.add(&other.stamped);
        self.departures.add(&other.departures);
        self.occupancy.add(&other.occupancy);
        self.first_byte.add(&other.first_byte);
        self.connect.add(&other.connect);
        self.connect_setup.add(&other.connect_setup);
        self.connect_window.add(&other.connect_window);
        merge_slices(&mut self.slices, &other.slices);
        self.window.add(&other.window);
        self.overdue += other.overdue;
        self.thread_rates.add(&other.thread_rates);
        self.batch_time.add(&other.batch_time);
        self.tls_handshake.add(&other.tls_handshake);
        if let Some(theirs) = &other.script {
            self.script.get_or_insert_default().add(theirs);
        }
        self.connections.add(&other.connections);
        self.tcp.add(&other.tcp);
        add_destinations(&mut self.destinations, &other.destinations);
        self.workers.extend_from_slice(&other.workers);
        merge_intervals(&mut self.intervals, &other.intervals);
        self.interim_responses += other.interim_responses;
        self.is_unsettled |= other.is_unsettled;
        self.interrupted |= other.interrupted;
    }
}

impl ByOutcome {
    /// Adds another distribution, class by class.
    pub fn add(&mut self, other: &ByOutcome) {
        self.ok.add(&other.ok);
        self.bad.add(&other.bad);
        self.failed_at.add(&other.failed_at);
        self.censored.add(&other.censored);
    }
}

impl Outcomes {
    fn add(&mut self, other: &Outcomes) {
        self.ok += other.ok;
        self.bad_response += other.bad_response;
        self.transport_error += other.transport_error;
        self.timed_out += other.timed_out;
        self.in_flight_at_end += other.in_flight_at_end;
        self.never_sent += other.never_sent;
    }
}

impl Sent {
    fn add(&mut self, other: &Sent) {
        self.warmup += other.warmup;
        self.measured += other.measured;
        self.tail += other.tail;
        self.failed += other.failed;
        self.resent += other.resent;
        self.returned += other.returned;
    }

    /// Returns the number of requests put on the wire, in all phases.
    pub fn total(&self) -> u64 {
        self.warmup + self.measured + self.tail + self.resent
    }
}

impl Window {
    fn add(&mut self, other: &Window) {
        self.sent += other.sent;
        self.completed += other.completed;
        self.good += other.good;
        self.bytes_received += other.bytes_received;
    }
}

impl Connections {
    fn add(&mut self, other: &Connections) {
        self.asked += other.asked;
        self.open_at_t0 += other.open_at_t0;
        self.open_max += other.open_max;
        self.connects += other.connects;
        self.closed_by_peer += other.closed_by_peer;
        self.renewed += other.renewed;
        add_counts(&mut self.failures, &other.failures);
    }
}

/// Adds counts by position: workers have the same destinations; one that never started has none.
fn add_destinations(mine: &mut Vec<DestinationCounts>, theirs: &[DestinationCounts]) {
    mine.resize(mine.len().max(theirs.len()), DestinationCounts::default());
    for (known, other) in mine.iter_mut().zip(theirs) {
        known.connects += other.connects;
        known.connects_failed += other.connects_failed;
        known.connections_failed += other.connections_failed;
        known.ok += other.ok;
        known.bad_response += other.bad_response;
        known.transport_error += other.transport_error;
        known.timed_out += other.timed_out;
        known.in_flight_at_end += other.in_flight_at_end;
    }
}

fn add_counts<K: Ord + Copy>(mine: &mut BTreeMap<K, u64>, theirs: &BTreeMap<K, u64>) {
    for (key, count) in theirs {
        *mine.entry(*key).or_default() += count;
    }
}

/// Adds slices by position: workers cut the same window into the same slices; an interrupted worker
/// has fewer.
fn merge_slices(mine: &mut Vec<Slice>, theirs: &[Slice]) {
    for (index, slice) in theirs.iter().enumerate() {
        match mine.get_mut(index) {
            Some(known) => {
                debug_assert_eq!((known.start_ns, known.end_ns), (slice.start_ns, slice.end_ns));
                known.ok.add(&slice.ok);
                known.not_ok.add(&slice.not_ok);
                known.sent += slice.sent;
                known.completed += slice.completed;
                known.good += slice.good;
                known.in_flight += slice.in_flight;
                known.backlog += slice.backlog;
            }
            None => mine.push(slice.clone()),
        }
    }
}

fn merge_intervals(mine: &mut Vec<Interval>, theirs: &[Interval]) {
    for interval in theirs {
        match mine.binary_search_by_key(&interval.start_ns, |known| known.start_ns) {
            Ok(index) => mine[index].add(interval),
            Err(index) => mine.insert(index, interval.clone()),
        }
    }
}

impl Interval {
    /// Adds the same interval of another worker.
    pub fn add(&mut self, other: &Interval) {
        self.length_ns = self.length_ns.max(other.length_ns);
        self.sent += other.sent;
        self.completed += other.completed;
        self.bad += other.bad;
        self.errors += other.errors;
        self.timed_out += other.timed_out;
        self.bytes_received += other.bytes_received;
        self.in_flight += other.in_flight;
        self.backlog += other.backlog;
        self.latency.add(&other.latency);
    }
}
