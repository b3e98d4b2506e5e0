//! The worker: one thread, one backend, one loop.
//!
//! connect → start barrier → warm-up → window → drain (METHOD 1.5). Each turn of the loop waits,
//! handles events, checks timers and sends the slots that are due. A worker shares only [`Control`]
//! with others, and reads no clock but its backend's. This room may call all others but the run.

mod dispatch;
mod observing;
mod opening;
mod scripted;
mod state;
mod thread_stalls;
mod users;

use std::{io, mem};

use weir_http::ProtocolFactory;
use weir_io::{Backend, Close, ConnId, Nanos, TcpTally, WaitPolicy};
use weir_result::{Measurements, TcpUsage, WorkerPhases, WorkerUsage};

use crate::connections::{ConnectionLimits, Connections};
use crate::control::Control;
use crate::handler::{Action, Handler};
use crate::job::Job;
use crate::lane::{Http1Lane, Lane, StreamLane};
use crate::live::{LiveSender, WorkerLive};
use crate::pool::{ConnectionPool, ResponseNeeds};
use crate::record::{Ledger, PlanFacts, Stamping};
use crate::requests::{RequestForm, RequestSource, RowFeed, Script, SlotSource};
use crate::time::{ConnectPace, Timeline};
use crate::wait::Waiting;
use state::{LoopTurn, RunStage, SEND_BATCH};
use thread_stalls::ThreadStalls;

/// Events handled before due slots are checked again, so that a burst of responses does not delay
/// sends (METHOD 1.8).
const EVENT_BATCH: usize = 64;

/// Weight of an event's callbacks, in events: they take about as long.
const CALLBACK_EVENTS: usize = 7;

/// Longest drain of an interrupted window, in nanoseconds.
const INTERRUPTED_DRAIN_NS: u64 = 1_000_000_000;

/// Time after the drain in which servers may still send messages: twice the longest service time,
/// within these limits, in nanoseconds.
const LISTEN_MIN_NS: u64 = 100_000_000;
const LISTEN_MAX_NS: u64 = 2_000_000_000;

/// Time between two looks for the row of a list in a closed loop, in nanoseconds.
const STARVED_POLL_NS: u64 = 100_000;

/// Runs worker `number` of `job` on `backend`, in the calling thread, with the script that makes
/// its requests, if there is one.
///
/// # Errors
/// If the backend itself fails.
///
/// # Panics
/// If the job's protocol is multiplexed and the script distinguishes connections, or if the job has
/// a list that is read during the load.
pub fn run_on<B: Backend>(
    job: &Job,
    number: u32,
    control: &Control,
    backend: B,
    live: Option<LiveSender>,
    script: Option<&mut weir_script::WorkerState>,
) -> io::Result<Measurements> {
    run_with(job, number, control, backend, live, WorkerInput { script, feed: None })
}

/// The sources of requests that belong to one worker.
#[derive(Debug)]
pub(crate) struct WorkerInput<'a> {
    pub(crate) script: Option<&'a mut weir_script::WorkerState>,
    /// Rows of a list that is read during the load.
    pub(crate) feed: Option<RowFeed>,
}

/// Runs worker `number` of `job` with its sources of requests.
pub(crate) fn run_with<B: Backend>(
    job: &Job,
    number: u32,
    control: &Control,
    backend: B,
    live: Option<LiveSender>,
    input: WorkerInput<'_>,
) -> io::Result<Measurements> {
    match &job.protocol {
        ProtocolFactory::Http1 => {
            Worker::new(job, number, control, backend, live, input, Http1Lane::new).run()
        }
        ProtocolFactory::Multiplexed(factory) => {
            let lane = |job: &Job, pool: &mut ConnectionPool| StreamLane::new(factory, job, pool);
            Worker::new(job, number, control, backend, live, input, lane).run()
        }
    }
}

/// One worker.
struct Worker<'a, B, L: Lane> {
    job: &'a Job,
    control: &'a Control,
    backend: B,
    pool: ConnectionPool,
    handler: Handler<L>,
    slots: SlotSource,
    source: RequestSource<'a, L::Request>,
    /// Connections with requests that were dispatched and not yet handed to the backend.
    unsent: Vec<ConnId>,
    waiting: Waiting,
    live: WorkerLive,
    stage: RunStage,
    turn: LoopTurn,
    phases: WorkerPhases,
    stalls: ThreadStalls,
}

impl<'a, B: Backend, L: Lane> Worker<'a, B, L> {
    /// Returns worker `number` of the job, on `backend`, with the lane that `lane` makes.
    fn new(
        job: &'a Job,
        number: u32,
        control: &'a Control,
        mut backend: B,
        live: Option<LiveSender>,
        WorkerInput { script, feed }: WorkerInput<'a>,
        lane: impl FnOnce(&Job, &mut ConnectionPool) -> L,
    ) -> Worker<'a, B, L> {
        let streams = L::Request::STREAMS;
        let script = script.map(|state| {
            let scheme = streams.then(|| job.scheme());
            Script::new(state, number, job.own_connections_max(number), control, scheme)
        });
        let calls = script.as_ref().map(|script| &script.calls);
        let has_delays = calls.is_some_and(|calls| calls.delay);
        let needs = ResponseNeeds::new(job, calls, streams);
        let limits = ConnectionLimits::new(job, number, calls, needs.keeps, streams);
        let partition = job.partition(number);
        let slots = SlotSource::new(job, partition);
        let connections = Connections::new(job, limits, partition, has_delays);
        let stamping = Stamping::new(&job.plan, limits.connections, streams && limits.depth > 1);
        let timeline = Timeline::new(&job.plan, Nanos::MAX);
        let gap_ns = slots.schedule.gap_ns();
        let ledger = Ledger::new(job, number, &timeline, limits.initial, gap_ns, stamping);
        let mut pool = ConnectionPool::new(job, timeline, connections, ledger, needs);
        let lane = lane(job, &mut pool);
        Worker {
            turn: LoopTurn {
                now: Nanos::ZERO,
                woken_at: Nanos::MAX,
                has_pending: script.is_some() || job.opens_in_steps() || needs.keep_bodies(),
            },
            source: RequestSource::new(job, script, feed, &mut backend),
            slots,
            pool,
            handler: Handler { lane },
            live: WorkerLive::new(number, live),
            phases: WorkerPhases {
                worker: number,
                cpu: job.cpu_of(number),
                connections: limits.initial,
                ..WorkerPhases::default()
            },
            stalls: ThreadStalls::default(),
            unsent: Vec::with_capacity(SEND_BATCH),
            stage: RunStage::new(job.ending.stops_at_t1),
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
    fn run(mut self) -> io::Result<Measurements> {
        let mut resolved_at = None;
        if self.connect()? {
            self.load()?;
            let is_resolved = self.is_resolved();
            let drained_at = self.drain()?;
            resolved_at = (!is_resolved).then_some(drained_at);
        }
        self.handler.close_all(&mut self.pool, &mut self.backend);
        let end = self.backend.submit().after;
        let tcp = self.backend.tcp();
        self.handler.abandon(&mut self.pool, end);
        self.phases.drained_ns = end.0;
        self.phases.resolved_ns = resolved_at.map_or(self.phases.tail_end_ns, |at| at.0);
        let list_wait_ns = self.source.starved_ns();
        self.phases.usage = WorkerUsage { list_wait_ns, ..self.stalls.usage() };
        let Timeline { t0, t1, .. } = self.pool.timeline;
        // A window without an end of its own ended with the run.
        self.phases.window_ns = (t0.0, t1.0.min(self.phases.tail_end_ns).max(t0.0));
        let load = &self.job.plan.load;
        let is_short = load.length_ns().is_none() && !self.stage.is_cut;
        let missing = self.slots.quota.filter(|_| is_short).unwrap_or_default();
        // In the dialects the age of a slot that was never sent is its age at t1.
        let unsent_until = match self.job.ending.stops_at_t1 {
            true => t1.min(end),
            false => Nanos(self.phases.tail_end_ns),
        };
        // Dropped first, so that its memory is free for the measurements.
        drop(self.backend);
        let facts = PlanFacts {
            timeline: self.pool.timeline,
            missing,
            is_cut: self.stage.is_cut || self.stage.is_ended,
            listed: (self.slots.turns, self.slots.listed),
            unsent_until,
        };
        self.handler.lane.finish(&mut self.pool, end);
        let ConnectionPool { ledger, .. } = self.pool;
        let unsent = self.slots.into_unsent();
        let mut measurements = ledger.finish(&unsent, &facts, self.phases, &self.live);
        // A failing script or list stops the run like a signal, but counts as no interruption.
        let has_failed = self.control.has_source_failed();
        measurements.is_unsettled = self.stage.is_unsettled;
        measurements.tcp = tcp_usage(tcp);
        measurements.interrupted = self.stage.is_interrupted && !has_failed;
        measurements.script = self.source.script.map(|script| script.finish(self.stage.is_cut));
        Ok(measurements)
    }

    /// Opens every connection, or lets each fail once, and passes the barrier. Returns true if
    /// there is a load to run.
    fn connect(&mut self) -> io::Result<bool> {
        let mut now = self.backend.now();
        self.phases.connect_ns = now.0;
        // Taken by a run without a connect rate too: the first worker's time counts for all.
        let begun_at = self.control.begin_connecting(now);
        let plan = &self.job.plan;
        if let Some(rate) = plan.connection.rate {
            // The slots of all workers count from the time at which the first of them began.
            let pace = ConnectPace::new(rate, self.job.partition(self.live.worker), begun_at);
            self.pool.pace(pace);
        }
        self.open(now);
        let mut has_arrived = false;
        loop {
            if !has_arrived && self.pool.connections.are_resolved() {
                has_arrived = true;
                self.phases.connected_ns = now.0;
                let is_open = self.pool.connections.open() > 0;
                let needs_none = plan.load.connections.first() == 0;
                let can_begin = is_open || needs_none || !self.job.ending.needs_connection;
                self.control.arrive(now, can_begin);
            }
            let is_stopped = self.control.stop_at() <= now;
            if is_stopped || self.control.is_unconnected() {
                self.stage.is_interrupted = is_stopped;
                self.begin(Timeline::empty(now));
                self.pool.record_open();
                self.phases.tail_end_ns = now.0;
                return Ok(false);
            }
            if let Some(start) = self.control.start_at() {
                self.begin(Timeline::new(&self.job.plan, start));
                return Ok(true);
            }
            let until = self.pool.connections.next_at().min(self.control.stop_at());
            now = self.turn(until, WaitPolicy::Sleep)?;
        }
    }

    /// Begins the schedule once S is fixed.
    fn begin(&mut self, timeline: Timeline) {
        self.phases.start_ns = timeline.start.0;
        self.pool.timeline = timeline;
        self.pool.recorder_mut().begin(&timeline);
        self.pool.connections.begin(&timeline);
        self.stage.is_sending = true;
        if self.live.is_received() {
            self.pool.recorder_mut().keep_names();
        }
        self.live.begin(timeline.start);
        if self.source.script.as_ref().is_some_and(|script| script.calls.delay) {
            self.pool.connections.all().for_each(|conn| self.begin_delay(conn));
        }
    }

    /// Runs the warm-up, the window, and the drain as long as the load continues in it.
    fn load(&mut self) -> io::Result<()> {
        self.turn.now = self.backend.now();
        self.make_ahead();
        loop {
            let until = self.next_wake();
            let policy = self.waiting.policy(self.turn.now, until, self.handler.busy(&self.pool));
            let now = self.turn(until, policy)?;
            self.waiting.turned(now, policy, self.pool.connections.in_flight());
            self.observe(now);
            let t1 = self.pool.timeline.t1;
            if self.stage.is_over(&self.pool.timeline, now) || (now >= t1 && self.is_resolved()) {
                self.phases.tail_end_ns = now.0;
                return Ok(());
            }
        }
    }

    /// Runs one turn of the loop; returns the time at its end.
    fn turn(&mut self, until: Nanos, policy: WaitPolicy) -> io::Result<Nanos> {
        let from = self.turn.now;
        let in_flight = self.pool.connections.in_flight();
        self.backend.wait(until, policy)?;
        self.check_window();
        if let Some(stop_at) = self.control.stop_requested() {
            self.check_stop(stop_at);
        }
        let called_at = self.process_events();
        let mut now = self.backend.now();
        let woken_at = mem::replace(&mut self.turn.woken_at, Nanos::MAX).min(now);
        if let Some(catch_up) = self.pool.recorder_mut().catch_up() {
            catch_up.begin_turn(woken_at.since(from));
        }
        // A response that arrived while callbacks ran is handled in the next turn, so it is not
        // overdue now.
        if self.expire(now.min(called_at)) {
            // Handling timers may have taken long, and requests sent now need a current time stamp.
            now = self.backend.now();
        }
        // The next wait submits the remaining sends first.
        self.dispatch(now);
        // Making requests may have taken long.
        now = now.max(self.source.made_at);
        if self.source.may_end() {
            self.check_source(now.after(1));
        }
        if self.pool.may_open() {
            self.open(now);
        }
        self.turn.now = now;
        self.make_ahead();
        self.stalls.turn(from, until, woken_at, self.turn.now);
        self.follow_catch_up(in_flight);
        Ok(self.turn.now)
    }

    /// Follows a catch-up after late sends; `before` requests were in flight before the turn.
    #[inline]
    fn follow_catch_up(&mut self, before: u64) {
        if self.pool.recorder_mut().catch_up().is_none_or(|catch_up| !catch_up.is_on) {
            return;
        }
        let now = self.turn.now;
        let in_flight = self.pool.connections.in_flight();
        let is_overdue = self.has_due(now);
        if let Some(catch_up) = self.pool.recorder_mut().catch_up() {
            catch_up.follow(now, before, in_flight, is_overdue);
        }
    }

    /// Cuts the window for a requested stop, or ends the drain if the window is over. Checked
    /// before the events of a turn, so that later ones are handled after the stop.
    #[cold]
    fn check_stop(&mut self, stop_at: Nanos) {
        if !self.stage.is_sending || self.stage.is_stopped {
            return;
        }
        self.stage.is_stopped = true;
        let Timeline { t0, t1, .. } = self.pool.timeline;
        if self.job.plan.is_until_signal() && t0 <= stop_at && !self.control.has_source_failed() {
            let drain_ns = self.job.plan.drain_limit_ns();
            self.pool.timeline.cut(stop_at, drain_ns);
            self.stage.is_ended = true;
        } else if stop_at < t1 {
            self.cut_window(stop_at);
            self.stage.is_interrupted = true;
        } else {
            self.pool.timeline.end_drain(stop_at);
        }
    }

    /// Ends the window at `at`. Responses to requests sent by then are awaited for a short time.
    fn cut_window(&mut self, at: Nanos) {
        let drain_ns = match self.job.ending.abandons {
            true => 0,
            false => self.job.plan.drain_limit_ns().min(INTERRUPTED_DRAIN_NS),
        };
        self.pool.timeline.cut(at, drain_ns);
        self.stage.is_cut = true;
        self.slots.has_tail = false;
    }

    /// Handles all pending events. Returns the time of the first event whose handling took long, by
    /// callbacks or a step of a handshake; [`Nanos::MAX`] if there was none.
    fn process_events(&mut self) -> Nanos {
        let mut events = 0;
        let mut handled = 0;
        let mut called_at = Nanos::MAX;
        let in_flight = self.pool.connections.in_flight();
        while let Some(event) = self.backend.next() {
            events += 1;
            let conn = event.conn;
            let mut at = event.at;
            self.turn.woken_at = self.turn.woken_at.min(at);
            let action = self.handler.handle(&mut self.pool, event);
            handled += 1;
            if self.turn.has_pending {
                let reported_at = self.flush_pending(conn);
                if reported_at > at {
                    called_at = called_at.min(at);
                    at = reported_at;
                    if let Some(stop_at) = self.control.stop_requested() {
                        self.check_stop(stop_at);
                    }
                    handled += CALLBACK_EVENTS;
                }
                if self.pool.layers.take_has_stepped() {
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
        let responses = in_flight.saturating_sub(self.pool.connections.in_flight());
        self.waiting.processed_events(events, responses);
        called_at
    }

    /// Sends due slots after a step of a TLS handshake. A step takes up to a quarter of a
    /// millisecond, so a batch of them would delay sends by 15 ms. Slots of a closed loop are due
    /// as soon as a connection is free, such as the one that this step may have opened.
    #[inline(never)]
    fn end_step(&mut self) {
        let now = self.backend.now();
        if let Some(stop_at) = self.control.stop_requested() {
            self.check_stop(stop_at);
        }
        let is_full = self.slots.sheds(self.pool.connections.in_flight());
        let is_due = self.slots.is_due(&self.pool.timeline, now);
        if ((is_full || self.is_ready()) && is_due) || self.pool.has_due_user(now) {
            self.dispatch(now);
            self.backend.submit();
        }
    }

    #[inline]
    fn act(&mut self, conn: ConnId, action: Action) {
        match action {
            Action::None => {}
            Action::Discard(bytes) => self.backend.discard(conn, bytes),
            Action::Close(how) => self.backend.close(conn, how),
            Action::Failed => {
                let bytes = self.backend.unsent_bytes();
                self.handler.lane.unsend(&mut self.pool, bytes, self.source.any());
                self.backend.close(conn, Close::Reset);
            }
        }
    }

    /// Handles the connections whose timers are due or whose delays are over. Returns true if there
    /// were any.
    fn expire(&mut self, now: Nanos) -> bool {
        let mut have_come = self.pool.connections.end_delays(now);
        while let Some(conn) = self.pool.take_due(now) {
            let action = self.handler.expire(&mut self.pool, conn, now);
            if self.turn.has_pending {
                self.flush_pending(conn);
            }
            self.act(conn, action);
            have_come = true;
        }
        have_come
    }

    /// Returns the time to sleep until.
    fn next_wake(&mut self) -> Nanos {
        let Timeline { start, t0, t1, drain_end } = self.pool.timeline;
        let mut until = self.pool.connections.next_at().min(drain_end);
        until =
            until.min(self.pool.recorder().next_at(&self.pool.timeline)).min(self.live.frame_at);
        // A stop request that was handled lies in the past, and would keep the worker from
        // sleeping.
        if !self.stage.is_stopped {
            until = until.min(self.control.stop_at());
        }
        if self.phases.t0_ns == 0 {
            until = until.min(t0);
        }
        if self.phases.t1_ns == 0 {
            until = until.min(t1);
        }
        let is_full = self.slots.sheds(self.pool.connections.in_flight());
        let slot = match self.slots.next_tick(&self.pool.timeline) {
            // A slot that is shed needs no request.
            Some(due) if is_full => due,
            Some(due) => self.source.lead(&self.pool.timeline, due, self.turn.now),
            // A closed loop sends as soon as it can. It waits only for the start, and for a script
            // that ran out of its share of a turn.
            None if self.turn.now < start => start,
            None if self.source.is_behind => self.turn.now,
            None if self.source.is_starved() => self.turn.now.after(STARVED_POLL_NS),
            None => Nanos::MAX,
        };
        let slot = match is_full || self.is_ready() {
            true => slot,
            // A slot without a connection may need a further one.
            false if self.pool.may_open() && self.source.has_more() => {
                self.pool.grows_at(&self.slots)
            }
            false => Nanos::MAX,
        };
        if !self.stage.is_over(&self.pool.timeline, self.turn.now) {
            // If the load ends with the window, not even slots due before t1 are sent later.
            if slot < t1 || self.slots.has_tail {
                until = until.min(slot);
            }
            if self.pool.ledger.has_users() {
                until = until.min(self.pool.next_user_at());
            }
            if self.can_resend() {
                until = until.min(self.turn.now);
            }
        }
        // Idle time is used to call the script for future slots.
        if self.has_time_ahead() {
            until = until.min(self.turn.now);
        }
        until
    }

    /// Runs the rest of the drain: sends nothing more, and awaits the responses in flight. Then
    /// counts what servers still send, where that is listened for. Returns the end of the drain.
    fn drain(&mut self) -> io::Result<Nanos> {
        self.stage.is_sending = false;
        self.backend.submit();
        self.pool.record_open_at_end();
        let mut now = Nanos(self.phases.tail_end_ns);
        let mut end = self.pool.timeline.drain_end;
        let mut drained_at = None;
        loop {
            // A stop request that was handled has set the drain's end.
            let stop_at = if self.stage.is_stopped { Nanos::MAX } else { self.control.stop_at() };
            let in_flight = self.pool.connections.in_flight();
            let open = self.pool.connections.open();
            let is_over = now >= end.min(stop_at);
            match drained_at {
                None if in_flight == 0 || is_over => {
                    drained_at = Some(now);
                    self.handler.censor(&mut self.pool, now);
                    end = now.after(listen_ns(self.job, self.pool.recorder().service_max_ns()));
                    continue;
                }
                Some(drained_at) if is_over || open == 0 => return Ok(drained_at),
                _ => {}
            }
            let until = self.pool.next_deadline().min(end).min(stop_at);
            let until = until.min(self.pool.recorder().interval_end()).min(self.live.frame_at);
            self.backend.wait(until, WaitPolicy::Sleep)?;
            let called_at = self.process_events();
            now = self.backend.now();
            self.expire(now.min(called_at));
            self.observe(now);
        }
    }
}

/// Time after the drain in which messages of servers are counted: a pushed one that took the place
/// of an echo leaves one over (METHOD 1.22). It is 0 unless echoes are told apart by their order.
fn listen_ns(job: &Job, service_max_ns: u64) -> u64 {
    if !job.plan.echoes_in_order() || job.ending.abandons {
        return 0;
    }
    let longest_ns = job.plan.load.timeout_ns.min(LISTEN_MAX_NS);
    service_max_ns.saturating_mul(2).max(LISTEN_MIN_NS).min(longest_ns)
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
