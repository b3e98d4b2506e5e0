//! The worker: one thread, one backend, one loop.
//!
//! connect → start barrier → warm-up → window → drain (METHOD 1.5). Each turn of the loop waits,
//! handles events, checks timers and sends the slots that are due. A worker shares only [`Control`]
//! with others, and reads no clock but its backend's.

mod dispatch;
mod observing;
mod opening;
mod scripted;
mod state;
mod streams;

use std::{io, mem};

use weir_io::{Backend, Close, ConnId, Nanos, TcpTally, WaitPolicy};
use weir_result::{Load, Measurements, TcpUsage, WorkerPhases};

use crate::connection::State;
use crate::control::Control;
use crate::job::Job;
use crate::live::{Live, LiveSender};
use crate::observer::RunEnd;
use crate::observers::Observers;
use crate::pool::{Action, ConnectionPool, Limits};
use crate::recorder::{Planned, Recorder};
use crate::requests::RequestSource;
use crate::schedule::Schedule;
use crate::script::Script;
use crate::stamps::Stamping;
use crate::thread_stalls::ThreadStalls;
use crate::timeline::Timeline;
use crate::waiting::Waiting;
use state::{Outbox, Stage, Turn};

/// Events handled before due slots are checked again, so that a burst of responses does not delay
/// sends (METHOD 1.8).
const EVENT_BATCH: usize = 64;

/// Weight of an event's callbacks, in events: they take about as long.
const CALLBACK_EVENTS: usize = 7;

/// Connections closed per submission at the end of the run.
const CLOSE_BATCH: u32 = 1024;

/// Longest drain of an interrupted window, in nanoseconds.
const INTERRUPTED_DRAIN_NS: u64 = 1_000_000_000;

/// Runs worker `number` of `job` on `backend`, in the calling thread, with the script that makes
/// its requests, if there is one.
///
/// # Errors
/// If the backend itself fails.
///
/// # Panics
/// If there is a script and the job's protocol is multiplexed.
pub fn run_on<B: Backend>(
    job: &Job,
    number: u32,
    control: &Control,
    backend: B,
    live: Option<LiveSender>,
    script: Option<&mut weir_script::Worker>,
) -> io::Result<Measurements> {
    Worker::new(job, number, control, backend, live, script).run()
}

/// One worker.
pub(crate) struct Worker<'a, B> {
    job: &'a Job,
    control: &'a Control,
    backend: B,
    pool: ConnectionPool,
    schedule: Schedule,
    requests: RequestSource,
    script: Option<Script<'a>>,
    outbox: Outbox,
    waiting: Waiting,
    live: Live,
    /// Phases of the run; unset until S is fixed. The recorder has a copy.
    timeline: Timeline,
    stage: Stage,
    turn: Turn,
    phases: WorkerPhases,
    stalls: ThreadStalls,
}

impl<'a, B: Backend> Worker<'a, B> {
    /// Returns worker `number` of the job, on `backend`.
    pub(crate) fn new(
        job: &'a Job,
        number: u32,
        control: &'a Control,
        mut backend: B,
        live: Option<LiveSender>,
        script: Option<&'a mut weir_script::Worker>,
    ) -> Worker<'a, B> {
        let partition = job.partition(number);
        let plan = &job.plan;
        let is_open_loop = plan.load != Load::ClosedLoop;
        let connections = partition.own_connections();
        let mut script = script.map(|state| {
            let scheme = job.protocol.is_multiplexed().then(|| job.scheme());
            Script::new(state, number, connections, control, scheme)
        });
        let limits = Limits::new(job, connections, script.as_ref());
        let schedule = Schedule::new(plan.load, partition);
        let recorder = Recorder::new(job, limits.connections.into(), schedule.gap_ns());
        let has_several_streams = limits.streams && limits.depth > 1;
        let stamping = Stamping::new(plan, connections, has_several_streams);
        let observers = Observers::new(job, number, &stamping);
        let quota = plan.requests.filter(|_| !is_open_loop);
        Worker {
            requests: scripted::source(job, script.as_mut(), &mut backend),
            schedule,
            pool: ConnectionPool::new(job, limits, recorder, stamping, observers),
            turn: Turn::new(script.is_some() || job.opens_in_steps()),
            script,
            live: Live::new(number, live),
            phases: WorkerPhases {
                worker: number,
                cpu: job.cpu_of(number),
                connections: limits.connections,
                ..WorkerPhases::default()
            },
            timeline: Timeline::new(plan, Nanos::MAX),
            stalls: ThreadStalls::default(),
            outbox: Outbox::default(),
            stage: Stage::new(quota.map(|requests| partition.owned_below(requests))),
            waiting: Waiting::new(job),
            job,
            control,
            backend,
        }
    }

    /// Runs the worker's part of the job from the first connect to the last close.
    ///
    /// # Errors
    /// If the backend itself fails.
    pub(crate) fn run(mut self) -> io::Result<Measurements> {
        let mut is_resolved = true;
        if self.connect()? {
            self.load()?;
            is_resolved = self.is_resolved();
            self.drain()?;
        }
        let end = self.close_all();
        let tcp = self.backend.tcp();
        self.pool.abandon(end);
        self.phases.drained_ns = end.0;
        self.phases.resolved_ns = if is_resolved { self.phases.tail_end_ns } else { end.0 };
        self.phases.usage = self.stalls.usage();
        let Timeline { t0, t1, .. } = self.timeline;
        // A window without an end of its own ended with the run.
        self.phases.window_ns = (t0.0, t1.0.min(self.phases.tail_end_ns).max(t0.0));
        let missing =
            self.stage.quota.filter(|left| *left > 0 && self.job.plan.duration_ns.is_none());
        let quota =
            missing.filter(|_| !self.stage.is_cut).map(|left| left + self.pool.recorder.measured());
        // In the dialects the age of a slot that was never sent is its age at t1.
        let unsent_until = match self.job.ending.stops_at_t1 {
            true => self.timeline.t1.min(end),
            false => Nanos(self.phases.tail_end_ns),
        };
        // Dropped first, so that its memory is free for the measurements.
        drop(self.backend);
        let (recorder, observers) = self.pool.into_observers(end);
        let (timeline, schedule) = (self.timeline, self.schedule.clone());
        let planned = Planned { quota, is_cut: self.stage.is_cut, unsent_until };
        let mut measurements = recorder.finish(&mut self.schedule, planned, self.phases);
        let end = RunEnd { schedule: &schedule, timeline: &timeline, unsent_until };
        observers.finish(&end, &mut measurements);
        // A failing script stops the run like a signal, but counts as no interruption.
        let has_failed = self.control.script_failure().is_some();
        measurements.is_unsettled = self.stage.is_unsettled;
        measurements.tcp = tcp_usage(tcp);
        measurements.interrupted = self.stage.is_interrupted && !has_failed;
        measurements.script = self.script.map(|script| script.finish(self.stage.is_cut));
        Ok(measurements)
    }

    /// Opens every connection, or lets each fail once, and passes the barrier. Returns true if
    /// there is a load to run.
    fn connect(&mut self) -> io::Result<bool> {
        let mut now = self.backend.now();
        self.phases.connect_ns = now.0;
        self.partition_connections(now);
        self.open(now);
        let mut has_arrived = false;
        loop {
            if !has_arrived && self.pool.counts.unresolved == 0 {
                has_arrived = true;
                self.phases.connected_ns = now.0;
                self.control
                    .arrive(now, self.pool.counts.open > 0 || !self.job.ending.needs_connection);
            }
            let is_stopped = self.control.stop_at() <= now;
            if is_stopped || self.control.is_unconnected() {
                self.stage.is_interrupted = is_stopped;
                self.begin(Timeline::empty(now));
                self.pool.recorder.open_at_t0(self.pool.counts.open);
                self.phases.tail_end_ns = now.0;
                return Ok(false);
            }
            if let Some(start) = self.control.start_at() {
                self.begin(Timeline::new(&self.job.plan, start));
                return Ok(true);
            }
            let until = self.pool.deadlines.next().min(self.pool.open_queue.next_at());
            now = self.turn(until.min(self.control.stop_at()), WaitPolicy::Sleep)?;
        }
    }

    /// Begins the schedule once S is fixed.
    fn begin(&mut self, timeline: Timeline) {
        self.phases.start_ns = timeline.start.0;
        self.timeline = timeline;
        self.pool.recorder.begin(timeline);
        self.pool.counts.alive_at = timeline.start;
        self.stage.is_sending = true;
        self.live.begin(timeline.start);
        self.begin_rests();
    }

    /// Runs the warm-up, the window, and the drain as long as the load continues in it.
    fn load(&mut self) -> io::Result<()> {
        self.turn.now = self.backend.now();
        self.make_ahead();
        loop {
            let until = self.next_wake();
            let policy = self.waiting.policy(self.turn.now, until, self.pool.busy());
            let now = self.turn(until, policy)?;
            self.waiting.turned(now, policy, self.pool.counts.in_flight);
            self.observe(now);
            let t1 = self.timeline.t1;
            if self.is_over(now) || (now >= t1 && self.is_resolved()) {
                self.phases.tail_end_ns = now.0;
                return Ok(());
            }
        }
    }

    /// Runs one turn of the loop; returns the time at its end.
    fn turn(&mut self, until: Nanos, policy: WaitPolicy) -> io::Result<Nanos> {
        let (from, in_flight) = (self.turn.now, self.pool.counts.in_flight);
        self.backend.wait(until, policy)?;
        self.check_window();
        self.check_stop();
        let called_at = self.process_events();
        let mut now = self.backend.now();
        let woken_at = mem::replace(&mut self.turn.woken_at, Nanos::MAX).min(now);
        self.pool.recorder.catch_up.begin_turn(woken_at.since(from));
        // A response that arrived while callbacks ran is handled in the next turn, so it is not
        // overdue now.
        if self.expire(now.min(called_at)) {
            // Handling timers may have taken long, and requests sent now need a current time stamp.
            now = self.backend.now();
        }
        // The next wait submits the remaining sends first.
        self.dispatch(now);
        // Making requests may have taken long.
        now = now.max(self.turn.now);
        self.check_script(now.after(1));
        self.open(now);
        self.turn.now = now;
        self.make_ahead();
        self.stalls.turn(from, until, woken_at, self.turn.now);
        if self.pool.recorder.catch_up.is_on() {
            self.follow_catch_up(in_flight);
        }
        Ok(self.turn.now)
    }

    /// Ends a catch-up that is over; `before` requests were in flight at the begin of the turn.
    #[cold]
    fn follow_catch_up(&mut self, before: u64) {
        let now = self.turn.now;
        let (in_flight, is_overdue) = (self.pool.counts.in_flight, self.has_due(now));
        self.pool.recorder.catch_up.follow(now, before, in_flight, is_overdue);
    }

    /// Cuts the window if a stop is requested, or ends the drain if the window is over. Checked
    /// before the events of a turn, so that later ones are handled after the stop.
    fn check_stop(&mut self) {
        let stop_at = self.control.stop_at();
        if stop_at == Nanos::MAX || !self.stage.is_sending || self.stage.is_stopped {
            return;
        }
        self.stage.is_stopped = true;
        if stop_at < self.timeline.t1 {
            self.cut_window(stop_at);
            self.stage.is_interrupted = true;
        } else {
            self.retime(|timeline| timeline.end_drain(stop_at));
        }
    }

    /// Ends the window at `at`. Responses to requests sent by then are awaited for a short time.
    fn cut_window(&mut self, at: Nanos) {
        let drain_ns = match self.job.ending.abandons {
            true => 0,
            false => self.job.plan.drain_limit_ns().min(INTERRUPTED_DRAIN_NS),
        };
        self.retime(|timeline| timeline.cut(at, drain_ns));
        self.stage.is_cut = true;
    }

    /// Changes the timeline, and the recorder's copy of it.
    fn retime(&mut self, change: impl FnOnce(&mut Timeline)) {
        change(&mut self.timeline);
        self.pool.recorder.set_timeline(self.timeline);
    }

    /// True if nothing more is sent: the drain has ended, or the load ends with the window.
    fn is_over(&self, now: Nanos) -> bool {
        let Timeline { t1, drain_end, .. } = self.timeline;
        now >= drain_end || (now >= t1 && (self.stage.is_cut || self.job.ending.stops_at_t1))
    }

    /// Handles all pending events. Returns the time of the first event whose handling took long, by
    /// callbacks or a step of a handshake; [`Nanos::MAX`] if there was none.
    fn process_events(&mut self) -> Nanos {
        let (mut events, mut handled, mut called_at) = (0, 0, Nanos::MAX);
        let in_flight = self.pool.counts.in_flight;
        while let Some(event) = self.backend.next() {
            events += 1;
            let (conn, mut at) = (event.conn, event.at);
            self.turn.woken_at = self.turn.woken_at.min(at);
            let action = self.pool.handle(event);
            handled += 1;
            if self.turn.has_pending {
                let told_at = self.flush_pending(conn);
                if told_at > at {
                    called_at = called_at.min(at);
                    at = told_at;
                    self.check_stop();
                    handled += CALLBACK_EVENTS;
                }
                if mem::take(&mut self.pool.layers.has_stepped) {
                    called_at = called_at.min(at);
                    self.end_step();
                }
            }
            self.act(conn, action);
            if handled >= EVENT_BATCH {
                handled = 0;
                if self.has_due(at) {
                    let now = self.backend.now();
                    self.dispatch(now);
                    self.backend.submit();
                }
            }
        }
        let responses = in_flight.saturating_sub(self.pool.counts.in_flight);
        self.waiting.processed_events(events, responses);
        called_at
    }

    /// Sends due slots after a step of a TLS handshake. A step takes up to a quarter of a
    /// millisecond, so a batch of them would delay sends by 15 ms. Slots of a closed loop are due
    /// as soon as a connection is free, such as the one that this step may have opened.
    #[inline(never)]
    fn end_step(&mut self) {
        let now = self.backend.now();
        self.check_stop();
        if self.is_ready() && self.is_due(now) {
            self.dispatch(now);
            self.backend.submit();
        }
    }

    /// Closes a failed socket of `conn`, and counts the requests that it had not sent.
    #[cold]
    fn failed(&mut self, conn: ConnId) {
        let bytes = self.backend.unsent_bytes();
        let each = match (&self.requests, &self.job.tls) {
            (RequestSource::Static(repeated), None) => repeated.bytes_of(1),
            _ => (self.outbox.last_send.0 / self.outbox.last_send.1.max(1)) as u64,
        };
        self.pool.unsend(bytes, each);
        self.backend.close(conn, Close::Reset);
    }

    #[inline]
    fn act(&mut self, conn: ConnId, action: Action) {
        match action {
            Action::None => {}
            Action::Discard(bytes) => self.backend.discard(conn, bytes),
            Action::Close(how) => self.backend.close(conn, how),
            Action::Failed => self.failed(conn),
        }
    }

    /// Handles the connections whose timers are due or whose delays are over. Returns true if there
    /// were any.
    fn expire(&mut self, now: Nanos) -> bool {
        let mut have_come = self.pool.end_rests(now);
        while let Some(conn) = self.pool.deadlines.take_due(now) {
            let action = self.pool.expire(conn, now);
            if self.turn.has_pending {
                self.flush_pending(conn);
            }
            self.act(conn, action);
            have_come = true;
        }
        have_come
    }

    /// Returns the time to sleep until.
    fn next_wake(&self) -> Nanos {
        let Timeline { start, t0, t1, drain_end } = self.timeline;
        let mut until =
            self.pool.deadlines.next().min(self.pool.script.rests.next()).min(drain_end);
        until = until.min(self.pool.open_queue.next_at());
        until = until.min(self.pool.recorder.interval_end()).min(self.live.frame_at());
        // A stop request that was handled lies in the past, and would keep the worker from
        // sleeping.
        if !self.stage.is_stopped {
            until = until.min(self.control.stop_at());
        }
        until = until.min(self.pool.recorder.sample_at());
        if let Some(warmup) = &self.pool.recorder.warmup {
            until = until.min(warmup.next());
        }
        if self.phases.t0_ns == 0 {
            until = until.min(t0);
        }
        if self.phases.t1_ns == 0 {
            until = until.min(t1);
        }
        let slot = match self.schedule.peek() {
            Some(offset_ns) => self.lead(self.ticked(start, offset_ns)),
            // A closed loop sends as soon as it can. It waits only for the start, and for a script
            // that ran out of its share of a turn.
            None if self.turn.now < start => start,
            None if self.turn.is_behind => self.turn.now,
            None => Nanos::MAX,
        };
        // If the load ends with the window, not even slots due before t1 are sent later.
        if !self.is_over(self.turn.now) && self.is_ready() && (slot < t1 || self.has_tail()) {
            until = until.min(slot);
        }
        if self.can_resend() && !self.is_over(self.turn.now) {
            until = until.min(self.turn.now);
        }
        // Idle time is used to call the script for future slots.
        if self.has_time_ahead() {
            until = until.min(self.turn.now);
        }
        until
    }

    /// Returns the send time of the slot at `offset_ns`: with `--tick`, the first tick at or after
    /// its due time.
    fn ticked(&self, start: Nanos, offset_ns: u64) -> Nanos {
        let tick_ns = self.job.plan.tick_ns.unwrap_or(1);
        start.after(offset_ns.div_ceil(tick_ns).saturating_mul(tick_ns))
    }

    /// Runs the rest of the drain: sends nothing more, and awaits the responses in flight.
    fn drain(&mut self) -> io::Result<()> {
        self.stage.is_sending = false;
        self.backend.submit();
        let mut now = Nanos(self.phases.tail_end_ns);
        let end = self.timeline.drain_end;
        loop {
            // A stop request that was handled has set the drain's end.
            let stop_at = if self.stage.is_stopped { Nanos::MAX } else { self.control.stop_at() };
            if self.pool.counts.in_flight == 0 || now >= end.min(stop_at) {
                break;
            }
            let until = self.pool.deadlines.next().min(end).min(stop_at);
            let until = until.min(self.pool.recorder.interval_end()).min(self.live.frame_at());
            self.backend.wait(until, WaitPolicy::Sleep)?;
            let called_at = self.process_events();
            now = self.backend.now();
            self.expire(now.min(called_at));
            self.observe(now);
        }
        self.pool.censor(now);
        Ok(())
    }

    /// Closes every socket; returns the time at which that was done.
    fn close_all(&mut self) -> Nanos {
        for conn in (0..self.pool.limits.connections).map(ConnId) {
            match self.pool.connection(conn).state {
                State::Closed | State::Queued => {}
                _ => {
                    self.pool.layers.announce_close(conn);
                    self.send_output(conn);
                    self.backend.close(conn, Close::Graceful);
                }
            }
            // The queue of sockets to close takes memory too.
            if conn.0 % CLOSE_BATCH == CLOSE_BATCH - 1 {
                self.backend.submit();
            }
        }
        self.backend.submit().after
    }
}

/// Returns the kernel's counters in the document's terms.
fn tcp_usage(tally: TcpTally) -> TcpUsage {
    TcpUsage {
        sockets: tally.sockets,
        sampled: tally.sampled,
        retransmitted_segments: tally.retransmitted_segments,
        retransmission_timeouts: tally.retransmission_timeouts,
        rtts_min_ns: tally.rtts_min_ns,
    }
}
