//! The memory that kept bodies may take, over all connections of a process. Knows nothing of what
//! is kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that connections may hold together for bodies. A clone is the same budget.
#[derive(Clone, Debug)]
pub struct BodyBudget(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    limit: usize,
    /// Of `limit`: not held. Written where a buffer grows or is given back, not per body.
    left: AtomicUsize,
}

impl BodyBudget {
    /// A budget of so many bytes.
    pub fn new(limit: usize) -> BodyBudget {
        BodyBudget(Arc::new(Shared { limit, left: AtomicUsize::new(limit) }))
    }

    /// Takes `bytes`, if so many are left.
    pub(crate) fn take(&self, bytes: usize) -> bool {
        let BodyBudget(shared) = self;
        let less = |left: usize| left.checked_sub(bytes);
        shared.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }

    /// Gives back what was taken.
    pub(crate) fn give_back(&self, bytes: usize) {
        let BodyBudget(shared) = self;
        shared.left.fetch_add(bytes, Ordering::Relaxed);
    }

    /// True while there is enough for buffers to be kept that nothing is in.
    pub(crate) fn is_ample(&self) -> bool {
        let BodyBudget(shared) = self;
        shared.left.load(Ordering::Relaxed) >= shared.limit / 2
    }

    /// Bytes that are held.
    pub fn held(&self) -> usize {
        let BodyBudget(shared) = self;
        shared.limit - shared.left.load(Ordering::Relaxed)
    }
}

impl Default for BodyBudget {
    /// 256 MiB.
    fn default() -> BodyBudget {
        BodyBudget::new(256 << 20)
    }
}
