//! The worker: one thread, one machine, one loop.
//!
//! connect → start barrier → warm-up → window → tail → drain (METHOD 1.5). Each turn of the loop
//! waits, takes in what has happened, looks at what is overdue and sends what is due. A worker
//! shares nothing with others but [`Control`], and reads no clock but its backend's.

use std::io;

use weir_io::{Backend, Close, ConnId, Nanos, Segment, SocketOptions, WaitPolicy};
use weir_run::{Load, Measurements, Pacing, WorkerPhases};

use crate::connection::State;
use crate::control::Control;
use crate::exchange::Phase;
use crate::job::Job;
use crate::recorder::{Live, LiveSender, Recorder};
use crate::requests::RequestSource;
use crate::schedule::Schedule;
use crate::timeline::Timeline;
use crate::traffic::{Action, Limits, Traffic};

/// Sends that leave with one stamp: the stamp is taken before all of them, so the last of a batch
/// is overstated by what the others take (about 3 µs each on loopback).
const SEND_BATCH: usize = 16;

/// Events handled before due slots are looked at again, so that a burst of answers does not hold up
/// sends (METHOD 1.8).
const EVENT_BATCH: usize = 64;

/// Sockets of one worker that may be connecting at once: enough to hide a round trip, few enough
/// not to be a flood.
const CONNECTING_MAX: u32 = 512;

/// How long an interrupted run waits for the answers under way.
const INTERRUPTED_TAIL_NS: u64 = 1_000_000_000;

/// Runs worker `number` of `job` on `backend`, in the calling thread.
///
/// # Errors
/// When the machine itself fails.
pub fn run_on<B: Backend>(
    job: &Job,
    number: u32,
    control: &Control,
    backend: B,
    live: Option<LiveSender>,
) -> io::Result<Measurements> {
    Worker::new(job, number, control, backend, live).run()
}

/// One worker.
pub(crate) struct Worker<'a, B> {
    job: &'a Job,
    control: &'a Control,
    backend: B,
    traffic: Traffic,
    schedule: Schedule,
    requests: RequestSource,
    live: Live,
    phases: WorkerPhases,
    /// Connections with requests to hand to the backend.
    dirty: Vec<ConnId>,
    segments: Vec<Segment>,
    /// Requests of M still to be dispatched, in a closed loop with a number of them.
    quota: Option<u64>,
    /// Something may still be sent.
    is_sending: bool,
    is_interrupted: bool,
    policy: WaitPolicy,
    /// The time at the end of the last turn.
    now: Nanos,
}

impl<'a, B: Backend> Worker<'a, B> {
    /// Worker `number` of the job, on `backend`.
    pub(crate) fn new(
        job: &'a Job,
        number: u32,
        control: &'a Control,
        mut backend: B,
        live: Option<LiveSender>,
    ) -> Worker<'a, B> {
        let deal = job.deal(number);
        let plan = &job.plan;
        let is_open_loop = plan.load != Load::ClosedLoop;
        let limits = Limits {
            connections: deal.own_connections(),
            depth: plan.pipeline,
            timeout_ns: plan.timeout_ns,
            connect_timeout_ns: plan.connect_timeout_ns,
            discard: job.discard,
            fill: !is_open_loop,
        };
        let never = Timeline::new(plan, Nanos::MAX);
        let recorder = Recorder::new(is_open_loop, never, limits.connections.into());
        let quota = plan.requests.filter(|_| !is_open_loop);
        Worker {
            requests: RequestSource::of(&job.request, plan.pipeline, &mut backend),
            schedule: Schedule::new(plan.load, deal),
            traffic: Traffic::new(limits, recorder),
            live: Live { worker: number, sender: live },
            phases: WorkerPhases {
                worker: number,
                cpu: job.cpu_of(number),
                connections: limits.connections,
                ..WorkerPhases::default()
            },
            dirty: Vec::with_capacity(SEND_BATCH),
            segments: Vec::new(),
            quota: quota.map(|requests| deal.owned_below(requests)),
            is_sending: false,
            is_interrupted: false,
            policy: match plan.pacing {
                Pacing::Spin => WaitPolicy::Spin,
                Pacing::Hybrid if is_open_loop => WaitPolicy::Hybrid,
                _ => WaitPolicy::Sleep,
            },
            now: Nanos::ZERO,
            job,
            control,
            backend,
        }
    }

    /// Runs the worker's part of the job from the first connect to the last close.
    ///
    /// # Errors
    /// When the machine itself fails.
    pub(crate) fn run(mut self) -> io::Result<Measurements> {
        if self.connect()? {
            self.load()?;
            self.drain()?;
        }
        let end = self.close_all();
        self.phases.drained_ns = end.0;
        let interim = self.traffic.interim_responses();
        self.traffic.recorder.interim_responses(interim);
        let missing = self.quota.filter(|left| *left > 0 && self.job.plan.duration_ns.is_none());
        let quota = missing
            .filter(|_| !self.is_interrupted)
            .map(|left| left + self.traffic.recorder.measured());
        let tail_end = Nanos(self.phases.tail_end_ns);
        let mut measurements =
            self.traffic.recorder.finish(&mut self.schedule, quota, self.phases, tail_end);
        measurements.interrupted = self.is_interrupted;
        Ok(measurements)
    }

    /// Opens every connection, or lets each fail once, and passes the barrier. Returns whether
    /// there is a load to run.
    fn connect(&mut self) -> io::Result<bool> {
        let mut now = self.backend.now();
        self.phases.connect_ns = now.0;
        self.open(now);
        let mut has_arrived = false;
        loop {
            if !has_arrived && self.traffic.unresolved == 0 {
                has_arrived = true;
                self.phases.connected_ns = now.0;
                self.control.arrive(now);
            }
            if self.control.stop_at() <= now {
                self.is_interrupted = true;
                self.begin(Timeline::empty(now));
                self.traffic.recorder.open_at_t0(self.traffic.open);
                self.phases.tail_end_ns = now.0;
                return Ok(false);
            }
            if let Some(start) = self.control.start_at() {
                self.begin(Timeline::new(&self.job.plan, start));
                return Ok(true);
            }
            let until = self.traffic.deadlines.next().min(self.control.stop_at());
            now = self.turn(until, WaitPolicy::Sleep)?;
        }
    }

    /// S is known.
    fn begin(&mut self, timeline: Timeline) {
        self.phases.start_ns = timeline.start.0;
        self.traffic.recorder.begin(timeline);
        self.traffic.alive_at = timeline.start;
        self.is_sending = true;
    }

    /// Warm-up, window and tail.
    fn load(&mut self) -> io::Result<()> {
        loop {
            let (until, policy) = self.next_wake();
            let now = self.turn(until, policy)?;
            self.observe(now);
            let Timeline { t1, tail_end, .. } = self.traffic.recorder.timeline;
            if now >= tail_end || (now >= t1 && self.is_resolved()) {
                self.phases.tail_end_ns = now.0;
                return Ok(());
            }
        }
    }

    /// One turn of the loop; returns the time at its end.
    fn turn(&mut self, until: Nanos, policy: WaitPolicy) -> io::Result<Nanos> {
        self.backend.wait(until, policy)?;
        self.heed_stop();
        self.harvest();
        let mut now = self.backend.now();
        if self.expire(now) {
            // That may have taken long, and what is sent now must not be stamped as of then.
            now = self.backend.now();
        }
        // What it leaves to be submitted goes out first thing in the next wait.
        self.dispatch(now);
        self.open(now);
        self.now = now;
        Ok(now)
    }

    /// Cuts the window where a signal asked for it. Looked at before the events of a turn: whatever
    /// comes later than that instant is seen after it.
    fn heed_stop(&mut self) {
        let stop_at = self.control.stop_at();
        if stop_at != Nanos::MAX && self.is_sending && !self.is_interrupted {
            self.traffic.recorder.timeline.cut(stop_at, INTERRUPTED_TAIL_NS);
            self.is_interrupted = true;
        }
    }

    /// Takes in what has happened.
    fn harvest(&mut self) {
        let mut handled = 0;
        while let Some(event) = self.backend.next() {
            let (conn, at) = (event.conn, event.at);
            let action = self.traffic.handle(event);
            self.act(conn, action);
            handled += 1;
            if handled % EVENT_BATCH == 0 && self.has_due(at) {
                let now = self.backend.now();
                self.dispatch(now);
                self.backend.submit();
            }
        }
    }

    #[inline]
    fn act(&mut self, conn: ConnId, action: Action) {
        match action {
            Action::None => {}
            Action::Discard(bytes) => self.backend.discard(conn, bytes),
            Action::Close(how) => self.backend.close(conn, how),
        }
    }

    /// Looks at the connections whose deadlines have come; whether there were any.
    fn expire(&mut self, now: Nanos) -> bool {
        let mut have_come = false;
        while let Some(conn) = self.traffic.deadlines.take_due(now) {
            let action = self.traffic.expire(conn, now);
            self.act(conn, action);
            have_come = true;
        }
        have_come
    }

    /// Opens connections that are due to be opened.
    fn open(&mut self, now: Nanos) {
        while self.traffic.connecting < CONNECTING_MAX {
            let Some(conn) = self.traffic.take_to_open(now) else { return };
            let options = SocketOptions { stamped: false, discard: self.job.discard };
            self.backend.connect(conn, &self.job.endpoint, options);
        }
    }

    /// Whether a planned slot is due.
    fn has_due(&self, now: Nanos) -> bool {
        let start = self.traffic.recorder.timeline.start;
        self.schedule.peek().is_some_and(|offset_ns| start.after(offset_ns) <= now)
    }

    /// Sends what is due, as far as connections have room, in batches with a stamp of their own.
    /// The last batch is left to be submitted: most turns have only that one, and the wait that
    /// follows submits it without reading the clock around it.
    fn dispatch(&mut self, mut now: Nanos) {
        while self.is_sending {
            let Timeline { t1, tail_end, .. } = self.traffic.recorder.timeline;
            if now >= tail_end || (self.is_interrupted && now >= t1) {
                return;
            }
            while self.dirty.len() < SEND_BATCH && self.dispatch_one(now) {}
            let is_full = self.dirty.len() >= SEND_BATCH;
            self.flush();
            if !is_full {
                return;
            }
            now = self.backend.submit().after;
        }
    }

    /// Gives the next slot to a connection, if there are both.
    #[inline]
    fn dispatch_one(&mut self, now: Nanos) -> bool {
        let Some(conn) = self.traffic.lanes.peek() else { return false };
        let timeline = &self.traffic.recorder.timeline;
        let intended_at = match self.schedule.peek() {
            Some(offset_ns) => {
                let due = timeline.start.after(offset_ns);
                if due > now || (due >= timeline.t1 && !self.has_tail()) {
                    return false;
                }
                self.schedule.take();
                Some(due)
            }
            None => {
                let is_over = now >= timeline.t1 && !self.has_tail();
                if now < timeline.start || is_over || self.quota == Some(0) {
                    return false;
                }
                None
            }
        };
        let phase = self.traffic.dispatch(conn, self.requests.traits(), intended_at, now);
        if let (Some(left), Phase::Measured) = (&mut self.quota, phase) {
            *left -= 1;
        }
        if self.traffic.connection(conn).unsent == 1 {
            self.dirty.push(conn);
        }
        true
    }

    /// Whether slots after t1 are sent, to keep the load up while M is resolved. Whoever asked for
    /// a number of requests gets no more than that, and whoever interrupts wants an end.
    fn has_tail(&self) -> bool {
        self.job.plan.requests.is_none() && !self.is_interrupted
    }

    /// Hands the dispatched requests to the backend.
    fn flush(&mut self) {
        for conn in self.dirty.drain(..) {
            let unsent = std::mem::take(&mut self.traffic.connection(conn).unsent);
            self.segments.clear();
            self.requests.segments(unsent, &mut self.segments);
            self.backend.send(conn, &self.segments);
        }
    }

    /// Until when to sleep, and how.
    fn next_wake(&self) -> (Nanos, WaitPolicy) {
        let Timeline { start, t0, t1, tail_end, .. } = self.traffic.recorder.timeline;
        let mut until = self.traffic.deadlines.next().min(tail_end);
        until = until.min(self.traffic.recorder.interval_end());
        // Once heeded, the request to stop is past, and would keep the worker from sleeping.
        if !self.is_interrupted {
            until = until.min(self.control.stop_at());
        }
        if self.phases.t0_ns == 0 {
            until = until.min(t0);
        }
        if self.phases.t1_ns == 0 {
            until = until.min(t1);
        }
        let slot = match self.schedule.peek() {
            Some(offset_ns) => start.after(offset_ns),
            // A closed loop sends as soon as it may, so all there is to wait for is the start.
            None if self.now < start => start,
            None => Nanos::MAX,
        };
        // An interrupted run sends nothing from t1 on, not even what was due before.
        let is_over = self.is_interrupted && self.now >= t1;
        if !is_over && !self.traffic.lanes.is_empty() && (slot < t1 || self.has_tail()) {
            until = until.min(slot);
        }
        (until, self.policy)
    }

    /// Notes the phases as they pass.
    fn observe(&mut self, now: Nanos) {
        if self.is_exhausted(now) {
            self.traffic.recorder.timeline.cut(now, 0);
        }
        let Timeline { start, t0, t1, .. } = self.traffic.recorder.timeline;
        if self.phases.t0_ns == 0 && now >= t0 {
            self.phases.t0_ns = now.0;
            self.traffic.recorder.open_at_t0(self.traffic.open);
        }
        if self.phases.t1_ns == 0 && now >= t1 {
            self.phases.t1_ns = now.0;
        }
        if self.traffic.recorder.interval_end() <= now {
            let backlog = self.schedule.backlog(now.since(start));
            self.traffic.recorder.roll(now, self.traffic.in_flight, backlog, &self.live);
        }
    }

    /// Whether a closed loop with a number of requests is through, or will never be: nothing has
    /// gone well for as long as an answer and a connection may take together.
    fn is_exhausted(&self, now: Nanos) -> bool {
        let Some(left) = self.quota else { return false };
        let Timeline { t0, t1, .. } = self.traffic.recorder.timeline;
        if t1 <= now {
            return false;
        }
        let patience = self.traffic.limits.timeout_ns + self.traffic.limits.connect_timeout_ns;
        let is_dead = self.traffic.in_flight == 0 && now.since(self.traffic.alive_at) > patience;
        // A worker without a share is through at once, yet its window begins like all others.
        let is_through = left == 0 && self.traffic.recorder.unresolved() == 0;
        (is_through && now >= t0) || is_dead
    }

    /// Whether no member of M is left to be sent or answered.
    fn is_resolved(&self) -> bool {
        let Timeline { start, t1, .. } = self.traffic.recorder.timeline;
        let unsent = self.schedule.peek().is_some_and(|offset_ns| start.after(offset_ns) < t1);
        self.traffic.recorder.unresolved() == 0 && (!unsent || self.is_interrupted)
    }

    /// Sends nothing more, and awaits what is outstanding for at most the timeout.
    fn drain(&mut self) -> io::Result<()> {
        self.is_sending = false;
        self.backend.submit();
        let mut now = Nanos(self.phases.tail_end_ns);
        self.traffic.censor(now);
        let limit = match self.is_interrupted {
            true => now,
            false => now.after(self.traffic.limits.timeout_ns),
        };
        while self.traffic.in_flight > 0 && now < limit.min(self.control.stop_at()) {
            let until = self.traffic.deadlines.next().min(limit).min(self.control.stop_at());
            self.backend.wait(until, WaitPolicy::Sleep)?;
            self.harvest();
            now = self.backend.now();
            self.expire(now);
        }
        Ok(())
    }

    /// Closes every socket; returns when that was done.
    fn close_all(&mut self) -> Nanos {
        for conn in (0..self.traffic.limits.connections).map(ConnId) {
            match self.traffic.connection(conn).state {
                State::Closed { .. } | State::Queued => {}
                _ => self.backend.close(conn, Close::Graceful),
            }
        }
        self.backend.submit().after
    }
}
