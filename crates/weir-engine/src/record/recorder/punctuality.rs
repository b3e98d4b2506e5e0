//! How a worker of an open loop keeps to its plan: lags of sends, departures, catching up, and the
//! times of slots without their wait for a connection or the client. In a closed loop nothing is
//! planned, and the response time is the service time.

use weir_io::Nanos;
use weir_result::{ByOutcome, Histogram, Measurements, SparseHistogram, StageSpan, Tally};

use super::catch_up::CatchUp;
use super::departures::DepartureCounts;
use super::failures::Failures;
use super::lags_by_stage::{LagTallies, LagsByStage};
use crate::exchange::{Exchange, Outcome};
use crate::live::WorkerFrame;
use crate::time::Timeline;

/// How the sends of one worker kept to its plan.
#[derive(Debug)]
pub(super) struct Punctuality {
    workers: u32,
    /// Mean time between the worker's slots, in nanoseconds.
    gap_ns: u64,
    /// Number of stages of the load.
    stages: usize,
    unwaited: Unwaited,
    waited: Waited,
    /// Service times of slots that are not `ok`.
    service: Failures,
    by_stage: LagsByStage,
    departures: DepartureCounts,
    /// Requests that late sends delayed.
    pub(super) catch_up: CatchUp,
}

/// Slots that found a free connection. All of their lag is the client's, and their response time
/// without it is the service time.
#[derive(Debug, Default)]
struct Unwaited {
    lag: Tally,
    service_ok: Tally,
}

/// Slots that waited for a connection: their lag, its two parts, and their times.
#[derive(Debug, Default)]
struct Waited {
    send_lag: Tally,
    sched_lag: Tally,
    connection_wait: Tally,
    service_ok: Tally,
    /// Response time without the scheduling lag (`Te − T0 − sched_lag`).
    unlagged_ok: Tally,
}

impl Punctuality {
    /// Returns the empty tallies of one of `workers` workers, whose slots are `gap_ns` apart on
    /// average.
    pub(super) fn new(
        timeline: &Timeline,
        stages: &[StageSpan],
        workers: u32,
        gap_ns: u64,
    ) -> Punctuality {
        Punctuality {
            workers,
            gap_ns,
            stages: stages.len(),
            unwaited: Unwaited::default(),
            waited: Waited::default(),
            service: Failures::default(),
            by_stage: LagsByStage::new(timeline, stages),
            departures: DepartureCounts::new(timeline, workers, gap_ns),
            catch_up: CatchUp::default(),
        }
    }

    /// Begins the window of the timeline, of which nothing has been recorded yet.
    pub(super) fn begin(&mut self, timeline: &Timeline, stages: &[StageSpan]) {
        self.by_stage = LagsByStage::new(timeline, stages);
        self.departures = DepartureCounts::new(timeline, self.workers, self.gap_ns);
    }

    /// Records the lags of a request of M as it is sent.
    #[inline]
    pub(super) fn sent(&mut self, exchange: &Exchange) {
        if exchange.intended_at >= self.by_stage.ends_at {
            self.end_stages_before(exchange.intended_at);
        }
        let sched_lag = exchange.sched_lag();
        self.lag(exchange, sched_lag);
        self.departures.count(exchange, sched_lag);
        self.catch_up.sent(exchange, sched_lag, 1);
    }

    /// Records the send lag of a request, split into `connection_wait` and `sched_lag`.
    #[inline]
    fn lag(&mut self, exchange: &Exchange, sched_lag: u64) {
        let wait = exchange.connection_wait();
        if wait == 0 {
            self.unwaited.lag.record(sched_lag);
        } else {
            self.waited.send_lag.record(exchange.sent_at.since(exchange.intended_at));
            self.waited.sched_lag.record(sched_lag);
            self.waited.connection_wait.record(wait);
        }
    }

    #[cold]
    fn end_stages_before(&mut self, due_at: Nanos) {
        let Punctuality { unwaited, waited, by_stage, .. } = self;
        by_stage.end_before(due_at, lag_tallies(unwaited, waited));
    }

    /// Records `times` responses that are `ok`, by their service time.
    #[inline(always)]
    pub(super) fn ok(
        &mut self,
        exchange: &Exchange,
        response_ns: u64,
        service_ns: u64,
        times: u32,
    ) {
        if exchange.connection_wait() == 0 {
            self.unwaited.service_ok.record_times(service_ns, times);
        } else {
            let unlagged_ns = response_ns - exchange.sched_lag();
            self.waited.service_ok.record_times(service_ns, times);
            self.waited.unlagged_ok.record_times(unlagged_ns, times);
        }
    }

    /// Records the service time of a slot that is not `ok`.
    pub(super) fn failed(&mut self, outcome: Outcome, service_ns: u64) {
        self.service.record(outcome, service_ns);
    }

    /// Returns the longest service time of a response so far.
    pub(super) fn service_max_ns(&self) -> u64 {
        let Punctuality { unwaited, waited, .. } = self;
        unwaited.service_ok.exact().max_ns.max(waited.service_ok.exact().max_ns)
    }

    /// Adds the lags so far to a frame.
    pub(super) fn add_to_frame(&self, frame: &mut WorkerFrame) {
        let Punctuality { unwaited, waited, by_stage, .. } = self;
        let coarse = |times: &Tally| times.sparse(WorkerFrame::COARSENESS);
        let mut ended = by_stage.sum.send_lag.clone();
        ended.coarsen(WorkerFrame::COARSENESS);
        frame.send_lag = coarse(&unwaited.lag);
        frame.send_lag.add(&coarse(&waited.send_lag));
        frame.send_lag.add(&ended);
        frame.connection_wait = coarse(&waited.connection_wait);
        let sched_lags = [&unwaited.lag, &waited.sched_lag].map(|lags| lags.exact().max_ns);
        let ended_ns = by_stage.sum.sched_lag.exact().max_ns;
        frame.sched_lag_max_ns = sched_lags.into_iter().fold(ended_ns, u64::max);
    }

    /// Adds what was recorded to the worker's measurements; the window ended at `t1`, and slots
    /// with these ages were never sent.
    pub(super) fn finish(
        mut self,
        t1: Nanos,
        never_sent: &Histogram,
        measurements: &mut Measurements,
    ) {
        let lags = lag_tallies(&mut self.unwaited, &mut self.waited);
        measurements.stage_lags = self.by_stage.finish(self.stages, lags);
        let Punctuality { unwaited, waited, by_stage, .. } = &self;
        let lag = |waited: &Tally, ended: &SparseHistogram| {
            let mut lag = sum(&unwaited.lag, waited);
            lag.add_sparse(ended);
            lag
        };
        let send_lag = lag(&waited.send_lag, &by_stage.sum.send_lag);
        measurements.sched_lag = lag(&waited.sched_lag, &by_stage.sum.sched_lag);
        measurements.connection_wait = Histogram::from(&waited.connection_wait);
        let unwaited_count = send_lag.count() - measurements.connection_wait.count();
        measurements.connection_wait.record_range(0, 0, unwaited_count, 0);
        measurements.send_lag = ByOutcome { ok: send_lag, ..ByOutcome::default() };
        measurements.send_lag.censored.add(never_sent);
        measurements.unlagged = sum(&unwaited.service_ok, &waited.unlagged_ok);
        measurements.results.service_time = ByOutcome {
            ok: sum(&unwaited.service_ok, &waited.service_ok),
            ..self.service.finish()
        };
        measurements.departures = self.departures.finish(t1);
    }
}

/// Returns the tallies that lags are recorded in.
fn lag_tallies<'t>(unwaited: &'t mut Unwaited, waited: &'t mut Waited) -> LagTallies<'t> {
    LagTallies {
        unwaited: &mut unwaited.lag,
        waited_send: &mut waited.send_lag,
        waited_sched: &mut waited.sched_lag,
    }
}

fn sum(one: &Tally, other: &Tally) -> Histogram {
    let mut histogram = Histogram::from(one);
    histogram.add_tally(other);
    histogram
}
