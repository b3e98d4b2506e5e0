//! wrk's Lua API on LuaJIT: one main state, and one state per worker.
//!
//! Scripts written for wrk and wrk2 run unchanged: the global `wrk`, the callbacks `setup`, `init`,
//! `request`, `delay`, `response` and `done`, thread, address and statistics objects. This crate
//! only runs scripts: it sends no request, reads no monotonic clock, starts no thread and depends
//! on none of the other crates.
//!
//! A script is code with the user's rights: `ffi`, `debug`, `os` and C modules are all there.
//!
//! **No Lua error ever crosses a Rust frame.** LuaJIT raises errors by unwinding, and a program
//! built with `panic = "abort"` ends when foreign unwinding reaches a Rust function. Every
//! operation that a script can make fail therefore fails inside Lua (`src/lua/`), below a protected
//! call. Functions written in Rust return their error as a value, which Lua code then raises.

//!
//! Without the feature `luajit` there is no engine: [`Main::load`] fails, and its error names the
//! remedy. No other item then has a value that needs LuaJIT, so code that calls it is never
//! reached.

#![deny(unsafe_code)]

#[cfg(feature = "luajit")]
mod main_state;
#[cfg(feature = "luajit")]
mod worker;

#[cfg(not(feature = "luajit"))]
mod absent;

#[cfg_attr(not(feature = "luajit"), expect(dead_code, reason = "the engine uses it"))]
mod callback;
#[cfg_attr(not(feature = "luajit"), expect(dead_code, reason = "the engine uses it"))]
mod calling;
mod options;
mod statistics;
#[cfg(feature = "luajit")]
mod thread;
#[cfg(feature = "luajit")]
mod transfer;

#[cfg(feature = "luajit")]
mod memory;
#[cfg(feature = "luajit")]
mod network;
#[cfg(feature = "luajit")]
mod state;

#[cfg(feature = "luajit")]
#[expect(unsafe_code, reason = "the raw calls per request, and moving a state between threads")]
mod ffi;

#[cfg_attr(not(feature = "luajit"), expect(dead_code, reason = "the engine uses it"))]
mod error;

#[cfg(not(feature = "luajit"))]
pub use absent::{Main, WorkerState};
pub use callback::{About, Calls, Wants};
pub use calling::{Call, Calling};
pub use error::{NO_ENGINE, ScriptError};
#[cfg(feature = "luajit")]
pub use ffi::WorkerState;
#[cfg(feature = "luajit")]
pub use main_state::Main;
pub use options::{Mode, Options};
pub use statistics::{Errors, Statistics, Summary};
