//! A state's memory limit, as it applies to allocations by Rust code.
//!
//! An allocation beyond the limit raises a Lua error, which must not cross Rust frames. Rust code
//! therefore either checks first that there is room, or suspends the limit.

use mlua::Lua;

/// Bytes that one call from Rust may allocate beyond those it passes: tables and string headers.
pub(crate) const HEADROOM_BYTES: usize = 64 * 1024;

/// True if `bytes` and the headroom can be allocated, after a collection if necessary. A limit of 0
/// means none.
pub(crate) fn has_room(lua: &Lua, limit_bytes: usize, bytes: usize) -> bool {
    let fits = || limit_bytes == 0 || lua.used_memory() + bytes + HEADROOM_BYTES <= limit_bytes;
    fits() || (lua.gc_collect().is_ok() && fits())
}

/// Runs `work` without the limit and restores the limit afterwards.
pub(crate) fn without_limit<R>(lua: &Lua, limit_bytes: usize, work: impl FnOnce() -> R) -> R {
    const FAILS: &str = "states made by the binding have its allocator, which knows limits";
    lua.set_memory_limit(0).expect(FAILS);
    let result = work();
    lua.set_memory_limit(limit_bytes).expect(FAILS);
    result
}
