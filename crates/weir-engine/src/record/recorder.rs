//! Counters and histograms of one worker's exchanges. No exchange is kept.
//!
//! A slot is recorded once, when its outcome is known. Recording touches a handful of cache lines
//! and allocates nothing after the first exchange of a kind.

mod by_name;
mod catch_up;
mod departures;
mod failures;
mod finish;
mod lags_by_stage;
mod later_steps;
mod occupancy;
mod plan_facts;
mod punctuality;
mod sampler;
mod series;
mod slices;
mod slot_shares;
mod times;
mod user_ends;

use std::collections::BTreeMap;

use weir_io::Nanos;
use weir_result::{ErrorKind, MissKind, Outcomes, Sent, StageSpan, Tally, Window};

use crate::exchange::{Exchange, Outcome, SlotPhase};
use crate::job::{Job, RequestList};
use crate::live::{FRAME_NS, WorkerFrame, WorkerLive};
use crate::time::{Timeline, WarmupDetector};
use by_name::ByName;
use catch_up::CatchUp;
use failures::count_failure;
pub(super) use later_steps::LaterSteps;
use occupancy::{Integral, OccupancyCount};
pub(crate) use plan_facts::PlanFacts;
use punctuality::Punctuality;
use sampler::Sampler;
use series::Series;
use slices::Slices;
pub(super) use slot_shares::SlotShares;
use times::Times;

/// Status codes counted one by one; HTTP has only three-digit codes.
const STATUS_CODES: usize = 1000;

/// One worker's counters and histograms.
#[derive(Debug)]
pub(crate) struct Recorder {
    workers: u32,
    /// Stages of the load.
    stages: Vec<StageSpan>,
    /// Responses to members of M, by status code.
    status: Box<[u64; STATUS_CODES]>,
    counts: RunCounts,
    times: Times,
    /// How sends kept to the plan, if there is one.
    punctuality: Option<Punctuality>,
    window: Window,
    pub(super) slices: Slices,
    series: Series,
    occupancy: OccupancyCount,
    /// Streams that the connections allow; 0 with HTTP/1.
    capacity: Integral,
    /// Detector of the end of the warm-up, until it has detected it.
    pub(crate) warmup: Option<WarmupDetector>,
    /// Completions in short spans, if the report needs them.
    sampler: Option<Sampler>,
    /// Tallies by name, if there is a list.
    names: Option<ByName>,
    /// Later steps of users, if there are scenarios; filled in at the end.
    pub(super) later: LaterSteps,
}

/// Counters over the whole run.
#[derive(Debug, Default)]
struct RunCounts {
    outcomes: Outcomes,
    errors: BTreeMap<ErrorKind, u64>,
    missed: BTreeMap<MissKind, u64>,
    /// Complete responses in the window, and those that count as success.
    completed: u64,
    good: u64,
    /// Includes requests whose send failed.
    sent: Sent,
    /// Of `sent`: requests whose send failed.
    unsent: Sent,
    /// Members of M that are on the wire and unresolved.
    unresolved: u64,
    overdue: u64,
    interim_responses: u64,
    event_streams: bool,
}

impl Recorder {
    /// Returns the recorder of a worker whose slots are `gap_ns` apart on average.
    pub(super) fn new(job: &Job, timeline: &Timeline, gap_ns: u64) -> Recorder {
        let workers = job.plan.threads;
        let extras = job.extras;
        let stages = job.plan.load.stage_spans();
        let punctuality = || Punctuality::new(timeline, &stages, workers, gap_ns);
        let punctuality = job.plan.has_due_times().then(punctuality);
        let of_names =
            |list| ByName::new(list, punctuality.is_some(), job.responses.messages.is_some());
        let list = job.requests.list.as_deref();
        let request_places = list.map_or(usize::MAX, RequestList::request_places);
        Recorder {
            workers,
            status: Box::new([0; STATUS_CODES]),
            counts: RunCounts::default(),
            times: Times { batch: extras.batch_times.then(Tally::new), ..Times::default() },
            names: job.requests.list.as_ref().map(of_names),
            punctuality,
            window: Window::default(),
            slices: Slices::new(timeline, &stages).with_request_places(request_places),
            later: LaterSteps::default(),
            stages,
            series: Series::new(timeline, workers),
            occupancy: OccupancyCount::default(),
            capacity: Integral::default(),
            warmup: job.plan.load.warmup.is_auto.then(WarmupDetector::default),
            sampler: extras.thread_rates.then(Sampler::default),
        }
    }

    /// Keeps what the frames of a list need, from now on.
    pub(crate) fn keep_names(&mut self) {
        if let Some(names) = &mut self.names {
            names.show();
        }
    }

    /// Begins the window of the timeline, once S is fixed. The counts from the time of connecting
    /// stay.
    pub(crate) fn begin(&mut self, timeline: &Timeline) {
        self.series = Series::new(timeline, self.workers);
        self.place_window(timeline);
    }

    /// Begins the window earlier than planned; nothing of it has been recorded yet.
    pub(crate) fn begin_window(&mut self, timeline: &Timeline) {
        self.series.rebase(timeline.t0);
        self.place_window(timeline);
    }

    fn place_window(&mut self, timeline: &Timeline) {
        self.slices = self.slices.placed(timeline, &self.stages);
        if let Some(punctuality) = &mut self.punctuality {
            punctuality.begin(timeline, &self.stages);
        }
    }

    /// Returns the catch-up after late sends; `None` in a closed loop, where none is late.
    #[inline]
    pub(crate) fn catch_up(&mut self) -> Option<&mut CatchUp> {
        self.punctuality.as_mut().map(|punctuality| &mut punctuality.catch_up)
    }

    /// Returns the first border of intervals at or after `at`, which is before `t0`.
    pub(crate) fn border_from(&self, t0: Nanos, at: Nanos) -> Nanos {
        let before_ns = t0.since(at);
        t0.before(before_ns - before_ns % self.series.length_ns)
    }

    /// Returns the number of members of M that are on the wire and unresolved.
    pub(crate) fn unresolved(&self) -> u64 {
        self.counts.unresolved
    }

    /// Returns the longest service time of a response so far.
    pub(crate) fn service_max_ns(&self) -> u64 {
        self.punctuality.as_ref().map_or(0, Punctuality::service_max_ns)
    }

    /// Counts the expectation that the response to `exchanges` identical exchanges missed. They end
    /// as `bad_response` next, so that kinds add up to that class.
    #[cold]
    pub(super) fn missed(&mut self, exchange: &Exchange, kind: MissKind, exchanges: u32) {
        if exchange.phase == SlotPhase::Measured {
            *self.counts.missed.entry(kind).or_default() += u64::from(exchanges);
            if let Some(names) = &mut self.names {
                names.missed(exchange, kind, exchanges.into());
            }
        }
    }

    /// Takes the counts of missed expectations.
    pub(super) fn take_missed(&mut self) -> BTreeMap<MissKind, u64> {
        std::mem::take(&mut self.counts.missed)
    }

    /// Counts the sending of `requests` identical requests.
    #[inline]
    pub(super) fn sent(&mut self, timeline: &Timeline, exchange: &Exchange, requests: u32) {
        let count = u64::from(requests);
        self.series.current.sent += count;
        self.occupancy.enter(timeline, exchange.sent_at, requests);
        if timeline.is_in_window(exchange.sent_at) {
            self.window.sent += count;
            self.slices.counts(exchange.sent_at).sent += count;
        }
        match exchange.phase {
            SlotPhase::Warmup => {
                self.counts.sent.warmup += count;
                if let Some(catch_up) = self.catch_up() {
                    catch_up.sent(exchange, exchange.sched_lag(), 0);
                }
            }
            SlotPhase::Tail => self.counts.sent.tail += count,
            SlotPhase::Measured => {
                self.counts.sent.measured += count;
                self.counts.unresolved += count;
                if let Some(punctuality) = &mut self.punctuality {
                    (0..requests).for_each(|_| punctuality.sent(exchange));
                }
            }
        }
    }

    /// Counts the repeated sending of a request that the peer returned. Its slot was counted, with
    /// its lag, when it was sent first.
    pub(super) fn resent(&mut self, timeline: &Timeline, exchange: &Exchange) {
        self.counts.sent.resent += 1;
        self.series.current.sent += 1;
        self.occupancy.enter(timeline, exchange.sent_at, 1);
        if timeline.is_in_window(exchange.sent_at) {
            self.window.sent += 1;
            self.slices.counts(exchange.sent_at).sent += 1;
        }
    }

    /// Counts a request that the peer returned unprocessed.
    pub(super) fn returned(&mut self) {
        self.counts.sent.returned += 1;
    }

    /// Counts a request of this phase whose send failed.
    #[cold]
    pub(super) fn unsent(&mut self, phase: SlotPhase) {
        match phase {
            SlotPhase::Warmup => self.counts.unsent.warmup += 1,
            SlotPhase::Measured => self.counts.unsent.measured += 1,
            SlotPhase::Tail => self.counts.unsent.tail += 1,
        }
    }

    /// Counts the end of `exchanges` identical exchanges, at least one, with the same outcome.
    #[inline(always)]
    pub(super) fn completed(
        &mut self,
        timeline: &Timeline,
        exchange: &Exchange,
        outcome: Outcome,
        at: Nanos,
        exchanges: u32,
    ) {
        let count = u64::from(exchanges);
        self.occupancy.leave(timeline, exchange.sent_at, at, exchanges);
        let response_ns = at.since(exchange.intended_at);
        match outcome {
            Outcome::Ok(_) | Outcome::BadResponse(_) => {
                let is_ok = matches!(outcome, Outcome::Ok(_));
                self.series.completed(is_ok, response_ns, exchanges);
                if let Some(warmup) = &mut self.warmup {
                    warmup.responded(at.since(timeline.start), response_ns, exchanges);
                }
                if timeline.is_in_window(at) {
                    let good = if is_ok { count } else { 0 };
                    self.counts.completed += count;
                    self.counts.good += good;
                    let slice = self.slices.at_event(at);
                    slice.counts.completed += count;
                    slice.counts.good += good;
                    if let Some(names) = &mut self.names {
                        names.completed(exchange, is_ok, count, slice);
                    }
                }
            }
            Outcome::TransportError(_) => self.series.current.errors += count,
            Outcome::TimedOut => self.series.current.timed_out += count,
            Outcome::InFlightAtEnd => {}
        }
        if exchange.phase == SlotPhase::Measured {
            self.counts.unresolved -= count;
            self.resolve(exchange, outcome, at, exchanges);
        }
    }

    /// Counts members of M by their outcome.
    #[inline(always)]
    fn resolve(&mut self, exchange: &Exchange, outcome: Outcome, at: Nanos, times: u32) {
        let response_ns = at.since(exchange.intended_at);
        let service_ns = at.since(exchange.sent_at);
        if let Outcome::Ok(response) | Outcome::BadResponse(response) = outcome
            && let Some(count) = self.status.get_mut(usize::from(response.status))
        {
            *count += u64::from(times);
        }
        if let Outcome::Ok(response) = outcome {
            self.counts.outcomes.ok += u64::from(times);
            let slice = self.slices.at(exchange.intended_at);
            let response_ok = match &mut self.names {
                Some(names) => names.resolve_ok(exchange, response.status, at, times, slice),
                None => &mut slice.ok,
            };
            response_ok.record_times(response_ns, times);
            let first_byte_ns = response.first_byte_at.since(exchange.sent_at);
            self.times.first_byte.record_times(first_byte_ns, times);
            if let Some(punctuality) = &mut self.punctuality {
                punctuality.ok(exchange, response_ns, service_ns, times);
            }
            return;
        }
        for _ in 0..times {
            if let Some(names) = &mut self.names {
                let slice = self.slices.at(exchange.intended_at);
                names.resolve_failure(exchange, outcome, at, slice);
            }
            self.resolve_failure(exchange.intended_at, outcome, response_ns, service_ns);
        }
    }

    /// Censors a member of M that is in flight at the end of the run. Its response is still
    /// awaited, so the request stays on the wire, but it is no longer measured.
    pub(super) fn censored(&mut self, exchange: &Exchange, at: Nanos) {
        self.counts.unresolved -= 1;
        self.resolve(exchange, Outcome::InFlightAtEnd, at, 1);
    }

    /// Removes an exchange from the wire that ends without an outcome: because the sockets close,
    /// or because its request is sent again later.
    pub(super) fn abandoned(&mut self, timeline: &Timeline, exchange: &Exchange, at: Nanos) {
        self.occupancy.leave(timeline, exchange.sent_at, at, 1);
    }

    /// Records the time of a batch whose last response arrived at `at`; `exchange` is any of the
    /// batch.
    #[inline]
    pub(super) fn batch_ended(&mut self, exchange: &Exchange, at: Nanos) {
        if let Some(times) = &mut self.times.batch
            && exchange.phase == SlotPhase::Measured
        {
            times.record(at.since(exchange.intended_at));
        }
    }

    /// Counts an exchange that has exceeded the timeout and is still awaited.
    pub(super) fn overdue(&mut self, exchange: &Exchange) {
        self.counts.overdue += u64::from(exchange.phase == SlotPhase::Measured);
    }

    #[cold]
    fn resolve_failure(
        &mut self,
        intended_at: Nanos,
        outcome: Outcome,
        response_ns: u64,
        service_ns: u64,
    ) {
        let slice = self.slices.at(intended_at);
        slice.not_ok.record(response_ns);
        count_failure(&mut slice.outcomes, outcome);
        count_failure(&mut self.counts.outcomes, outcome);
        self.times.response.record(outcome, response_ns);
        if let Some(punctuality) = &mut self.punctuality {
            punctuality.failed(outcome, service_ns);
        }
        match outcome {
            Outcome::TransportError(kind) => *self.counts.errors.entry(kind).or_default() += 1,
            Outcome::TimedOut => self.counts.overdue += 1,
            Outcome::Ok(_) | Outcome::BadResponse(_) | Outcome::InFlightAtEnd => {}
        }
    }

    /// Counts received bytes.
    #[inline]
    pub(crate) fn received(&mut self, timeline: &Timeline, bytes: u64, at: Nanos) {
        self.series.current.bytes_received += bytes;
        if timeline.is_in_window(at) {
            self.window.bytes_received += bytes;
        }
    }

    /// Records that a connection allows `now` requests at once instead of `before`.
    pub(crate) fn capacity(&mut self, timeline: &Timeline, at: Nanos, before: u16, now: u16) {
        self.capacity.change(timeline, at, i64::from(now) - i64::from(before));
    }

    /// Adds the 1xx responses of the connections.
    pub(crate) fn interim_responses(&mut self, count: u64) {
        self.counts.interim_responses += count;
    }

    /// Notes whether a response was found to be an event stream.
    pub(crate) fn event_streams(&mut self, are_found: bool) {
        self.counts.event_streams |= are_found;
    }

    /// Returns the time at which the next interval ends, or the next sample of the rate or of the
    /// warm-up is due.
    #[inline]
    pub(crate) fn next_at(&self, timeline: &Timeline) -> Nanos {
        let warmup = self.warmup.as_ref().map_or(Nanos::MAX, |warmup| warmup.look_at);
        self.series.current_end().min(self.sample_at(timeline)).min(warmup)
    }

    /// Returns the worker's frame at `now`, without what others know. The load began at `start`.
    pub(super) fn frame(
        &self,
        start: Nanos,
        now: Nanos,
        in_flight: u64,
        backlog: u64,
    ) -> WorkerFrame {
        let frames = now.since(start) / FRAME_NS;
        let turn = frames as usize % WorkerFrame::NAME_TURNS;
        let mut frame = WorkerFrame {
            at: now,
            interval: self.series.in_progress(now, in_flight, backlog),
            errors: self.counts.errors.clone(),
            names: self.names.as_ref().map(|names| names.totals(Some(turn))).unwrap_or_default(),
            ..WorkerFrame::default()
        };
        if let Some(punctuality) = &self.punctuality {
            punctuality.add_to_frame(&mut frame);
        }
        frame
    }

    /// Returns where messages of slots are counted.
    pub(super) fn shares<'r>(&'r mut self, timeline: &'r Timeline) -> SlotShares<'r> {
        let Recorder { series, slices, names, .. } = self;
        SlotShares { timeline, series, slices, names: names.as_mut() }
    }

    /// Returns the end of the current interval.
    pub(crate) fn interval_end(&self) -> Nanos {
        self.series.current_end()
    }

    /// Ends the slices and intervals that are over at `now`, and takes the sample of the rate that
    /// is due. `in_flight` requests are on the wire, and `backlog` returns the number of slots due
    /// and unsent at an instant. `live` receives the intervals.
    #[inline]
    pub(crate) fn pass_borders(
        &mut self,
        timeline: &Timeline,
        now: Nanos,
        in_flight: u64,
        backlog: impl Fn(Nanos) -> u64,
        live: &WorkerLive,
    ) {
        if self.slices.next_end() <= now {
            self.slices.end(now, in_flight, &backlog);
        }
        if self.sample_at(timeline) <= now {
            self.sample(timeline, now);
        }
        if self.series.current_end() <= now {
            self.series.roll(now, in_flight, backlog(now), live);
        }
    }

    /// Returns the time at which the next sample of the rate is due.
    #[inline]
    fn sample_at(&self, timeline: &Timeline) -> Nanos {
        self.sampler.as_ref().map_or(Nanos::MAX, |sampler| sampler.due_at(timeline))
    }

    /// Takes the sample that is due.
    fn sample(&mut self, timeline: &Timeline, now: Nanos) {
        if let Some(sampler) = &mut self.sampler {
            sampler.take(now, timeline, self.counts.completed);
        }
    }
}
