//! The machine, simulated in virtual time: a clock, a network, an HTTP/1 server and their faults. A
//! test may replace the server by a [`Service`] of its own protocol.
//!
//! [`Sim`] is a [`weir_io::Backend`]: the engine runs on it unmodified, in no real time, and a seed
//! repeats a run to the nanosecond. [`Truth`] records the events that really happened, so that a
//! test can compare the engine's numbers with them. This crate never reads a real clock, opens no
//! socket and does not depend on the engine.

#![forbid(unsafe_code)]

mod agenda;
mod call_budget;
pub mod errno;
mod faults;
mod framer;
mod host;
mod law;
mod machine;
mod network;
mod pause;
mod peer;
mod random;
mod response;
mod send_buffers;
mod server;
mod service;
mod sim;
mod socket;
mod truth;
mod virtual_clock;
mod wild;
mod world;

pub use faults::{Breakage, ConnectFault, Faults, Pick, ResponseFault};
pub use law::Law;
pub use network::{Network, Split};
pub use pause::Pause;
pub use random::{Random, Seed};
pub use server::{Drip, Framing, Responses, Server, Version, Workers};
pub use service::{Link, Service, ServiceFactory};
pub use sim::Sim;
pub use truth::{
    CloseCounts, Connect, ConnectCounts, Counts, Fate, TrueRequest, Truth, TruthHandle,
};
pub use world::{Client, Discards, Limits, Signal, World};
