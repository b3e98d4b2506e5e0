//! System layer of one worker thread: sockets, clocks and waiting.
//!
//! System calls that the standard library lacks are in this crate; those on connections are behind
//! [`Backend`]. It contains no code for HTTP, schedules or histograms. Besides the Lua bindings, it
//! is the only crate with `unsafe`.

mod backend;
mod capabilities;
mod contention;
mod descriptors;
mod endpoint;
mod epoll;
mod failing;
mod handshake;
mod held_output;
mod limits;
mod listener;
mod margin;
mod numbers;
mod open;
mod outgoing;
mod raw_event;
pub mod readiness;
mod signals;
mod slab;
mod socket;
mod socket_core;
mod stamping;
mod stamps;
mod stdout;
pub mod system;
mod tcp;
mod time;
mod token;
mod uring;
mod usage;
mod waker;
mod wall;

pub use backend::{
    Backend, BackendOptions, Close, ConnId, Event, EventKind, PooledId, Segment, SocketOptions,
    StampRequest, Submitted, TemplateId, ThreadUsage, WaitPolicy,
};
pub use capabilities::Capabilities;
pub use descriptors::own_descriptors;
pub use endpoint::Endpoint;
pub use epoll::Epoll;
pub use handshake::Handshake;
pub use held_output::{HeldOutput, HeldText};
pub use listener::{ListenOptions, Listener};
pub use open::{Engine, OnBackend, open};
pub use signals::{Signal, Signals, unblock_in};
pub use stdout::Stdout;
pub use tcp::TcpTally;
pub use time::{Clock, Nanos};
pub use uring::Uring;
pub use waker::Waker;
