//! A worker's state, and the calls made in it per request.

use std::fmt;
use std::net::SocketAddr;
use std::rc::Rc;

use mlua::{Function, Lua, LuaString, Table};

use crate::callback::{About, Arities, Calls, Flags, Wants};
use crate::error::ScriptError;
use crate::ffi::Caller;
use crate::ffi::open::full_lua;
use crate::options::Options;
use crate::state::State;

/// One worker's state: made by [`Main`](crate::Main), moved into the worker's thread for the run
/// and back after it.
pub struct Worker {
    number: u32,
    caller: Caller,
    calls: Calls,
    static_request: Vec<u8>,
}

/// Makes the functions behind a state's own thread object, within a memory limit in bytes.
type ThreadFunctions = fn(&Lua, &Rc<Flags>, usize) -> mlua::Result<Table>;

type Callbacks =
    (Option<LuaString>, Option<Function>, u32, Option<Function>, u32, Option<Function>, u32);

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker").field("number", &self.number).finish_non_exhaustive()
    }
}

impl Worker {
    /// Runs the file in a new state and sets `wrk.thread` there, whose functions `thread` makes.
    pub(crate) fn load(
        options: &Options,
        number: u32,
        thread: ThreadFunctions,
    ) -> Result<Self, ScriptError> {
        let state = State::load(full_lua(), options, number)?;
        let flags = Rc::new(Flags::default());
        let limit = options.memory_limit_bytes;
        let functions = state.make("load", |lua| thread(lua, &flags, limit))?;
        state.call::<()>("load", "own_thread", functions)?;
        let caller = Caller::new(state, flags);
        Ok(Self { number, caller, calls: Calls::default(), static_request: Vec::new() })
    }

    /// Runs `init(args)` and looks up the callbacks that the script defined.
    pub(crate) fn init(&mut self, options: &Options) -> Result<(), ScriptError> {
        let state = self.caller.state();
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
            knows_connections: request_arity >= 1 || delay_arity >= 1 || response_arity >= 4,
        };
        let arities =
            Arities { request: request_arity, delay: delay_arity, response: response_arity };
        self.caller.bind(request, delay, response, arities)
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
        self.caller.request(connection)
    }

    /// Makes an error from a problem with the string that `request` returned.
    pub fn refused(&self, problem: &str) -> ScriptError {
        self.caller.refused(problem)
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
        self.caller.delay(connection)
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
        self.caller.response(status, fields, body, about)
    }

    /// Sets the flag of the next response that `wrk.body_cut()` returns: true if its body is
    /// truncated.
    #[inline]
    pub fn set_body_cut(&self, is_cut: bool) {
        self.flags().body_cut.set(is_cut);
    }

    /// Records that this connection, from 0, has a new socket.
    ///
    /// # Errors
    ///
    /// The state has no memory left.
    pub fn opened(&mut self, connection: u32) -> Result<(), ScriptError> {
        if !self.calls.knows_connections {
            return Ok(());
        }
        self.caller.state().call("request", "opened", connection + 1)
    }

    /// True if `wrk.thread:stop()` was called since the run began.
    pub fn is_stopped(&self) -> bool {
        self.caller.flags().stopped.get()
    }

    /// Returns the current `thread.addr`.
    pub fn address(&self) -> Option<SocketAddr> {
        self.caller.flags().address.get()
    }

    /// Returns the state's memory use in bytes, garbage included.
    pub fn memory_bytes(&self) -> usize {
        self.lua().used_memory()
    }

    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    pub(crate) fn lua(&self) -> &Lua {
        &self.caller.state().lua
    }

    pub(crate) fn flags(&self) -> &Flags {
        self.caller.flags()
    }

    /// Starts the run: a stop before it has no effect, as in wrk.
    pub(crate) fn begin(&self) {
        self.flags().stopped.set(false);
    }

    pub(crate) fn teardown(&self) -> Result<(), ScriptError> {
        self.caller.state().call("teardown", "teardown", ())
    }
}
