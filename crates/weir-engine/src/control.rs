//! State that the workers of one run share: the start barrier, the stop request, and the callback
//! each script is in. Only the last, which has cache lines of its own, is written while the load
//! runs. So the rest stays in every core's cache. It may call time alone.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use weir_io::{Nanos, Waker};
use weir_result::{Callback, Part, Plan};
use weir_script::ScriptError;

use crate::time::{Timeline, WarmupBoard};

/// Delay from the last worker's arrival to the start of the schedule, in nanoseconds: long enough
/// for every worker to wake.
const LEAD_NS: u64 = 5_000_000;

/// Delay from the stop request to the stop, in nanoseconds, so that no worker has already passed
/// the instant.
const STOP_LEAD_NS: u64 = 2_000_000;

/// The callback that a worker is in, and its start time. The thread that waits for the workers
/// reads it.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct CallbackWatch {
    /// Start time in nanoseconds since the epoch, shifted left by two bits that name the callback;
    /// 0 outside callbacks.
    entered: AtomicU64,
}

impl CallbackWatch {
    #[inline]
    pub(crate) fn enter(&self, callback: Callback, now: Nanos) {
        self.entered.store(now.0 << 2 | (callback as u64 + 1), Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn leave(&self) {
        self.entered.store(0, Ordering::Relaxed);
    }

    /// Returns the callback that has not returned, and the time of the call.
    pub(crate) fn stuck_in(&self) -> Option<(Callback, Nanos)> {
        let entered = self.entered.load(Ordering::Relaxed);
        let index = (entered & 3).checked_sub(1)?;
        Some((Callback::ALL[index as usize], Nanos(entered >> 2)))
    }
}

/// A callback that failed, and its worker.
#[derive(Clone, Debug)]
pub struct ScriptFailure {
    /// Worker number, from 0.
    pub worker: u32,
    /// The script's error.
    pub error: ScriptError,
}

/// The start barrier, the stop request, and the first script failure.
#[derive(Debug)]
pub struct Control {
    workers: u32,
    arrived: AtomicU32,
    /// Time at which the first worker began to connect; [`Nanos::MAX`] until then.
    connect_from: AtomicU64,
    /// True if a worker has a connection or needs none.
    is_connected: AtomicBool,
    /// The start, once all workers have arrived; `None` in it if none has a connection.
    start: OnceLock<Option<Nanos>>,
    /// Earliest start of the schedule.
    not_before: Nanos,
    /// True if the schedule starts when [`Control::begin_at`] says so.
    is_held: bool,
    stop_at: AtomicU64,
    /// End of the lease under which the load runs; [`Nanos::MAX`] without one.
    lease_until: AtomicU64,
    pub(crate) waker: Option<Waker>,
    watches: Box<[CallbackWatch]>,
    /// Part of the plan that these workers carry out.
    part: Option<Part>,
    /// Begin of the window, if the warm-up ends by detection.
    t0_at: OnceLock<Nanos>,
    board: OnceLock<WarmupBoard>,
    failures: SourceFailures,
}

/// The first failures of what makes requests, which stop a run in order.
#[derive(Debug, Default)]
struct SourceFailures {
    script: Mutex<Option<ScriptFailure>>,
    /// Reason why a list could not be read to its end.
    list: OnceLock<String>,
}

impl Control {
    /// Returns the control of `workers` workers; `waker` wakes those whose backends were made with
    /// it.
    pub fn new(workers: u32, waker: Option<Waker>) -> Control {
        Control {
            workers,
            arrived: AtomicU32::new(0),
            connect_from: AtomicU64::new(u64::MAX),
            is_connected: AtomicBool::new(false),
            start: OnceLock::new(),
            not_before: Nanos::ZERO,
            is_held: false,
            stop_at: AtomicU64::new(u64::MAX),
            lease_until: AtomicU64::new(u64::MAX),
            waker,
            watches: (0..workers).map(|_| CallbackWatch::default()).collect(),
            part: None,
            t0_at: OnceLock::new(),
            board: OnceLock::new(),
            failures: SourceFailures::default(),
        }
    }

    /// Returns the control of the workers that this run of `plan` starts, whose schedule starts at
    /// `not_before` or later: parts of a plan that are given the same instant start together.
    pub fn of_plan(plan: &Plan, not_before: Nanos, waker: Option<Waker>) -> Control {
        Control { part: plan.part, not_before, ..Control::new(plan.own_threads(), waker) }
    }

    /// Returns a control whose workers wait with open connections until [`Control::begin_at`] sets
    /// the start.
    pub fn held(self) -> Control {
        Control { is_held: true, ..self }
    }

    /// Returns the watch in which worker `number` of the plan records its current callback.
    pub(crate) fn watch(&self, number: u32) -> &CallbackWatch {
        let rank = self.part.map_or(number, |part| part.rank_of(number));
        &self.watches[rank as usize % self.watches.len()]
    }

    /// Records that a callback of worker `worker` failed, and stops the run in order. Only the
    /// first failure is kept.
    #[cold]
    pub(crate) fn script_failed(&self, worker: u32, error: ScriptError, now: Nanos) {
        if let Ok(mut failure) = self.failures.script.lock() {
            failure.get_or_insert(ScriptFailure { worker, error });
        }
        self.stop(now);
    }

    /// Records that a row of the list cannot be read, and stops the run in order. Only the first
    /// failure is kept.
    #[cold]
    pub(crate) fn list_failed(&self, text: String, now: Nanos) {
        self.failures.list.get_or_init(|| text);
        self.stop(now);
    }

    /// Returns the reason why a row of the list could not be read.
    pub fn list_failure(&self) -> Option<&str> {
        self.failures.list.get().map(String::as_str)
    }

    /// Returns the first script failure, if there was one.
    pub fn script_failure(&self) -> Option<ScriptFailure> {
        self.failures.script.lock().ok()?.clone()
    }

    /// True if a script or the list has failed, which ends the load.
    pub(crate) fn has_source_failed(&self) -> bool {
        self.script_failure().is_some() || self.list_failure().is_some()
    }

    /// Records that a worker begins to connect. Returns the earliest such time recorded so far.
    pub(crate) fn begin_connecting(&self, now: Nanos) -> Nanos {
        Nanos(self.connect_from.fetch_min(now.0, Ordering::AcqRel).min(now.0))
    }

    /// Records that a worker's connections are open or have failed. The last worker sets the start,
    /// or ends the run if no worker `can_begin`.
    pub(crate) fn arrive(&self, now: Nanos, can_begin: bool) {
        self.is_connected.fetch_or(can_begin, Ordering::AcqRel);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.workers {
            // A worker wakes within some µs; with thousands of workers on few cores, later.
            let lead_ns = LEAD_NS + 2_000 * u64::from(self.workers);
            let start_at = now.after(lead_ns).max(self.not_before);
            let can_begin = self.is_connected.load(Ordering::Acquire);
            if self.is_held && can_begin {
                return;
            }
            self.start.get_or_init(|| can_begin.then_some(start_at));
            self.wake_all();
        }
    }

    /// True if every worker has arrived, and the start is not set.
    pub fn awaits_start(&self) -> bool {
        self.arrived.load(Ordering::Acquire) == self.workers && self.start.get().is_none()
    }

    /// Sets the start of a schedule that [awaits it](Self::awaits_start). The first call decides.
    pub fn begin_at(&self, start: Nanos) {
        self.start.get_or_init(|| Some(start));
        self.wake_all();
    }

    /// True if the run ended at the barrier: every attempt to connect failed, and the run needs at
    /// least one connection.
    pub fn is_unconnected(&self) -> bool {
        self.start.get() == Some(&None)
    }

    /// Returns S, once every worker has arrived.
    #[inline]
    pub fn start_at(&self) -> Option<Nanos> {
        self.start.get().copied().flatten()
    }

    /// Ends the run in order, shortly after `now`; the first call decides.
    pub fn stop(&self, now: Nanos) {
        self.stop_exactly_at(now.after(STOP_LEAD_NS));
    }

    /// Ends the run in order at `at`, for simulated runs.
    pub fn stop_exactly_at(&self, at: Nanos) {
        self.stop_at.fetch_min(at.0, Ordering::AcqRel);
        self.wake_all();
    }

    /// Lets the load run until a time, unless a later one is known. A lease that has ended by `now`
    /// is not renewed: the load is stopped at its end, however late that is noticed.
    pub fn renew_lease(&self, now: Nanos, until: Nanos) {
        let renewed = |known: u64| match known {
            u64::MAX => Some(until.0),
            known => (now.0 < known).then_some(known.max(until.0)),
        };
        // One that has ended stays as it is.
        let _ended = self.lease_until.fetch_update(Ordering::AcqRel, Ordering::Acquire, renewed);
    }

    /// Stops the load at the end of its lease, if that has come.
    #[inline]
    pub(crate) fn check_lease(&self, now: Nanos) {
        let until = self.lease_until.load(Ordering::Relaxed);
        if now.0 >= until && self.stop_at().0 > until {
            self.stop_exactly_at(Nanos(until));
        }
    }

    /// Returns the time at which the run stops, [`Nanos::MAX`] if no stop is requested.
    #[inline]
    pub(crate) fn stop_at(&self) -> Nanos {
        Nanos(self.stop_at.load(Ordering::Relaxed))
    }

    /// Returns the time at which the run stops, if a stop is requested.
    #[inline]
    pub(crate) fn stop_requested(&self) -> Option<Nanos> {
        Some(self.stop_at()).filter(|at| *at != Nanos::MAX)
    }

    /// Returns the counters in which workers sum the responses of a warm-up of at most `warmup_ns`.
    pub(crate) fn board(&self, warmup_ns: u64) -> &WarmupBoard {
        self.board.get_or_init(|| WarmupBoard::new(warmup_ns))
    }

    /// Begins the window at `t0`, because the load is steady.
    pub(crate) fn begin_window(&self, t0: Nanos) {
        self.t0_at.get_or_init(|| t0);
        self.wake_all();
    }

    /// Returns the start of the window, once the detection of the warm-up's end has set it.
    #[inline]
    pub(crate) fn window_begins_at(&self) -> Option<Nanos> {
        self.t0_at.get().copied()
    }

    /// Returns t0 and t1 of `plan`, once S is set. t1 is [`Nanos::MAX`] if a number of responses
    /// ends the window. Both may come earlier if the warm-up ends by detection.
    pub fn window(&self, plan: &Plan) -> Option<(Nanos, Nanos)> {
        let start = self.start_at()?;
        let t0 = self.window_begins_at().unwrap_or(start.after(plan.load.warmup.span_ns));
        Some((t0, Timeline::with_window(plan, start, t0).t1))
    }

    fn wake_all(&self) {
        if let Some(waker) = &self.waker {
            waker.wake();
        }
    }
}
