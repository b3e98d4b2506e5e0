//! A state's memory limit, where Rust code allocates in the state.
//!
//! An allocation beyond the limit raises a Lua error, which must not cross Rust frames. So Rust
//! code either looks first whether there is room, or works without the limit.

use mlua::Lua;

/// What one call from Rust may allocate beyond the bytes it passes: tables and string heads.
pub(crate) const HEADROOM_BYTES: usize = 64 * 1024;

/// LuaJIT's own words; it never needs memory for them.
pub(crate) const NOT_ENOUGH: &str = "not enough memory";

/// Whether `bytes` and the headroom can be allocated, if need be after a collection. A limit of 0
/// is none.
pub(crate) fn has_room(lua: &Lua, limit_bytes: usize, bytes: usize) -> bool {
    let fits = || limit_bytes == 0 || lua.used_memory() + bytes + HEADROOM_BYTES <= limit_bytes;
    fits() || (lua.gc_collect().is_ok() && fits())
}

/// Does some work without the limit, which holds again afterwards.
pub(crate) fn without_limit<R>(lua: &Lua, limit_bytes: usize, work: impl FnOnce() -> R) -> R {
    const FAILS: &str = "states made by the binding have its allocator, which knows limits";
    lua.set_memory_limit(0).expect(FAILS);
    let result = work();
    lua.set_memory_limit(limit_bytes).expect(FAILS);
    result
}
