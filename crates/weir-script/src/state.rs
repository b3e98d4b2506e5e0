//! One Lua state with the global `wrk` and the script's file run in it.

use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use mlua::{FromLuaMulti, Function, IntoLuaMulti, Lua, LuaString, MultiValue, Table, Value};

use crate::calling::Calling;
use crate::error::{NOT_ENOUGH, ScriptError};
use crate::options::{Mode, Options};
use crate::{memory, network};

/// Name of this crate's own chunk: positions in it read `wrk:LINE`.
const OWN_CHUNK: &str = "=wrk";

/// A state, and the functions of `src/lua/wrk.lua` that Rust calls in it.
pub(crate) struct LuaState {
    pub(crate) lua: Lua,
    pub(crate) hooks: Table,
    guard: Function,
    pub(crate) memory_limit_bytes: usize,
    calling: Arc<Calling>,
}

impl LuaState {
    /// Makes the state of `lua`, which is new, and runs the file in it.
    ///
    /// The number is 0 for the main state and the worker's number, from 1, for the others. It seeds
    /// `math.random`, so that the streams differ between states and repeat in the next run.
    ///
    /// # Errors
    ///
    /// The file is missing, is not Lua, or raised an error.
    pub(crate) fn load(lua: Lua, options: &Options, number: u32) -> Result<Self, ScriptError> {
        let limit = options.memory_limit_bytes;
        let state = Self::prepare(lua, options, number)
            .map_err(|error| ScriptError::new("load", &error.to_string(), limit))?;
        let file = options.file.as_os_str().as_bytes();
        let source = options.source.as_deref();
        let args = state.make("load", |lua| {
            Ok((lua.create_string(file)?, source.map(|text| lua.create_string(text)).transpose()?))
        })?;
        state.call::<()>("load", "load", args)?;
        Ok(state)
    }

    fn prepare(lua: Lua, options: &Options, number: u32) -> mlua::Result<Self> {
        let seed = lua.globals().get::<Table>("math")?.get::<Function>("randomseed")?;
        seed.call::<()>(number)?;
        // A pipe has no directory.
        let beside = if options.source.is_some() { Path::new("") } else { &options.file };
        search_beside(&lua, beside)?;
        let limit = options.memory_limit_bytes;
        let natives = natives(&lua, limit, options.is_ipv4)?;
        let own = |source: &'static str| lua.load(source).set_name(OWN_CHUNK);
        own(include_str!("lua/socket.lua")).call::<()>(&natives)?;
        let wrk = own(include_str!("lua/wrk.lua"));
        let hooks: Table = wrk.call((natives, given(&lua, options, number)?))?;
        let guard = hooks.raw_get("guard")?;
        lua.set_memory_limit(limit)?;
        let calling = Arc::clone(&options.calling);
        Ok(Self { lua, hooks, guard, memory_limit_bytes: limit, calling })
    }

    /// Calls one of this crate's own Lua functions, which may call the script.
    ///
    /// # Errors
    ///
    /// The script raised an error.
    pub(crate) fn call<R: FromLuaMulti>(
        &self,
        callback: &'static str,
        hook: &str,
        args: impl IntoLuaMulti,
    ) -> Result<R, ScriptError> {
        if !memory::has_room(&self.lua, self.memory_limit_bytes, 0) {
            return Err(self.failed(callback, NOT_ENOUGH));
        }
        let called = || -> mlua::Result<MultiValue> {
            let mut all = args.into_lua_multi(&self.lua)?;
            all.push_front(self.hooks.raw_get(hook)?);
            self.guard.call(all)
        };
        self.calling.enter(callback);
        let results = called();
        self.calling.leave();
        let mut results = results.map_err(|error| self.failed(callback, error))?;
        if results.pop_front() == Some(Value::Boolean(true)) {
            return R::from_lua_multi(results, &self.lua)
                .map_err(|error| self.failed(callback, error));
        }
        let text = match results.pop_front() {
            Some(Value::String(text)) => text.to_string_lossy(),
            _ => "an error without text".to_owned(),
        };
        Err(ScriptError::new(callback, &text, self.memory_limit_bytes))
    }

    /// Makes arguments without the memory limit, since they belong to the run and not to the
    /// script.
    pub(crate) fn make<R>(
        &self,
        callback: &'static str,
        work: impl FnOnce(&Lua) -> mlua::Result<R>,
    ) -> Result<R, ScriptError> {
        memory::without_limit(&self.lua, self.memory_limit_bytes, || work(&self.lua))
            .map_err(|error| self.failed(callback, error))
    }

    /// Makes an error from a failure of this crate's own use of the state, which can only be lack
    /// of memory.
    pub(crate) fn failed(&self, callback: &'static str, error: impl ToString) -> ScriptError {
        ScriptError::new(callback, &error.to_string(), self.memory_limit_bytes)
    }
}

/// Module paths of Linux distributions' packages, which LuaJIT built from source does not search.
const PACKAGED: &[u8] = b";/usr/share/lua/5.1/?.lua;/usr/share/lua/5.1/?/init.lua";

/// Returns the same for modules written in C: Debian's directory, which names the architecture, and
/// the others'.
fn packaged_c() -> String {
    let debian = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
    [&debian, "/usr/lib64", "/usr/lib"].map(|place| format!(";{place}/lua/5.1/?.so")).concat()
}

/// Sets the module path: directories beside the script first, the system's last.
fn search_beside(lua: &Lua, file: &Path) -> mlua::Result<()> {
    let directory = match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.as_os_str().as_bytes(),
        _ => b".",
    };
    let package: Table = lua.globals().get("package")?;
    let before = package.get::<LuaString>("path")?;
    let beside = [directory, b"/?.lua;", directory, b"/?/init.lua;", &before.as_bytes(), PACKAGED];
    package.set("path", lua.create_string(beside.concat())?)?;
    let before = package.get::<LuaString>("cpath")?;
    let packaged = packaged_c();
    let beside = [directory, b"/?.so;", &before.as_bytes(), packaged.as_bytes()];
    package.set("cpath", lua.create_string(beside.concat())?)
}

/// Makes the table of options from which `wrk` is built.
fn given(lua: &Lua, options: &Options, number: u32) -> mlua::Result<Table> {
    let headers = options.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let given = lua.create_table()?;
    given.raw_set("scheme", options.scheme.as_str())?;
    given.raw_set("host", options.host.as_str())?;
    given.raw_set("port", options.port.as_deref())?;
    given.raw_set("path", options.path.as_str())?;
    given.raw_set("headers", lua.create_table_from(headers)?)?;
    given.raw_set("number", number)?;
    given.raw_set("sends_both", options.sends_both_lengths)?;
    if options.mode == Mode::ConstantRate {
        given.raw_set("url", options.url.as_str())?;
    }
    Ok(given)
}

/// Makes the native functions for Lua code. They never raise; see the crate's documentation.
fn natives(lua: &Lua, limit_bytes: usize, is_ipv4: Option<bool>) -> mlua::Result<Table> {
    let natives = lua.create_table()?;
    let lookup = move |lua: &Lua, (host, service): (LuaString, LuaString)| {
        if !memory::has_room(lua, limit_bytes, 0) {
            return Ok(answer(Err(NOT_ENOUGH.to_owned())));
        }
        let found = network::lookup(&host.to_string_lossy(), &service.to_string_lossy(), is_ipv4);
        Ok(answer(found.map(|addresses| texts(&addresses))))
    };
    natives.raw_set("lookup", lua.create_function(lookup)?)?;
    let connect = |_: &Lua, address: String| Ok(address.parse().is_ok_and(network::accepts));
    natives.raw_set("connect", lua.create_function(connect)?)?;
    let time_us = |_: &Lua, ()| Ok(network::wall_clock_us());
    natives.raw_set("time_us", lua.create_function(time_us)?)?;
    let sleep = |_: &Lua, seconds: f64| {
        // A negative time is none, and an endless one ends with the program.
        thread::sleep(Duration::try_from_secs_f64(seconds.clamp(0.0, 1e9)).unwrap_or_default());
        Ok(())
    };
    natives.raw_set("sleep", lua.create_function(sleep)?)?;
    Ok(natives)
}

/// Returns the problem or the value, as Lua code expects them.
pub(crate) fn answer<T>(result: Result<T, String>) -> (Option<String>, Option<T>) {
    match result {
        Ok(value) => (None, Some(value)),
        Err(problem) => (Some(problem), None),
    }
}

/// Formats addresses as Lua code holds them.
pub(crate) fn texts(addresses: &[SocketAddr]) -> Vec<String> {
    addresses.iter().map(SocketAddr::to_string).collect()
}
