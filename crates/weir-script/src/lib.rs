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

#![deny(unsafe_code)]

mod main_state;
mod worker;

mod callback;
mod calling;
mod options;
mod statistics;
mod thread;
mod transfer;

mod memory;
mod network;
mod state;

#[expect(unsafe_code, reason = "the raw calls per request, and moving a state between threads")]
mod ffi;

mod error;

pub use callback::About;
pub use calling::{Call, Calling};
pub use error::ScriptError;
pub use main_state::Main;
pub use options::{Mode, Options};
pub use statistics::{Errors, Statistics, Summary};
pub use worker::{Calls, Wants, Worker};
