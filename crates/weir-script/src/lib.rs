//! wrk's Lua API on LuaJIT: one main state, and one state per worker.
