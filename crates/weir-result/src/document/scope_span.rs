//! The time of a scope of requests, and the load in it.

use crate::plan::Plan;

/// The time of a scope.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScopeSpan {
    /// Length in nanoseconds.
    pub(super) length_ns: u64,
    /// True if the load is the same all the time: only then are slices samples of one distribution.
    pub(super) is_one_load: bool,
    /// True if no request has a due time: its response time is its service time.
    pub(super) has_one_time: bool,
}

impl ScopeSpan {
    /// Returns the span of a scope of `plan`, whose load is the same all the time within it or not.
    pub(super) fn of(plan: &Plan, is_one_load: bool, length_ns: u64) -> ScopeSpan {
        ScopeSpan { length_ns, is_one_load, has_one_time: !plan.has_due_times() }
    }
}
