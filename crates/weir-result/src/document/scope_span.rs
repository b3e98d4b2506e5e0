//! The time of a scope of requests, and the load in it.

/// The time of a scope.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScopeSpan {
    /// Length in nanoseconds.
    pub(super) length_ns: u64,
    /// True if the load is the same all the time: only then are slices samples of one distribution.
    pub(super) is_one_load: bool,
    /// True if requests are due at planned times.
    pub(super) is_open_loop: bool,
}
