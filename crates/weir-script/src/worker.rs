//! A worker's state before, during and after the run; the calls per request are in `ffi`.

use std::fmt;
use std::net::SocketAddr;
use std::rc::Rc;

use mlua::{Function, LuaString};

use crate::callback::{Arities, Calls, Flags, Wants};
use crate::error::ScriptError;
use crate::ffi::WorkerState;
use crate::ffi::open::full_lua;
use crate::options::Options;
use crate::state::LuaState;
use crate::thread::own_functions;

type Callbacks =
    (Option<LuaString>, Option<Function>, u32, Option<Function>, u32, Option<Function>, u32);

impl fmt::Debug for WorkerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker").field("number", &self.number).finish_non_exhaustive()
    }
}

impl WorkerState {
    /// Runs the file in a new state and sets `wrk.thread` there.
    pub(crate) fn load(options: &Options, number: u32) -> Result<Self, ScriptError> {
        let state = LuaState::load(full_lua(), options, number)?;
        let flags = Rc::new(Flags::default());
        let limit = options.memory_limit_bytes;
        let functions = state.make("load", |lua| own_functions(lua, &flags, limit))?;
        state.call::<()>("load", "own_thread", functions)?;
        Ok(WorkerState::new(number, state, flags))
    }

    /// Runs `init(args)` and looks up the callbacks that the script defined.
    pub(crate) fn init(&mut self, options: &Options) -> Result<(), ScriptError> {
        let state = &self.state;
        let args = state.make("init", |lua| {
            let args = lua.create_sequence_from(options.args.iter().map(String::as_str))?;
            args.raw_set(0, options.url.as_str())?;
            Ok(args)
        })?;
        let (fixed, request, request_arity, delay, delay_arity, response, response_arity) =
            state.call::<Callbacks>("init", "init", args)?;
        self.static_request = fixed.map_or(Vec::new(), |fixed| fixed.as_bytes().to_vec());
        self.calls = Calls {
            request: request.is_some(),
            delay: delay.is_some(),
            response: response
                .as_ref()
                .map(|_| Wants { fields: response_arity >= 2, body: response_arity >= 3 }),
            takes_connections: request_arity >= 1 || delay_arity >= 1 || response_arity >= 4,
        };
        let arities =
            Arities { request: request_arity, delay: delay_arity, response: response_arity };
        self.bind(request, delay, response, arities)
    }

    /// Returns the callbacks that the script defines.
    pub fn calls(&self) -> Calls {
        self.calls
    }

    /// Returns the result of `wrk.request()` after `init`; every request if there is no
    /// `request()`.
    pub fn static_request(&self) -> &[u8] {
        &self.static_request
    }

    /// Sets the flag of the next response that `wrk.body_cut()` returns: true if its body is
    /// truncated.
    #[inline]
    pub fn set_body_cut(&self, is_cut: bool) {
        self.flags.body_cut.set(is_cut);
    }

    /// Records that this connection, from 0, has a new socket.
    ///
    /// # Errors
    ///
    /// The state has no memory left.
    pub fn opened(&mut self, connection: u32) -> Result<(), ScriptError> {
        if !self.calls.takes_connections {
            return Ok(());
        }
        self.state.call("request", "opened", connection + 1)
    }

    /// True if `wrk.thread:stop()` was called since the run began.
    pub fn is_stopped(&self) -> bool {
        self.flags.stopped.get()
    }

    /// Returns the current `thread.addr`.
    pub fn address(&self) -> Option<SocketAddr> {
        self.flags.address.get()
    }

    /// Returns the state's memory use in bytes, garbage included.
    pub fn memory_bytes(&self) -> usize {
        self.state.lua.used_memory()
    }

    /// Starts the run: a stop before it has no effect, as in wrk.
    pub(crate) fn start(&self) {
        self.flags.stopped.set(false);
    }

    pub(crate) fn teardown(&self) -> Result<(), ScriptError> {
        self.state.call("teardown", "teardown", ())
    }
}
