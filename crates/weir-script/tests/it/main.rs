//! The API for scripts written for wrk and wrk2, and the handling of their errors.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

mod callbacks;
mod environment;
mod errors;
mod statistics;
mod threads;
mod wrk_table;
