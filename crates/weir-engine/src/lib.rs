//! The load: schedule, worker, connections, recorder.
//!
//! The engine turns a [`Job`] into [`weir_run::Measurements`]. It reads no clock and opens no socket
//! but through [`weir_io::Backend`], prints nothing and knows no file: the same code runs on
//! io_uring, on epoll and in virtual time.
#![forbid(unsafe_code)]

mod job;
mod run;
mod worker;
mod control;
mod timeline;
mod deal;
mod schedule;
mod random;
mod requests;
mod traffic;
mod connection;
mod lanes;
mod deadlines;
mod exchange;
mod recorder;
mod slices;
mod series;

pub use control::Control;
pub use job::Job;
pub use recorder::LiveSender;
pub use run::{RunError, run};
pub use worker::run_on;
