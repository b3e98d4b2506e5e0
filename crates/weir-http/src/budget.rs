//! Memory limit for stored bodies, over all connections of a process. Independent of the content.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Memory limit that connections share for bodies, in bytes. A clone is the same budget.
#[derive(Clone, Debug)]
pub struct BodyBudget(Arc<BudgetState>);

#[derive(Debug)]
struct BudgetState {
    limit: usize,
    /// Part of `limit` that is free. Written only when a buffer grows or is freed, not per body.
    left: AtomicUsize,
}

impl BodyBudget {
    /// Creates a budget of `limit` bytes.
    pub fn new(limit: usize) -> BodyBudget {
        BodyBudget(Arc::new(BudgetState { limit, left: AtomicUsize::new(limit) }))
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
