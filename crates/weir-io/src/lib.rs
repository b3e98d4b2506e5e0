//! System layer of one worker thread: sockets, clocks and waiting.
//!
//! Load and servers use all of it through [`Backend`]. System calls on sockets are in this crate,
//! the others in weir-machine. It contains no code for HTTP, schedules or histograms.

mod backend;
mod capabilities;
mod congestion;
mod contention;
mod endpoint;
mod epoll;
mod failing;
mod handshake;
mod limits;
mod listener;
mod margin;
mod numbers;
mod open;
mod outgoing;
mod raw_event;
mod slab;
mod socket;
mod socket_core;
mod socket_options;
mod stamping;
mod stamps;
mod tcp;
mod time;
mod token;
mod uring;
mod usage;
mod waker;
mod wall;

pub use backend::{
    Backend, BackendOptions, Close, ConnId, Event, EventKind, PooledId, Segment, Submitted,
    TemplateId, ThreadUsage, WaitPolicy,
};
pub use capabilities::Capabilities;
pub use congestion::congestion_control;
pub use endpoint::Endpoint;
pub use epoll::Epoll;
pub use handshake::Handshake;
pub use listener::{ListenOptions, Listener};
pub use open::{ENGINES, Engine, EngineChoice, EngineInfo, OnBackend, UnknownEngine, open};
pub use socket_options::{SocketOptions, StampRequest};
pub use tcp::TcpTally;
pub use time::{Clock, Nanos};
pub use uring::Uring;
pub use waker::Waker;
