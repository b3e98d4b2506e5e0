//! The machine under one worker: its sockets and its clock.
//!
//! Everything that touches the kernel lives here, behind [`Backend`]. This crate knows nothing of
//! HTTP, of schedules or of histograms, and it is the only one of the workspace with `unsafe`.

mod backend;
mod endpoint;
mod time;
mod waker;

pub use backend::{
    Backend, Close, ConnId, Event, EventKind, Listener, PooledId, Segment, SocketOptions,
    Submitted, TemplateId, WaitPolicy,
};
pub use endpoint::Endpoint;
pub use time::{Clock, Nanos};
pub use waker::Waker;
