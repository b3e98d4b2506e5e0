//! The calls per request, on LuaJIT's own interface, and the one type that moves between threads.
//!
//! The safe binding takes two to three times as long per call. No code here may raise a Lua error
//! outside a protected call: before each allocation it checks that the memory limit leaves room.

pub(crate) mod open;

use std::ffi::{c_char, c_int};
use std::rc::Rc;
use std::slice;

use mlua::ffi as lua;
use mlua::{Function, IntoLuaMulti};

use crate::callback::{About, Arities, Calls, Flags};
use crate::error::{NOT_ENOUGH, ScriptError};
use crate::memory::HEADROOM_BYTES;
use crate::state::LuaState;

/// One worker's state, with its callbacks at fixed stack indices: made by [`Main`](crate::Main),
/// moved into the worker's thread for the run and back after it.
pub struct WorkerState {
    pub(crate) number: u32,
    pub(crate) state: LuaState,
    pub(crate) flags: Rc<Flags>,
    pub(crate) calls: Calls,
    pub(crate) static_request: Vec<u8>,
    raw: *mut lua::lua_State,
    places: StackPlaces,
    arities: Arities,
    /// Callbacks, and `FILE:LINE` of their definitions.
    definitions: Vec<(&'static str, String)>,
    /// Names and values of the last response's fields; the strings are in the table at
    /// `places.strings`, names at odd indices.
    fields: Vec<(Vec<u8>, Vec<u8>)>,
}

// SAFETY: a `WorkerState` owns one whole Lua state. All handles into it (`LuaState`, the closures
// inside Lua and their `Rc<Flags>`) belong to this value and move with it; `LuaState` and `Flags`
// are lent within this crate only, and no code there keeps a clone of a handle elsewhere. LuaJIT
// and mlua's binding keep no state per operating-system thread. It is not `Sync`: only one thread
// has it.
unsafe impl Send for WorkerState {}

/// Returns `FILE:LINE` of a Lua function's definition; none for a C function.
fn definition(function: &Function) -> Option<String> {
    let info = function.info();
    Some(format!("{}:{}", info.short_src?, info.line_defined?))
}

/// Stack indices of the values that stay there between calls.
#[derive(Clone, Copy, Default)]
struct StackPlaces {
    /// Message handler, which makes an error into text with a traceback.
    explain: c_int,
    /// Table of the connections' tables, by number from 1.
    connections: c_int,
    connection: c_int,
    strings: c_int,
    request: c_int,
    delay: c_int,
    response: c_int,
}

impl WorkerState {
    pub(crate) fn new(number: u32, state: LuaState, flags: Rc<Flags>) -> Self {
        Self {
            number,
            raw: state.lua.exec_raw_lua(|raw| raw.state()),
            state,
            flags,
            calls: Calls::default(),
            static_request: Vec::new(),
            places: StackPlaces::default(),
            arities: Arities::default(),
            definitions: Vec::new(),
            fields: Vec::new(),
        }
    }

    /// Pushes the callbacks to their fixed stack indices.
    pub(crate) fn bind(
        &mut self,
        request: Option<Function>,
        delay: Option<Function>,
        response: Option<Function>,
        arities: Arities,
    ) -> Result<(), ScriptError> {
        let callbacks = [("request", &request), ("delay", &delay), ("response", &response)];
        let definitions = callbacks.into_iter();
        let definitions =
            definitions.filter_map(|(name, it)| Some((name, definition(it.as_ref()?)?)));
        self.definitions = definitions.collect();
        let hooks = &self.state.hooks;
        let top = self.state.make("init", |lua| {
            let explain: Function = hooks.raw_get("explain")?;
            let connections: mlua::Table = hooks.raw_get("connections")?;
            let connection: Function = hooks.raw_get("connection")?;
            let strings = lua.create_table()?;
            let values = (explain, connections, connection, strings, request, delay, response);
            lua.exec_raw_lua(|raw| {
                // SAFETY: the stack has room for 40 values outside calls. These seven are all that
                // this crate leaves there, and the binding never reads below its own values.
                unsafe {
                    let top = lua::lua_gettop(raw.state());
                    values.push_into_stack_multi(raw)?;
                    Ok(top)
                }
            })
        })?;
        self.places = StackPlaces {
            explain: top + 1,
            connections: top + 2,
            connection: top + 3,
            strings: top + 4,
            request: top + 5,
            delay: top + 6,
            response: top + 7,
        };
        self.arities = arities;
        Ok(())
    }

    /// Calls `request` and returns one or several whole requests, valid until the next call of any
    /// kind. The connection's number is from 0. The result may be empty after `wrk.thread:stop()`.
    ///
    /// # Errors
    ///
    /// The script raised an error, or returned something other than a string. Or there is no
    /// `request()`; see [`Calls`].
    ///
    /// # Panics
    ///
    /// `init` failed in this state.
    #[inline]
    pub fn request(&mut self, connection: Option<u32>) -> Result<&[u8], ScriptError> {
        let takes = self.arities.request >= 1;
        self.begin("request", self.places.request, 0)?;
        let args = if takes { self.push_connection("request", connection)? } else { 0 };
        self.protected("request", args, 1)?;
        self.result_bytes()
    }

    /// Calls `delay` and returns whole milliseconds, truncated; 0 if the result is negative or not
    /// a number.
    ///
    /// # Errors
    ///
    /// The script raised an error. Or there is no `delay()`; see [`Calls`].
    ///
    /// # Panics
    ///
    /// `init` failed in this state.
    #[inline]
    pub fn delay(&mut self, connection: Option<u32>) -> Result<u64, ScriptError> {
        let takes = self.arities.delay >= 1;
        self.begin("delay", self.places.delay, 0)?;
        let args = if takes { self.push_connection("delay", connection)? } else { 0 };
        self.protected("delay", args, 1)?;
        // SAFETY: the call left one result at the top; `lua_tonumber` neither raises nor allocates.
        let ms = unsafe { lua::lua_tonumber(self.raw, -1) };
        // The cast truncates; negative values and NaN become 0.
        Ok(ms as u64)
    }

    /// Calls `response`. Of several fields with one name the last is kept. Fields and body are read
    /// only if [`Calls::response`] includes them.
    ///
    /// # Errors
    ///
    /// The script raised an error. Or there is no `response()`; see [`Calls`].
    ///
    /// # Panics
    ///
    /// `init` failed in this state.
    #[inline]
    pub fn response<'a>(
        &mut self,
        status: u16,
        fields: impl Iterator<Item = (&'a [u8], &'a [u8])>,
        body: &[u8],
        about: Option<About<'_>>,
    ) -> Result<(), ScriptError> {
        let arity = self.arities.response;
        let request = about.map_or(&b""[..], |about| about.request);
        self.begin("response", self.places.response, body.len() + request.len())?;
        let mut args = 0;
        if arity >= 1 {
            // SAFETY: the stack has room for a function and five arguments.
            unsafe { lua::lua_pushnumber(self.raw, f64::from(status)) };
            args += 1;
        }
        if arity >= 2 {
            self.push_fields(fields)?;
            args += 1;
        }
        if arity >= 3 {
            self.push_bytes(body);
            args += 1;
        }
        if arity >= 4 {
            args += self.push_connection("response", about.map(|about| about.connection))?;
        }
        if arity >= 5 {
            self.push_bytes(request);
            args += 1;
        }
        self.protected("response", args, 0)
    }

    /// Drops the results of the last call and pushes the function.
    #[inline]
    fn begin(
        &mut self,
        callback: &'static str,
        function: c_int,
        bytes: usize,
    ) -> Result<(), ScriptError> {
        assert!(function != 0, "{callback} is called before init");
        // SAFETY: `places` are indices of values that stay on the stack, `response` the last.
        unsafe {
            lua::lua_settop(self.raw, self.places.response);
            lua::lua_pushvalue(self.raw, function);
        }
        self.make_room(callback, bytes)
    }

    /// Calls the function below `args` arguments.
    #[inline]
    fn protected(
        &mut self,
        callback: &'static str,
        args: c_int,
        results: c_int,
    ) -> Result<(), ScriptError> {
        // SAFETY: function and arguments are the topmost values; errors end in this call, and no
        // Rust frame is between it and the script.
        let status = unsafe { lua::lua_pcall(self.raw, args, results, self.places.explain) };
        if status == 0 { Ok(()) } else { Err(self.failure(callback)) }
    }

    /// Makes an error from the text at the top of the stack.
    #[cold]
    fn failure(&self, callback: &'static str) -> ScriptError {
        let text = String::from_utf8_lossy(self.top_string().unwrap_or(b"an error without text"));
        self.placed(ScriptError::new(callback, &text, self.state.memory_limit_bytes))
    }

    /// Adds the place of the callback's definition to an error without a place.
    fn placed(&self, error: ScriptError) -> ScriptError {
        let mut definitions = self.definitions.iter();
        let found = definitions.find(|(callback, _)| *callback == error.callback);
        error.placed_at(found.map(|(_, place)| place.as_str()))
    }

    /// Makes an error from a problem with the string that `request` returned.
    #[cold]
    pub fn refused(&self, problem: &str) -> ScriptError {
        self.placed(self.state.failed("request", problem))
    }

    /// Returns the result of `request()`; nil is valid after `wrk.thread:stop()`.
    fn result_bytes(&self) -> Result<&[u8], ScriptError> {
        // Lua converts numbers to strings; `top_string` does so here.
        if let Some(bytes) = self.top_string() {
            return Ok(bytes);
        }
        // SAFETY: there is one result; type names are static C strings.
        let kind = unsafe { std::ffi::CStr::from_ptr(lua::luaL_typename(self.raw, -1)) };
        if kind == c"nil" && self.flags.stopped.get() {
            return Ok(&[]);
        }
        let kind = kind.to_string_lossy();
        Err(self.refused(&format!("request() must return a string, not {kind}")))
    }

    /// Returns the string at the top of the stack.
    #[inline]
    fn top_string(&self) -> Option<&[u8]> {
        let mut length = 0;
        // SAFETY: the value stays on the stack, so the bytes stay until the next call that needs
        // `&mut self`. Numbers are converted in place, which allocates a few bytes of the headroom.
        unsafe {
            let bytes = lua::lua_tolstring(self.raw, -1, &mut length);
            (!bytes.is_null()).then(|| slice::from_raw_parts(bytes.cast::<u8>(), length))
        }
    }

    /// Pushes the connection's table, or nil, and returns the number of arguments pushed: 1.
    #[inline]
    fn push_connection(
        &mut self,
        callback: &'static str,
        connection: Option<u32>,
    ) -> Result<c_int, ScriptError> {
        let Some(number) = connection.and_then(|index| c_int::try_from(index + 1).ok()) else {
            // SAFETY: room on the stack as in `response`.
            unsafe { lua::lua_pushnil(self.raw) };
            return Ok(1);
        };
        // SAFETY: `connections` is the table that Lua code made; reading an index cannot raise.
        let known = unsafe {
            lua::lua_rawgeti(self.raw, self.places.connections, lua::lua_Integer::from(number))
        };
        if known != lua::LUA_TNIL {
            return Ok(1);
        }
        // SAFETY: as in `protected`: the function and its one argument are the topmost values.
        unsafe {
            lua::lua_settop(self.raw, -2);
            lua::lua_pushvalue(self.raw, self.places.connection);
            lua::lua_pushnumber(self.raw, f64::from(number));
        }
        self.protected(callback, 1, 1)?;
        Ok(1)
    }

    /// Pushes the table of fields. Most responses repeat most fields, so the strings of the last
    /// response are kept: comparing is cheaper than hashing and interning.
    fn push_fields<'a>(
        &mut self,
        fields: impl Iterator<Item = (&'a [u8], &'a [u8])>,
    ) -> Result<(), ScriptError> {
        let expected = c_int::try_from(self.fields.len()).unwrap_or(0);
        // SAFETY: `make_room` was called, and the headroom covers a table of the last size.
        unsafe { lua::lua_createtable(self.raw, 0, expected) };
        for (index, (name, value)) in fields.enumerate() {
            let is_new = index == self.fields.len();
            if is_new {
                self.fields.push((Vec::new(), Vec::new()));
            }
            if is_new || self.fields[index].0 != name {
                self.remember(index, true, name)?;
            }
            if is_new || self.fields[index].1 != value {
                self.remember(index, false, value)?;
            }
            let place = index_of(index, true);
            // SAFETY: the table of strings holds a string at both indices, set by `remember`; the
            // new table is below the two, and a string is never refused as its key.
            unsafe {
                lua::lua_rawgeti_(self.raw, self.places.strings, place);
                lua::lua_rawgeti_(self.raw, self.places.strings, place + 1);
                lua::lua_rawset(self.raw, -3);
            }
        }
        Ok(())
    }

    /// Stores one string of a field, both here and in the table of strings.
    fn remember(&mut self, index: usize, is_name: bool, bytes: &[u8]) -> Result<(), ScriptError> {
        self.make_room("response", bytes.len())?;
        let field = &mut self.fields[index];
        let kept = if is_name { &mut field.0 } else { &mut field.1 };
        kept.clear();
        kept.extend_from_slice(bytes);
        self.push_bytes(bytes);
        // SAFETY: `strings` is our table, the string is at the top; room was made.
        unsafe { lua::lua_rawseti_(self.raw, self.places.strings, index_of(index, is_name)) };
        Ok(())
    }

    /// Pushes a string. The caller has made room for it.
    #[inline]
    fn push_bytes(&mut self, bytes: &[u8]) {
        // SAFETY: the bytes are copied; a slice's pointer is never null.
        unsafe {
            lua::lua_pushlstring_(self.raw, bytes.as_ptr().cast::<c_char>(), bytes.len());
        }
    }

    /// Ensures that `bytes` and the headroom can be allocated without reaching the limit. At the
    /// limit, the allocation would raise an error outside any protected call.
    #[inline]
    fn make_room(&self, callback: &'static str, bytes: usize) -> Result<(), ScriptError> {
        let limit = self.state.memory_limit_bytes;
        if limit == 0 || self.held_bytes() + bytes + HEADROOM_BYTES <= limit {
            return Ok(());
        }
        self.collect(callback, bytes)
    }

    #[cold]
    fn collect(&self, callback: &'static str, bytes: usize) -> Result<(), ScriptError> {
        // SAFETY: a full collection needs no memory; errors of finalizers stay inside it.
        unsafe { lua::lua_gc(self.raw, lua::LUA_GCCOLLECT, 0) };
        let limit = self.state.memory_limit_bytes;
        if self.held_bytes() + bytes + HEADROOM_BYTES <= limit {
            return Ok(());
        }
        Err(self.placed(self.state.failed(callback, NOT_ENOUGH)))
    }

    /// Returns the state's memory use in bytes, rounded up to a KiB.
    #[inline]
    fn held_bytes(&self) -> usize {
        // SAFETY: reading the count changes nothing.
        let kib = unsafe { lua::lua_gc(self.raw, lua::LUA_GCCOUNT, 0) };
        (usize::try_from(kib).unwrap_or(0) + 1) * 1024
    }
}

/// Index of a field's name or value in the table of strings.
fn index_of(field: usize, is_name: bool) -> c_int {
    let name = 2 * field + 1;
    c_int::try_from(if is_name { name } else { name + 1 }).expect("few fields")
}
