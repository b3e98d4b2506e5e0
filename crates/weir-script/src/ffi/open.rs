//! A new Lua state with every library.

use mlua::{Lua, LuaOptions, StdLib};

/// Makes a state with all libraries, including `ffi`, `debug` and C modules, which scripts written
/// for wrk expect.
pub(crate) fn full_lua() -> Lua {
    // SAFETY: these libraries let scripts do unsafe things; a script is code with the user's
    // rights, and the crate's documentation says so.
    unsafe { Lua::unsafe_new_with(StdLib::ALL, LuaOptions::default()) }
}
