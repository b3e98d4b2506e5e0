//! The main state, which calls `setup` before the run and `done` after it.

use std::cell::RefCell;
use std::fmt;
use std::net::SocketAddr;
use std::rc::Rc;

use crate::error::ScriptError;
use crate::ffi::WorkerState;
use crate::ffi::open::full_lua;
use crate::options::Options;
use crate::state::{LuaState, texts};
use crate::statistics::{Statistics, Summary};
use crate::thread::{self, Crew, Reach};

/// The main state, and the workers that are not taken for a run.
pub struct Main {
    state: LuaState,
    options: Options,
    crew: Crew,
}

impl fmt::Debug for Main {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Main").finish_non_exhaustive()
    }
}

impl Main {
    /// Runs the file in a new state.
    ///
    /// # Errors
    ///
    /// The file is missing, is not Lua, or raised an error.
    pub fn load(options: Options) -> Result<Self, ScriptError> {
        let state = LuaState::load(full_lua(), &options, 0)?;
        Ok(Self { state, options, crew: Rc::new(RefCell::new(Vec::new())) })
    }

    /// Fills `wrk.addrs` by `wrk.resolve`, which a script may have replaced: the target's addresses
    /// that accept a connection, or all if none does.
    ///
    /// # Errors
    ///
    /// The target's name does not resolve, or the script's own `wrk.resolve` failed.
    pub fn resolve(&mut self) -> Result<Vec<SocketAddr>, ScriptError> {
        let service = self.options.port.as_ref().unwrap_or(&self.options.scheme);
        let args = (self.options.host.as_str(), service.as_str());
        let found: Vec<String> = self.state.call("resolve", "resolve", args)?;
        let addresses = found.iter().map(|text| text.parse());
        Ok(addresses.collect::<Result<_, _>>().expect("Lua code holds addresses as we wrote them"))
    }

    /// Fills `wrk.addrs` without a look-up; for Unix sockets with none.
    ///
    /// # Errors
    ///
    /// The state has no memory left.
    pub fn set_addresses(&mut self, addresses: &[SocketAddr]) -> Result<(), ScriptError> {
        self.state.call("resolve", "set_addresses", (texts(addresses),))
    }

    /// Makes the next worker: runs the file in a state of its own, then `setup(thread)` here, then
    /// `init(args)` there.
    ///
    /// # Errors
    ///
    /// The script raised an error in one of the three.
    pub fn add_worker(&mut self) -> Result<(), ScriptError> {
        let index = self.crew.borrow().len();
        let number = u32::try_from(index + 1).expect("fewer threads than 2^32");
        let worker = WorkerState::load(&self.options, number)?;
        self.crew.borrow_mut().push(Some(worker));
        let reach = Reach::Worker { crew: Rc::clone(&self.crew), index };
        let limit = self.options.memory_limit_bytes;
        let functions = self.state.make("setup", |lua| thread::functions(lua, &reach, limit))?;
        self.state.call::<()>("setup", "setup", functions)?;
        // The worker's script cannot reach the main state, so no other borrow of the crew exists.
        let mut crew = self.crew.borrow_mut();
        let worker = crew[index].as_mut().expect("it was pushed above");
        worker.init(&self.options)
    }

    /// Returns the workers for the run, in the order in which they were added, and clears their
    /// stop flags; `thread.addr` stays. Until the workers are returned, thread objects of the main
    /// state fail with the error that the thread is running.
    pub fn take_workers(&mut self) -> Vec<WorkerState> {
        let mut crew = self.crew.borrow_mut();
        let taken: Vec<WorkerState> = crew.iter_mut().filter_map(Option::take).collect();
        taken.iter().for_each(WorkerState::start);
        taken
    }

    /// Takes the workers back after the run, in any order.
    pub fn return_workers(&mut self, workers: Vec<WorkerState>) {
        let mut crew = self.crew.borrow_mut();
        for worker in workers {
            let index = worker.number as usize - 1;
            crew[index] = Some(worker);
        }
    }

    /// Calls the global `teardown()` in each worker's state that defines one.
    ///
    /// # Errors
    ///
    /// The first error raised; the remaining `teardown` functions are then not called.
    pub fn teardown(&mut self) -> Result<(), ScriptError> {
        self.crew.borrow().iter().flatten().try_for_each(WorkerState::teardown)
    }

    /// True if the script defines `done`.
    ///
    /// # Errors
    ///
    /// The state has no memory left.
    pub fn has_done(&self) -> Result<bool, ScriptError> {
        self.state.call("done", "has_done", ())
    }

    /// Calls the global `done(summary, latency, requests)` if there is one: latencies in
    /// microseconds, requests per second and thread.
    ///
    /// # Errors
    ///
    /// The script raised an error.
    pub fn done(
        &mut self,
        summary: &Summary,
        latency: &Statistics,
        requests: &Statistics,
    ) -> Result<(), ScriptError> {
        if !self.has_done()? {
            return Ok(());
        }
        let mode = self.options.mode;
        let args = self.state.make("done", |lua| {
            Ok((summary.to_lua(lua)?, latency.to_lua(lua, mode)?, requests.to_lua(lua, mode)?))
        })?;
        self.state.call("done", "done", args)
    }
}
