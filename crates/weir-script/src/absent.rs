//! The states in a build without LuaJIT. There are none: loading fails, so that the other functions
//! compile and are never reached.

use std::net::SocketAddr;

use crate::callback::{About, Calls};
use crate::error::{NO_ENGINE, ScriptError};
use crate::options::Options;
use crate::statistics::{Statistics, Summary};

const MESSAGE: &str = "this build has no script engine: build weir with --features script";

/// Methods of a type without values.
macro_rules! never_called {
    ($($name:ident($($argument:ty),*) $(-> $returned:ty)?;)*) => {
        $(
            /// Never called.
            ///
            /// # Errors
            /// None.
            pub fn $name(&self, $(_: $argument),*) $(-> $returned)? {
                match *self {}
            }
        )*
    };
}

/// The main state; this build has none.
#[derive(Debug)]
pub enum Main {}

/// A worker's state; this build has none.
#[derive(Debug)]
pub enum WorkerState {}

impl Main {
    /// Fails: this build has no script engine.
    ///
    /// # Errors
    /// Always.
    pub fn load(_options: Options) -> Result<Main, ScriptError> {
        Err(ScriptError { callback: NO_ENGINE, message: MESSAGE.to_owned() })
    }

    never_called! {
        resolve() -> Result<Vec<SocketAddr>, ScriptError>;
        add_worker() -> Result<(), ScriptError>;
        take_workers() -> Vec<WorkerState>;
        return_workers(Vec<WorkerState>);
        teardown() -> Result<(), ScriptError>;
        has_done() -> Result<bool, ScriptError>;
        done(&Summary, &Statistics, &Statistics) -> Result<(), ScriptError>;
    }
}

impl WorkerState {
    /// Never called.
    ///
    /// # Errors
    /// None.
    pub fn response<'a>(
        &mut self,
        _status: u16,
        _fields: impl Iterator<Item = (&'a [u8], &'a [u8])>,
        _body: &[u8],
        _about: Option<About<'_>>,
    ) -> Result<(), ScriptError> {
        match *self {}
    }

    never_called! {
        calls() -> Calls;
        static_request() -> &[u8];
        request(Option<u32>) -> Result<&[u8], ScriptError>;
        refused(&str) -> ScriptError;
        delay(Option<u32>) -> Result<u64, ScriptError>;
        set_body_cut(bool);
        opened(u32) -> Result<(), ScriptError>;
        is_stopped() -> bool;
        address() -> Option<SocketAddr>;
        memory_bytes() -> usize;
    }
}
