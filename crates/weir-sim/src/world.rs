//! The complete description of a simulated world: plain values, nothing that runs.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use weir_io::Nanos;

use crate::faults::Faults;
use crate::law::Law;
use crate::network::Network;
use crate::pause::Pause;
use crate::random::Seed;
use crate::server::Server;
use crate::service::ServiceFactory;

/// A world to run an engine in. `World::default()` has a faultless server that responds to each
/// request in 1 ms. Network and client take no time.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// Seed that repeats the run; part of every panic of this crate.
    pub seed: Seed,
    /// The machine on which the engine runs.
    pub client: Client,
    /// The network between client and server.
    pub network: Network,
    /// The server.
    pub server: Server,
    /// Services that replace the server, one for each connection; `None` for the server.
    pub service: Option<ServiceFactory>,
    /// The faults of the server, the network and the client's sockets.
    pub faults: Faults,
    /// Limits after which a run counts as endless.
    pub limits: Limits,
}

/// The machine on which the engine runs.
#[derive(Clone, Debug)]
pub struct Client {
    /// Duration of one reading of the clock, in nanoseconds.
    pub clock_ns: u64,
    /// Duration of one `submit` with bytes to send, in nanoseconds. The bytes leave at its end.
    pub submit_ns: u64,
    /// Duration of the handling of one event, in nanoseconds.
    pub event_ns: u64,
    /// Time that the client takes for bytes that begin with a TLS handshake record (RFC 8446 §5.1),
    /// before its next call, in nanoseconds.
    pub handshake_ns: u64,
    /// Delay of the client's wake-up after a sleep.
    pub wake_late: Law,
    /// Spans in which the client does not run, while events queue up.
    pub stops: Vec<Pause>,
    /// Most open sockets; beyond them `connect` fails with `EMFILE`.
    pub open_max: Option<usize>,
    /// Most bytes of one `Received` event.
    pub read_bytes: usize,
    /// Handling of bytes that may be discarded.
    pub discards: Discards,
    /// Signals from outside the world.
    pub signals: Vec<Signal>,
}

impl Default for Client {
    fn default() -> Client {
        Client {
            clock_ns: 0,
            submit_ns: 0,
            event_ns: 0,
            handshake_ns: 0,
            wake_late: Law::ZERO,
            stops: Vec::new(),
            open_max: None,
            read_bytes: 65_536,
            discards: Discards::default(),
            signals: Vec::new(),
        }
    }
}

/// The handling of bytes that may be discarded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Discards {
    /// They are discarded.
    #[default]
    Always,
    /// They are delivered nevertheless.
    Never,
    /// A random mix of the two.
    Random,
}

/// A signal from outside the world, which sets `flag` and wakes the client, as a signal handler
/// would.
#[derive(Clone, Debug)]
pub struct Signal {
    /// Time of the signal.
    pub at: Nanos,
    /// Flag that the signal sets.
    pub flag: Arc<AtomicBool>,
}

/// Limits after which a run counts as endless: the simulation then panics with its seed.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Calls of the backend, and steps of the world, in one instant of virtual time.
    pub idle_calls: u64,
    /// Calls and steps in total.
    pub calls: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { idle_calls: 2_000_000, calls: 200_000_000 }
    }
}
