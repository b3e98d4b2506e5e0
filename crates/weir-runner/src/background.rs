//! Priority of the threads that run beside the load.

/// Lowers the priority of the calling thread, so that workers go first on a shared CPU. Without the
/// right to do so it has the usual one: that costs precision, but no result becomes false.
pub(crate) fn lower_priority() {
    let _usual = weir_sys::lower_priority();
}

/// Lets the calling thread run only on a CPU that no worker wants. For short work that may be late,
/// beside a load whose send times count.
pub(crate) fn yield_to_workers() {
    let _usual = weir_sys::run_when_idle();
}
