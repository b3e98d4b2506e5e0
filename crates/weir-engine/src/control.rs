//! What the workers of one run share: the start barrier, the request to stop, and where each one's
//! script is. But for the last, which lies on lines of its own, nothing here is written while the
//! load runs, so it stays in every core's cache.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use weir_io::{Nanos, Waker};
use weir_run::{Callback, Plan};
use weir_script::ScriptError;

use crate::settling::Board;
use crate::timeline::Timeline;

/// From the last worker's arrival to the schedule's start: long enough for every worker to wake.
const LEAD_NS: u64 = 5_000_000;

/// From the request to stop to the instant it names, so that no worker has already passed it.
const STOP_LEAD_NS: u64 = 2_000_000;

/// Which callback a worker is in, and since when, for whoever waits for it.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Watch {
    /// Nanoseconds since the epoch, shifted by two bits that name the callback; 0 in none.
    entered: AtomicU64,
}

impl Watch {
    #[inline]
    pub(crate) fn enter(&self, callback: Callback, now: Nanos) {
        self.entered.store(now.0 << 2 | (callback as u64 + 1), Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn leave(&self) {
        self.entered.store(0, Ordering::Relaxed);
    }

    /// The callback that has not returned, and when it was called.
    pub(crate) fn stuck_in(&self) -> Option<(Callback, Nanos)> {
        let entered = self.entered.load(Ordering::Relaxed);
        let callback = match entered & 3 {
            0 => return None,
            1 => Callback::Request,
            2 => Callback::Delay,
            _ => Callback::Response,
        };
        Some((callback, Nanos(entered >> 2)))
    }
}

/// A callback that failed, and whose.
#[derive(Clone, Debug)]
pub struct ScriptFailure {
    /// The worker, from 0.
    pub worker: u32,
    /// What went wrong.
    pub error: ScriptError,
}

/// The start barrier, the request to stop, and the first failure of a script.
#[derive(Debug)]
pub struct Control {
    workers: u32,
    arrived: AtomicU32,
    /// When the first worker began to connect; [`Nanos::MAX`] until then.
    connect_from: AtomicU64,
    /// A worker has a connection, or needs none.
    is_connected: AtomicBool,
    /// All have arrived, and none has one.
    is_unconnected: AtomicBool,
    start_at: AtomicU64,
    stop_at: AtomicU64,
    waker: Option<Waker>,
    watches: Box<[Watch]>,
    /// When the window begins, where the load decides; [`Nanos::MAX`] until then.
    t0_at: AtomicU64,
    board: OnceLock<Board>,
    failure: Mutex<Option<ScriptFailure>>,
}

impl Control {
    /// For `workers` workers; `waker` ends the sleep of those whose backends were made with it.
    pub fn new(workers: u32, waker: Option<Waker>) -> Control {
        Control {
            workers,
            arrived: AtomicU32::new(0),
            connect_from: AtomicU64::new(u64::MAX),
            is_connected: AtomicBool::new(false),
            is_unconnected: AtomicBool::new(false),
            start_at: AtomicU64::new(u64::MAX),
            stop_at: AtomicU64::new(u64::MAX),
            waker,
            watches: (0..workers).map(|_| Watch::default()).collect(),
            t0_at: AtomicU64::new(u64::MAX),
            board: OnceLock::new(),
            failure: Mutex::new(None),
        }
    }

    /// Where worker `number` tells in which callback it is.
    pub(crate) fn watch(&self, number: u32) -> &Watch {
        &self.watches[number as usize % self.watches.len()]
    }

    /// A callback of worker `number` failed: the run ends in order. The first failure is kept.
    #[cold]
    pub(crate) fn script_failed(&self, worker: u32, error: ScriptError, now: Nanos) {
        if let Ok(mut failure) = self.failure.lock() {
            failure.get_or_insert(ScriptFailure { worker, error });
        }
        self.stop(now);
    }

    /// The first failure of a script, if there was one.
    pub fn script_failure(&self) -> Option<ScriptFailure> {
        self.failure.lock().ok()?.clone()
    }

    /// What the workers' backends are to be made with.
    pub(crate) fn waker(&self) -> Option<Waker> {
        self.waker.clone()
    }

    /// Tells that a worker begins to connect; returns when the first of them did, as far as is
    /// known.
    pub(crate) fn begin_connecting(&self, now: Nanos) -> Nanos {
        Nanos(self.connect_from.fetch_min(now.0, Ordering::AcqRel).min(now.0))
    }

    /// Tells that a worker's connections are up or have failed; the last one sets the start, or
    /// ends the run if no worker `can_begin`.
    pub(crate) fn arrive(&self, now: Nanos, can_begin: bool) {
        self.is_connected.fetch_or(can_begin, Ordering::AcqRel);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.workers {
            if !self.is_connected.load(Ordering::Acquire) {
                self.is_unconnected.store(true, Ordering::Release);
                return self.wake_all();
            }
            // A worker wakes in some µs; with thousands of them on few cores, later.
            let lead_ns = LEAD_NS + 2_000 * u64::from(self.workers);
            self.start_at.store(now.after(lead_ns).0, Ordering::Release);
            self.wake_all();
        }
    }

    /// True if the run ended at the barrier: every attempt to connect failed, and it needs one that
    /// does not.
    pub fn is_unconnected(&self) -> bool {
        self.is_unconnected.load(Ordering::Acquire)
    }

    /// S, once every worker has arrived.
    #[inline]
    pub fn start_at(&self) -> Option<Nanos> {
        let at = self.start_at.load(Ordering::Acquire);
        (at != u64::MAX).then_some(Nanos(at))
    }

    /// Ends the run in order, a little after `now`; the first call decides.
    pub fn stop(&self, now: Nanos) {
        self.stop_exactly_at(now.after(STOP_LEAD_NS));
    }

    /// Ends the run in order at `at`, for simulated runs.
    pub fn stop_exactly_at(&self, at: Nanos) {
        self.stop_at.fetch_min(at.0, Ordering::AcqRel);
        self.wake_all();
    }

    /// When the run is to stop, [`Nanos::MAX`] when nobody has asked for that.
    #[inline]
    pub(crate) fn stop_at(&self) -> Nanos {
        Nanos(self.stop_at.load(Ordering::Relaxed))
    }

    /// Where workers add up what is answered in a warm-up of at most `warmup_ns`.
    pub(crate) fn board(&self, warmup_ns: u64) -> &Board {
        self.board.get_or_init(|| Board::new(warmup_ns))
    }

    /// The load is steady: the window begins at `t0`.
    pub(crate) fn begin_window(&self, t0: Nanos) {
        self.t0_at.store(t0.0, Ordering::Release);
        self.wake_all();
    }

    /// When the window begins, once the load has decided.
    #[inline]
    pub(crate) fn window_begins_at(&self) -> Option<Nanos> {
        let at = self.t0_at.load(Ordering::Acquire);
        (at != u64::MAX).then_some(Nanos(at))
    }

    /// t0 and t1 of `plan`, once S is known; t1 is [`Nanos::MAX`] where answers decide it, and both
    /// may come earlier where the load does.
    pub fn window(&self, plan: &Plan) -> Option<(Nanos, Nanos)> {
        let mut timeline = Timeline::new(plan, self.start_at()?);
        if let Some(t0) = self.window_begins_at() {
            timeline = Timeline::with_window(plan, timeline.start, t0);
        }
        Some((timeline.t0, timeline.t1))
    }

    fn wake_all(&self) {
        if let Some(waker) = &self.waker {
            waker.wake();
        }
    }
}
