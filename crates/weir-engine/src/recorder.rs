//! What a worker remembers of each exchange: counters and histograms, never the exchange itself.
//!
//! A slot is recorded once, when its outcome is known. Recording touches a handful of cache lines
//! and allocates nothing after the first exchange of a kind.

use std::collections::BTreeMap;
use std::sync::mpsc::Sender;

use weir_io::Nanos;
use weir_run::{
    ByOutcome, Connections, ErrorKind, FailureKind, Histogram, Interval, Measurements, Outcomes,
    Sent, Tally, Window, WorkerPhases,
};

use crate::exchange::{Exchange, Phase};
use crate::job::Extras;
use crate::sampler::Sampler;
use crate::schedule::Schedule;
use crate::series::Series;
use crate::slices::Slices;
use crate::timeline::Timeline;

/// Where finished intervals go while the run lasts: the worker's number and the interval. `None` is
/// for whoever runs the workers, to say that there will be no more.
pub type LiveSender = Sender<Option<(u32, Interval)>>;

/// Status codes counted one by one; HTTP has no others.
const STATUS_CODES: usize = 1000;

/// One worker's memory of the run.
#[derive(Debug)]
pub(crate) struct Recorder {
    is_open_loop: bool,
    pub(crate) timeline: Timeline,
    outcomes: Outcomes,
    status: Box<[u64; STATUS_CODES]>,
    errors: BTreeMap<ErrorKind, u64>,
    sent: Sent,
    /// Members of M on the wire and unresolved.
    unresolved: u64,
    response: Failures,
    slices: Slices,
    service_ok: Tally,
    service: Failures,
    /// Lag of slots that found a free connection: all of it is the client's.
    lag_unwaited: Tally,
    waited: Waited,
    first_byte: Tally,
    connect: Tally,
    tls_handshake: Tally,
    overdue: u64,
    /// `Te − T0` of the last answer of each batch, where wanted.
    batch_time: Option<Tally>,
    /// Completions in short spans, where wanted.
    pub(crate) sampler: Option<Sampler>,
    window: Window,
    series: Series,
    connections: Connections,
    interim_responses: u64,
}

/// One time of the slots that did not end `ok`.
#[derive(Debug, Default)]
struct Failures {
    bad: Tally,
    failed_at: Tally,
    censored: Tally,
}

/// The lag of slots that waited for a connection, and its two parts.
#[derive(Debug, Default)]
struct Waited {
    send_lag: Tally,
    sched_lag: Tally,
    connection_wait: Tally,
}

/// What decides how many requests are planned beside the schedule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Planned {
    /// How many a closed loop was to measure, where not all of them were sent.
    pub(crate) quota: Option<u64>,
    /// The window ended early, at an instant that some requests may have been sent beyond: those
    /// of one string go out before their slots, and a busy worker hears of the end late.
    pub(crate) is_cut: bool,
}

/// How a slot ended, for the recorder.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ended {
    /// A complete answer.
    Answered {
        /// Its status.
        status: u16,
        /// `Tf`.
        first_byte_at: Nanos,
    },
    /// No complete answer ever.
    Failed(ErrorKind),
    /// None within the timeout.
    TimedOut,
    /// None yet, and the run is over.
    InFlight,
}

impl Recorder {
    /// For a run whose schedule will start at `timeline.start`.
    pub(crate) fn new(
        is_open_loop: bool,
        timeline: Timeline,
        asked: u64,
        extras: Extras,
    ) -> Recorder {
        Recorder {
            is_open_loop,
            timeline,
            outcomes: Outcomes::default(),
            status: Box::new([0; STATUS_CODES]),
            errors: BTreeMap::new(),
            sent: Sent::default(),
            unresolved: 0,
            response: Failures::default(),
            slices: Slices::new(&timeline),
            service_ok: Tally::new(),
            service: Failures::default(),
            lag_unwaited: Tally::new(),
            waited: Waited::default(),
            first_byte: Tally::new(),
            connect: Tally::new(),
            tls_handshake: Tally::new(),
            overdue: 0,
            batch_time: extras.batch_times.then(Tally::new),
            sampler: extras.thread_rates.then(Sampler::new),
            window: Window::default(),
            series: Series::new(&timeline),
            connections: Connections { asked, ..Connections::default() },
            interim_responses: 0,
        }
    }

    /// Sets the timeline once S is known. What was counted while connecting stays.
    pub(crate) fn begin(&mut self, timeline: Timeline) {
        self.timeline = timeline;
        self.slices = Slices::new(&timeline);
        self.series = Series::new(&timeline);
    }

    /// Members of M that are on the wire and unresolved.
    pub(crate) fn unresolved(&self) -> u64 {
        self.unresolved
    }

    /// Slots of M sent so far.
    pub(crate) fn measured(&self) -> u64 {
        self.sent.measured
    }

    /// A request goes out.
    #[inline]
    pub(crate) fn sent(&mut self, exchange: &Exchange) {
        self.series.current.sent += 1;
        self.window.sent += u64::from(self.timeline.is_in_window(exchange.sent_at));
        match exchange.phase {
            Phase::Warmup => self.sent.warmup += 1,
            Phase::Tail => self.sent.tail += 1,
            Phase::Measured => {
                self.sent.measured += 1;
                self.unresolved += 1;
                if self.is_open_loop {
                    self.lag(exchange);
                }
            }
        }
    }

    /// `connection_wait = max(0, freed_at − T0)`, `sched_lag = Ts − max(T0, freed_at)`.
    #[inline]
    fn lag(&mut self, exchange: &Exchange) {
        let Exchange { intended_at, freed_at, sent_at, .. } = *exchange;
        if freed_at <= intended_at {
            self.lag_unwaited.record(sent_at.since(intended_at));
        } else {
            self.waited.send_lag.record(sent_at.since(intended_at));
            self.waited.sched_lag.record(sent_at.since(freed_at));
            self.waited.connection_wait.record(freed_at.since(intended_at));
        }
    }

    /// An exchange ended at `at`.
    #[inline]
    pub(crate) fn ended(&mut self, exchange: &Exchange, ended: Ended, at: Nanos) {
        let response_ns = at.since(exchange.intended_at);
        let is_ok = matches!(ended, Ended::Answered { status, .. } if status < 400);
        match ended {
            Ended::Answered { .. } => {
                self.series.completed(is_ok, response_ns);
                if self.timeline.is_in_window(at) {
                    self.window.completed += 1;
                    self.window.good += u64::from(is_ok);
                }
            }
            Ended::Failed(_) => self.series.current.errors += 1,
            Ended::TimedOut => self.series.current.timed_out += 1,
            Ended::InFlight => {}
        }
        if exchange.phase == Phase::Measured {
            self.unresolved -= 1;
            self.resolve(exchange, ended, at, is_ok);
        }
    }

    /// Puts a member of M into its class.
    #[inline]
    fn resolve(&mut self, exchange: &Exchange, ended: Ended, at: Nanos, is_ok: bool) {
        let (response_ns, service_ns) =
            (at.since(exchange.intended_at), at.since(exchange.sent_at));
        if let Ended::Answered { status, first_byte_at } = ended {
            self.status[usize::from(status) % STATUS_CODES] += 1;
            if is_ok {
                self.outcomes.ok += 1;
                self.slices.at(exchange.intended_at).ok.record(response_ns);
                self.first_byte.record(first_byte_at.since(exchange.sent_at));
                if self.is_open_loop {
                    self.service_ok.record(service_ns);
                }
                return;
            }
        }
        self.resolve_failure(exchange.intended_at, ended, response_ns, service_ns);
    }

    /// The last answer of a batch came at `at`; `exchange` is any of the batch.
    #[inline]
    pub(crate) fn batch_ended(&mut self, exchange: &Exchange, at: Nanos) {
        if let Some(times) = &mut self.batch_time
            && exchange.phase == Phase::Measured
        {
            times.record(at.since(exchange.intended_at));
        }
    }

    /// An exchange has waited for longer than the timeout, and goes on waiting.
    pub(crate) fn overdue(&mut self, exchange: &Exchange) {
        self.overdue += u64::from(exchange.phase == Phase::Measured);
    }

    #[cold]
    fn resolve_failure(&mut self, intended_at: Nanos, ended: Ended, response: u64, service: u64) {
        self.slices.at(intended_at).not_ok.record(response);
        match ended {
            Ended::Answered { .. } => {
                self.outcomes.bad_response += 1;
                self.response.bad.record(response);
                self.service.bad.record(service);
            }
            Ended::Failed(kind) => {
                self.outcomes.transport_error += 1;
                *self.errors.entry(kind).or_default() += 1;
                self.response.failed_at.record(response);
                self.service.failed_at.record(service);
            }
            Ended::TimedOut | Ended::InFlight => {
                match ended {
                    Ended::TimedOut => {
                        self.outcomes.timed_out += 1;
                        self.overdue += 1;
                    }
                    _ => self.outcomes.in_flight_at_end += 1,
                }
                self.response.censored.record(response);
                self.service.censored.record(service);
            }
        }
    }

    /// Bytes came in.
    #[inline]
    pub(crate) fn received(&mut self, bytes: u64, at: Nanos) {
        self.series.current.bytes_received += bytes;
        if self.timeline.is_in_window(at) {
            self.window.bytes_received += bytes;
        }
    }

    /// A connection came up; `open` are open now.
    pub(crate) fn connected(&mut self, took_ns: u64, open: u64) {
        self.connections.connects += 1;
        self.connections.open_max = self.connections.open_max.max(open);
        self.connect.record(took_ns);
    }

    /// A TLS handshake succeeded.
    pub(crate) fn shook_hands(&mut self, took_ns: u64) {
        self.tls_handshake.record(took_ns);
    }

    /// The peer closed a connection cleanly.
    pub(crate) fn closed_by_peer(&mut self) {
        self.connections.closed_by_peer += 1;
    }

    /// A connection failed.
    #[cold]
    pub(crate) fn connection_failed(&mut self, kind: FailureKind) {
        *self.connections.failures.entry(kind).or_default() += 1;
    }

    /// Connections open when the window began.
    pub(crate) fn open_at_t0(&mut self, open: u64) {
        self.connections.open_at_t0 = open;
    }

    /// 1xx answers of a connection.
    pub(crate) fn interim_responses(&mut self, count: u64) {
        self.interim_responses += count;
    }

    /// The end of the interval that is being filled.
    pub(crate) fn interval_end(&self) -> Nanos {
        self.series.current_end()
    }

    /// Closes the intervals that end at or before `now`.
    pub(crate) fn roll(&mut self, now: Nanos, in_flight: u64, backlog: u64, live: &Live) {
        self.series.roll(now, in_flight, backlog, live);
    }

    /// When the next sample of the rate is due.
    pub(crate) fn sample_at(&self) -> Nanos {
        self.sampler.as_ref().map_or(Nanos::MAX, |sampler| sampler.due_at(&self.timeline))
    }

    /// Takes the sample that is due.
    pub(crate) fn sample(&mut self, now: Nanos) {
        if let Some(sampler) = &mut self.sampler {
            sampler.take(now, &self.timeline, self.window.completed);
        }
    }

    /// The worker's measurements. `schedule` gives up its slots of M that were never sent; they are
    /// censored at `end`.
    pub(crate) fn finish(
        self,
        schedule: &mut Schedule,
        Planned { quota, is_cut }: Planned,
        phases: WorkerPhases,
        end: Nanos,
    ) -> Measurements {
        let never = self.never_sent(schedule, quota, end);
        let planned = match self.is_open_loop {
            true => {
                let t0_offset = self.timeline.t0.since(self.timeline.start);
                let by_plan = schedule.planned(t0_offset, self.window_offset());
                if is_cut { by_plan.max(self.sent.measured) } else { by_plan }
            }
            false => quota.unwrap_or(self.sent.measured).max(self.sent.measured),
        };
        let slices = self.slices.finish(&self.timeline, phases.t1_ns, &never.by_slice);
        let mut response_time = self.response.finish();
        for slice in &slices {
            response_time.ok.add(&slice.ok);
        }
        let mut service_time =
            if self.is_open_loop { self.service.finish() } else { response_time.clone() };
        service_time.ok.add_tally(&self.service_ok);
        response_time.censored.add(&never.ages);
        let lag = |waited: &Tally| {
            let mut lag = Histogram::new();
            lag.add_tally(&self.lag_unwaited);
            lag.add_tally(waited);
            lag
        };
        let mut send_lag = ByOutcome { ok: lag(&self.waited.send_lag), ..ByOutcome::default() };
        if self.is_open_loop {
            send_lag.censored.add(&never.ages);
        }
        let mut connection_wait = histogram(&self.waited.connection_wait);
        connection_wait.record_range(0, 0, self.lag_unwaited.exact().count, 0);
        Measurements {
            planned,
            outcomes: Outcomes { never_sent: never.ages.count(), ..self.outcomes },
            status: (0u16..).zip(*self.status).filter(|(_, count)| *count > 0).collect(),
            errors: self.errors,
            sent: self.sent,
            response_time,
            service_time,
            send_lag,
            sched_lag: lag(&self.waited.sched_lag),
            connection_wait,
            first_byte: histogram(&self.first_byte),
            overdue: self.overdue,
            thread_rates: self.sampler.map_or_else(Histogram::new, |sampler| sampler.rates),
            batch_time: self.batch_time.as_ref().map_or_else(Histogram::new, histogram),
            tls_handshake: histogram(&self.tls_handshake),
            connect: histogram(&self.connect),
            slices,
            window: self.window,
            connections: self.connections,
            workers: vec![phases],
            intervals: self.series.finish(end),
            interim_responses: self.interim_responses,
            ..Measurements::default()
        }
    }

    /// Offset of t1 from S.
    fn window_offset(&self) -> u64 {
        self.timeline.t1.since(self.timeline.start)
    }

    /// The slots of M that were never sent, by bucket arithmetic: a range of slots whose ages share
    /// a bucket and a slice is one record, so that an absurd rate ends at once.
    fn never_sent(&self, schedule: &mut Schedule, quota: Option<u64>, end: Nanos) -> NeverSent {
        let mut never = NeverSent::default();
        if !self.is_open_loop {
            let missing = quota.map_or(0, |quota| quota.saturating_sub(self.sent.measured));
            let age = end.since(self.timeline.t0);
            never.add(0, age, age, missing, u128::from(age) * u128::from(missing));
            return never;
        }
        let Timeline { start, .. } = self.timeline;
        let end_offset = end.since(start);
        let until = self.window_offset().min(end_offset);
        let spans = |offset: u64| {
            let age = end_offset.saturating_sub(offset).min(weir_run::histogram::HIGHEST_NS);
            let bucket = weir_run::histogram::bucket_of(age);
            let bucket_end = end_offset - weir_run::histogram::lowest_in(bucket) + 1;
            bucket_end.min(self.slices.end_of(start.after(offset)).since(start))
        };
        schedule.take_ranges(until, spans, |range| {
            if start.after(range.first_ns) < self.timeline.t0 {
                return;
            }
            let slice = self.slices.index(start.after(range.first_ns));
            let sum = u128::from(end_offset) * u128::from(range.slots) - range.sum_ns;
            let (oldest, youngest) = (end_offset - range.first_ns, end_offset - range.last_ns);
            never.add(slice, youngest, oldest, range.slots, sum);
        });
        never
    }
}

/// Slots of M that were never sent.
#[derive(Debug, Default)]
struct NeverSent {
    ages: Histogram,
    by_slice: BTreeMap<usize, Histogram>,
}

impl NeverSent {
    fn add(&mut self, slice: usize, youngest: u64, oldest: u64, slots: u64, sum_ns: u128) {
        if slots > 0 {
            self.ages.record_range(youngest, oldest, slots, sum_ns);
            let slice = self.by_slice.entry(slice).or_default();
            slice.record_range(youngest, oldest, slots, sum_ns);
        }
    }
}

impl Failures {
    fn finish(&self) -> ByOutcome {
        ByOutcome {
            ok: Histogram::new(),
            bad: histogram(&self.bad),
            failed_at: histogram(&self.failed_at),
            censored: histogram(&self.censored),
        }
    }
}

fn histogram(tally: &Tally) -> Histogram {
    let mut histogram = Histogram::new();
    histogram.add_tally(tally);
    histogram
}

/// Where a worker's finished intervals go while the run lasts.
#[derive(Debug)]
pub(crate) struct Live {
    /// The worker's number.
    pub(crate) worker: u32,
    /// Nobody listens when `None`.
    pub(crate) sender: Option<LiveSender>,
}

impl Live {
    /// Sends an interval; a listener that has gone away is no error.
    pub(crate) fn send(&self, interval: &Interval) {
        if let Some(sender) = &self.sender {
            let _gone = sender.send(Some((self.worker, interval.clone())));
        }
    }
}
