//! Measurements as the engine counts them: plain counters and histograms that add up.
//!
//! Each worker makes one; [`Measurements::merge`] adds them. Nothing here is derived: rates,
//! percentiles and text are derived from these when the document is made.

use std::collections::BTreeMap;

use crate::counters::{
    ByOutcome, Connections, DestinationCounts, Interval, MessageCounts, ResultCounts, ScriptUsage,
    Sent, Slice, StageLags, StepCounts, TcpUsage, TlsCounts, Window, WorkerPhases, merge_intervals,
};
use crate::evidence::{Departures, Occupancy, Stamped};
use crate::failures::{MissExample, MissKind};
use crate::rules::{self, Merge};
use weir_stats::histogram::Histogram;

merged! {
    /// Measurements of one worker, or of several after [`Measurements::merge`].
    #[derive(Clone, Debug, Default)]
    pub struct Measurements {
        /// Results of all slots of M.
        pub results: ResultCounts => rules::merge,
        /// One example of each kind of `results.missed`.
        pub miss_examples: BTreeMap<MissKind, MissExample> => rules::first_by_key,
        /// Requests put on the wire.
        pub sent: Sent => rules::merge,
        /// `Ts − T0` of every slot of M that was sent (`ok`), and its bound for those never sent
        /// (`censored`). Empty in a closed loop.
        pub send_lag: ByOutcome => rules::merge,
        /// `Ts − max(T0, freed_at)` of every slot of M that was sent: the client's part of the lag.
        pub sched_lag: Histogram => rules::merge,
        /// `max(0, freed_at − T0)` of every slot of M that was sent: waiting for a busy connection.
        pub connection_wait: Histogram => rules::merge,
        /// `Te − T0 − sched_lag` of the `ok` slots: the response time without the client's
        /// lateness. Empty in a closed loop, which has no plan.
        pub unlagged: Histogram => rules::merge,
        /// Times from kernel time stamps, of a sample of the `ok` slots.
        pub stamped: Stamped => rules::merge,
        /// Sends per millisecond. Empty in a closed loop.
        pub departures: Departures => Departures::add,
        /// Little's law, counted twice.
        pub occupancy: Occupancy => rules::merge,
        /// `Tf − Ts` of the `ok` slots.
        pub first_byte: Histogram => rules::merge,
        /// `(A_n − A_1) / (tokens − 1)` of the `ok` slots with a count of tokens by the server.
        pub time_per_token: Histogram => rules::merge,
        /// Time to the first message of the reasoning, of the `ok` slots with one.
        pub first_reasoning: Histogram => rules::merge,
        /// Time to the first message of the answer, of the `ok` slots with one; empty if no place
        /// of tokens is of the reasoning.
        pub first_answer: Histogram => rules::merge,
        /// Counts of messages, if they are measured.
        pub messages: Option<Box<MessageCounts>> => rules::merge,
        /// Duration of every successful connect, renewals and warm-up included.
        pub connect: Histogram => rules::merge,
        /// Of `connect`: connects before the schedule's start.
        pub connect_setup: Histogram => rules::merge,
        /// Of `connect`: connects up inside the window.
        pub connect_window: Histogram => rules::merge,
        /// Time from the start of the connect until the connection was open for requests, of
        /// connections that were opened during the load because no other had room.
        pub connect_grown: Histogram => rules::merge,
        /// The window in equal parts by `T0`.
        pub slices: Vec<Slice> => rules::by_position,
        /// Lags of sends by stage of the load. Empty without stages, and in a closed loop.
        pub stage_lags: Vec<StageLags> => rules::by_position,
        /// Counts inside `[t0, t1)`, whichever slots they belong to.
        pub window: Window => rules::merge,
        /// Of the members of M: slots without a response within the timeout, whatever their class.
        /// More than
        /// `results.outcomes.timed_out` if the plan awaits late responses.
        pub overdue: u64 => rules::sum,
        /// Completions per second of each worker in spans of 100 ms inside the window, idle ones
        /// included; the unit is 1/s, not ns. Empty unless requested.
        pub thread_rates: Histogram => rules::merge,
        /// `Te − T0` of the last response of each batch of requests that were sent as one. Empty
        /// unless requested.
        pub batch_time: Histogram => rules::merge,
        /// Duration of every successful TLS handshake, renewals and warm-up included.
        pub tls_handshake: Histogram => rules::merge,
        /// TLS handshakes of the load, if its connections use TLS.
        pub tls: Option<TlsCounts> => rules::merge,
        /// Duration of every successful opening exchange of a multiplexed protocol, renewals and
        /// warm-up included.
        pub opening: Histogram => rules::merge,
        /// Time from one message to the next, in the window, of those that the server of a
        /// connection sent by itself.
        pub push_gap: Histogram => rules::merge,
        /// Usage of the scripts, if there was one.
        pub script: Option<ScriptUsage> => rules::merge,
        /// Connections: requested, opened, renewed, failed.
        pub connections: Connections => rules::merge,
        /// Kernel counters of the load's TCP sockets.
        pub tcp: TcpUsage => TcpUsage::add,
        /// Outcomes of each destination's share, if there are several destinations.
        pub destinations: Vec<DestinationCounts> => rules::by_position,
        /// Counts by the name of the request, if there is a list.
        pub names: Vec<ResultCounts> => rules::by_position,
        /// Counts of the steps of scenarios, in the order of their requests; empty without users.
        pub steps: Vec<StepCounts> => rules::by_position,
        /// Phases as the workers observed them, one entry for each.
        pub workers: Vec<WorkerPhases> => rules::append,
        /// The time series.
        pub intervals: Vec<Interval> => merge_intervals,
        /// True if a response was found to be an event stream. Not each one is looked at.
        pub event_streams: bool => rules::any,
        /// Interim (1xx) responses, which end no request.
        pub interim_responses: u64 => rules::sum,
        /// True if the warm-up waited for a steady load and ended at its time limit instead.
        pub is_unsettled: bool => rules::any,
        /// True if a signal ended the run.
        pub interrupted: bool => rules::any,
    }
}

impl Measurements {
    /// Adds another worker's measurements, each by its rule.
    pub fn merge(&mut self, other: &Measurements) {
        Merge::merge(self, other);
    }
}
