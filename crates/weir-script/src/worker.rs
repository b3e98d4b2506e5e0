//! A worker's state, and the calls made in it per request.

use std::fmt;
use std::net::SocketAddr;
use std::rc::Rc;

use mlua::{Function, Lua, LuaString, Table};

use crate::callback::{About, Arities, Flags};
use crate::error::ScriptError;
use crate::ffi::Caller;
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

/// What the script wants to be asked and told in this state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// There is a `request()`; otherwise [`Worker::static_request`] is what is sent.
    pub request: bool,
    /// There is a `delay()`.
    pub delay: bool,
    /// There is a `response()`, and what of an answer it declares.
    pub response: Option<Wants>,
    /// Some function declares a connection, or the request behind an answer.
    pub knows_connections: bool,
}

/// The parts of an answer that the script looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wants {
    /// Names and values.
    pub fields: bool,
    /// The decoded body.
    pub body: bool,
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
    /// Runs the file in a new state and puts `wrk.thread` there, whose functions `thread` makes.
    pub(crate) fn load(
        options: &Options,
        number: u32,
        thread: ThreadFunctions,
    ) -> Result<Self, ScriptError> {
        let state = State::load(options, number)?;
        let flags = Rc::new(Flags::default());
        let limit = options.memory_limit_bytes;
        let functions = state.make("load", |lua| thread(lua, &flags, limit))?;
        state.call::<()>("load", "own_thread", functions)?;
        let caller = Caller::new(state, flags);
        Ok(Self { number, caller, calls: Calls::default(), static_request: Vec::new() })
    }

    /// Runs `init(args)` and looks up what the script defined.
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

    /// What the script wants to be asked and told.
    pub fn calls(&self) -> Calls {
        self.calls
    }

    /// What `wrk.request()` returned after `init`; every request if there is no `request()`.
    pub fn static_request(&self) -> &[u8] {
        &self.static_request
    }

    /// Calls `request`: one or several whole requests, which stay until the next call of any kind.
    /// The connection's number is from 0. The result may be empty after `wrk.thread:stop()`.
    ///
    /// # Errors
    ///
    /// The script raised an error, or returned something else than a string. Or there is no
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

    /// Calls `delay`: whole milliseconds, cut; what is no number or below 0 is 0.
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

    /// Calls `response`. Of fields with one name the last is kept; fields and body are looked at
    /// only where [`Calls::response`] says so.
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

    /// Says of the next answer, for `wrk.body_cut()`, that its body is not whole.
    #[inline]
    pub fn set_body_cut(&self, is_cut: bool) {
        self.flags().body_cut.set(is_cut);
    }

    /// Tells that this connection, from 0, has a new socket.
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

    /// Whether `wrk.thread:stop()` was called since the run began.
    pub fn is_stopped(&self) -> bool {
        self.caller.flags().stopped.get()
    }

    /// `thread.addr` now.
    pub fn address(&self) -> Option<SocketAddr> {
        self.caller.flags().address.get()
    }

    /// What the state holds, garbage included.
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

    /// The run begins: a stop before it has no effect, as in wrk.
    pub(crate) fn begin(&self) {
        self.flags().stopped.set(false);
    }

    pub(crate) fn teardown(&self) -> Result<(), ScriptError> {
        self.caller.state().call("teardown", "teardown", ())
    }
}
