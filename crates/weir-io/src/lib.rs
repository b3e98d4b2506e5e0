//! The machine under one worker: its sockets and its clock.
//!
//! Everything that touches the kernel lives here, behind [`Backend`]. This crate knows nothing of
//! HTTP, of schedules or of histograms, and it is the only one of the workspace with `unsafe`.

mod backend;
mod endpoint;
mod epoll;
mod listener;
mod margin;
mod numbers;
mod outgoing;
mod signals;
mod socket;
pub mod system;
mod time;
mod token;
mod waker;

pub use backend::{
    Backend, BackendOptions, Close, ConnId, Event, EventKind, PooledId, Segment, SocketOptions,
    Submitted, TemplateId, WaitPolicy,
};
pub use endpoint::Endpoint;
pub use epoll::Epoll;
pub use listener::{ListenOptions, Listener};
pub use signals::{Signal, Signals};
pub use time::{Clock, Nanos};
pub use waker::Waker;

/// Whether io_uring works here.
///
/// # Errors
/// Why it does not.
pub fn probe_uring() -> std::io::Result<()> {
    Err(std::io::Error::new(std::io::ErrorKind::Unsupported, "io_uring is not built in"))
}
