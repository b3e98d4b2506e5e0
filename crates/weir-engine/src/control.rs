//! What the workers of one run share: the start barrier and the request to stop. Nothing here is
//! written while the load runs, so the line it lies on stays in every core's cache.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use weir_io::{Nanos, Waker};

/// From the last worker's arrival to the schedule's start: long enough for every worker to wake.
const LEAD_NS: u64 = 5_000_000;

/// From the request to stop to the instant it names, so that no worker has already passed it.
const STOP_LEAD_NS: u64 = 2_000_000;

/// The start barrier and the request to stop.
#[derive(Debug)]
pub struct Control {
    workers: u32,
    arrived: AtomicU32,
    start_at: AtomicU64,
    stop_at: AtomicU64,
    waker: Option<Waker>,
}

impl Control {
    /// For `workers` workers; `waker` ends the sleep of those whose backends were made with it.
    pub fn new(workers: u32, waker: Option<Waker>) -> Control {
        Control {
            workers,
            arrived: AtomicU32::new(0),
            start_at: AtomicU64::new(u64::MAX),
            stop_at: AtomicU64::new(u64::MAX),
            waker,
        }
    }

    /// What the workers' backends are to be made with.
    pub(crate) fn waker(&self) -> Option<Waker> {
        self.waker.clone()
    }

    /// Tells that a worker's connections are up or have failed; the last one sets the start.
    pub(crate) fn arrive(&self, now: Nanos) {
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.workers {
            // A worker wakes in some µs; with thousands of them on few cores, later.
            let lead_ns = LEAD_NS + 2_000 * u64::from(self.workers);
            self.start_at.store(now.after(lead_ns).0, Ordering::Release);
            self.wake_all();
        }
    }

    /// S, once every worker has arrived.
    #[inline]
    pub(crate) fn start_at(&self) -> Option<Nanos> {
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

    fn wake_all(&self) {
        if let Some(waker) = &self.waker {
            waker.wake();
        }
    }
}
