//! The time of a scope of requests, and the load in it.

use crate::plan::Load;

/// The time of a scope.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScopeSpan {
    /// Length in nanoseconds.
    pub(super) length_ns: u64,
    /// True if the load is the same all the time: only then are slices samples of one distribution.
    pub(super) is_one_load: bool,
    /// True in a closed loop, whose response time is its service time.
    pub(super) has_one_time: bool,
}

impl ScopeSpan {
    /// Returns the span of a scope of `load`, which is the same all the time within it or not.
    pub(super) fn of(load: &Load, is_one_load: bool, length_ns: u64) -> ScopeSpan {
        ScopeSpan { length_ns, is_one_load, has_one_time: !load.is_open_loop() }
    }
}
