//! The whole description of a simulated world: plain values, nothing that runs.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use weir_io::Nanos;

use crate::faults::Faults;
use crate::law::Law;
use crate::network::Network;
use crate::pause::Pause;
use crate::random::Seed;
use crate::server::Server;

/// A world to run an engine in. `World::default()` is a well server that answers each request in
/// 1 ms, at the end of a network that takes no time, before a client that takes no time either.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// Repeats the run; part of every panic of this crate.
    pub seed: Seed,
    /// The machine on which the engine runs.
    pub client: Client,
    /// What lies between.
    pub network: Network,
    /// What answers.
    pub server: Server,
    /// What goes wrong.
    pub faults: Faults,
    /// When a run is given up as endless.
    pub limits: Limits,
}

/// The machine on which the engine runs.
#[derive(Clone, Debug)]
pub struct Client {
    /// What one reading of the clock costs, in nanoseconds.
    pub clock_ns: u64,
    /// What one `submit` costs when something is to be sent. The bytes leave at its end.
    pub submit_ns: u64,
    /// What the handling of one event costs.
    pub event_ns: u64,
    /// How late the client is when it slept.
    pub wake_late: Law,
    /// Spans in which the client does not run, while events pile up.
    pub stops: Vec<Pause>,
    /// Most open sockets; beyond, `connect` fails with `EMFILE`.
    pub open_max: Option<usize>,
    /// Most bytes that one `Received` lends.
    pub read_bytes: usize,
    /// What becomes of bytes that may be thrown away.
    pub discards: Discards,
    /// Events from outside the world.
    pub signals: Vec<Signal>,
}

impl Default for Client {
    fn default() -> Client {
        Client {
            clock_ns: 0,
            submit_ns: 0,
            event_ns: 0,
            wake_late: Law::ZERO,
            stops: Vec::new(),
            open_max: None,
            read_bytes: 65_536,
            discards: Discards::default(),
            signals: Vec::new(),
        }
    }
}

/// What becomes of bytes that may be thrown away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Discards {
    /// They are thrown away.
    #[default]
    Always,
    /// They are lent all the same.
    Never,
    /// Any mix of the two.
    Random,
}

/// Something from outside, as a signal handler would do it: sets `flag` and wakes the client.
#[derive(Clone, Debug)]
pub struct Signal {
    /// When.
    pub at: Nanos,
    /// What it sets.
    pub flag: Arc<AtomicBool>,
}

/// When a run is given up as endless: the simulation panics, naming its seed.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Calls of the backend, and steps of the world, in one instant of virtual time.
    pub idle_calls: u64,
    /// Calls and steps in all.
    pub calls: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { idle_calls: 2_000_000, calls: 200_000_000 }
    }
}
