//! Memory limit for stored bodies, over all connections of a process. Independent of the content.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Greatest length of the stored part of one body, in bytes, unless another is given.
const BODY_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Memory limit that connections share for bodies, in bytes. A clone is the same budget.
#[derive(Clone, Debug)]
pub struct BodyBudget(Arc<BudgetState>);

#[derive(Debug)]
struct BudgetState {
    limit: usize,
    /// Greatest length of the stored part of one body.
    body_max: usize,
    /// Part of `limit` that is free. Written only when a buffer grows or is freed, not per body.
    left: AtomicUsize,
}

impl BodyBudget {
    /// Creates a budget of `limit` bytes, for bodies of which at most 64 MiB are stored.
    pub fn new(limit: usize) -> BodyBudget {
        BodyBudget::of_bodies(limit, BODY_BYTES_MAX)
    }

    /// Creates a budget of `limit` bytes, for bodies of which at most `body_max` bytes are stored.
    pub fn of_bodies(limit: usize, body_max: usize) -> BodyBudget {
        BodyBudget(Arc::new(BudgetState { limit, body_max, left: AtomicUsize::new(limit) }))
    }

    /// Returns the greatest number of bytes that are stored of one body.
    pub(crate) fn body_max(&self) -> usize {
        self.0.body_max
    }

    /// Takes `bytes`, if that many are free. Returns true if so.
    pub(crate) fn take(&self, bytes: usize) -> bool {
        let less = |left: usize| left.checked_sub(bytes);
        self.0.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }

    /// Returns bytes that were taken.
    pub(crate) fn give_back(&self, bytes: usize) {
        self.0.left.fetch_add(bytes, Ordering::Relaxed);
    }

    /// True while at least half the budget is free, so that empty buffers may be kept.
    pub(crate) fn is_ample(&self) -> bool {
        self.0.left.load(Ordering::Relaxed) >= self.0.limit / 2
    }

    /// Returns the number of bytes taken.
    pub fn held(&self) -> usize {
        self.0.limit - self.0.left.load(Ordering::Relaxed)
    }
}

impl Default for BodyBudget {
    /// Creates a budget of 256 MiB.
    fn default() -> BodyBudget {
        BodyBudget::new(256 << 20)
    }
}
