//! What was asked: the plan of a run, complete enough to repeat it. Parsing flags is not done here.

mod addresses;
mod connection;
mod success;

pub use addresses::{AddressRange, AddressRangeError};
pub use connection::{Closer, ConnectionPlan};
pub use success::SuccessRule;

use std::fmt;

use serde::{Deserialize, Serialize};

/// The drain is limited to this part of the window, or to this time if that is longer.
const DRAIN_PART: u64 = 5;
const DRAIN_MIN_NS: u64 = 1_000_000_000;

/// The plan of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The URL as it was given, but for credentials.
    pub url: String,
    /// Where the load goes.
    pub target: Target,
    /// What is sent.
    pub request: RequestPlan,
    /// When it is sent.
    pub load: Load,
    /// Connections over all threads, at least 1.
    pub connections: u32,
    /// Workers, 1 up to `connections`.
    pub threads: u32,
    /// Most requests in flight on one connection, 1 to 128.
    pub pipeline: u16,
    /// Load before the measured window, in nanoseconds; the longest where `warmup_is_auto`.
    pub warmup_ns: u64,
    /// The window begins as soon as the load is steady (METHOD 1.12).
    #[serde(default)]
    pub warmup_is_auto: bool,
    /// Length of the measured window in nanoseconds; `None` when only `requests` ends it.
    pub duration_ns: Option<u64>,
    /// Measured requests after which the run ends, where limited.
    pub requests: Option<u64>,
    /// Longest wait for an answer, from the send, in nanoseconds.
    pub timeout_ns: u64,
    /// Longest wait for a connection, in nanoseconds.
    pub connect_timeout_ns: u64,
    /// Longest drain after the window, in nanoseconds; null: the longer of 1 s and 20% of
    /// `duration_ns`, but at most `timeout_ns`, which is also the limit without `duration_ns`.
    #[serde(default)]
    pub drain_ns: Option<u64>,
    /// How send times are kept.
    pub pacing: Pacing,
    /// How answers are awaited.
    #[serde(default)]
    pub wait: Wait,
    /// Requests of an open loop leave at multiples of this after the start of the schedule, in
    /// nanoseconds, each at the first one that is not before it is due; null: as each is due.
    #[serde(default)]
    pub tick_ns: Option<u64>,
    /// The I/O engine that runs.
    pub io: IoEngine,
    /// Which connections ask the kernel when bytes came and went.
    #[serde(default)]
    pub stamps: StampChoice,
    /// How connections are opened, and when they are renewed.
    #[serde(default, skip_serializing_if = "ConnectionPlan::is_plain")]
    pub connection: ConnectionPlan,
    /// The responses that count as success.
    #[serde(default, skip_serializing_if = "SuccessRule::is_default")]
    pub success: SuccessRule,
}

/// `weir http://127.0.0.1/` as it would be without a look at the machine: a closed loop of 10
/// connections on one thread for 10 s. Where to begin from for whoever makes plans that differ in
/// something.
impl Default for Plan {
    fn default() -> Plan {
        Plan {
            url: "http://127.0.0.1/".to_owned(),
            target: Target::default(),
            request: RequestPlan::default(),
            load: Load::ClosedLoop,
            connections: 10,
            threads: 1,
            pipeline: 1,
            warmup_ns: 0,
            warmup_is_auto: false,
            duration_ns: Some(10_000_000_000),
            requests: None,
            timeout_ns: 10_000_000_000,
            connect_timeout_ns: 10_000_000_000,
            drain_ns: None,
            pacing: Pacing::Hybrid,
            wait: Wait::Auto,
            tick_ns: None,
            io: IoEngine::IoUring,
            stamps: StampChoice::None,
            connection: ConnectionPlan::default(),
            success: SuccessRule::default(),
        }
    }
}

impl Plan {
    /// The limit of the drain in nanoseconds (METHOD 1.5).
    pub fn drain_limit_ns(&self) -> u64 {
        let share_ns = self.duration_ns.map_or(u64::MAX, |window_ns| window_ns / DRAIN_PART);
        self.drain_ns.unwrap_or(share_ns.max(DRAIN_MIN_NS).min(self.timeout_ns))
    }
}

/// Where the load goes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// `http` (later `https`).
    pub scheme: String,
    /// Host of the URL, IPv6 without brackets.
    pub host: String,
    /// Port, the scheme's own when the URL has none.
    pub port: u16,
    /// Path and query, beginning with `/`, but for credentials.
    pub path: String,
    /// The address connected to: `1.2.3.4:80`, `[::1]:80` or `unix:/path`.
    pub address: String,
}

/// `http://127.0.0.1/`.
impl Default for Target {
    fn default() -> Target {
        Target {
            scheme: "http".to_owned(),
            host: "127.0.0.1".to_owned(),
            port: 80,
            path: "/".to_owned(),
            address: "127.0.0.1:80".to_owned(),
        }
    }
}

/// What is sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RequestPlan {
    /// The method.
    pub method: String,
    /// Headers given by the user, in order.
    pub headers: Vec<Header>,
    /// Length of the body in bytes.
    pub body_bytes: u64,
    /// Length of the whole request on the wire in bytes.
    pub wire_bytes: u64,
}

/// A `GET` without headers of the user's; how long it is on the wire is not known.
impl Default for RequestPlan {
    fn default() -> RequestPlan {
        RequestPlan { method: "GET".to_owned(), headers: Vec::new(), body_bytes: 0, wire_bytes: 0 }
    }
}

/// One header line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Name as given.
    pub name: String,
    /// Value as given; `[redacted]` for credentials.
    pub value: String,
}

/// When requests are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "model", rename_all = "snake_case", deny_unknown_fields)]
pub enum Load {
    /// Each connection sends again as soon as it may (METHOD 1.4).
    ClosedLoop,
    /// Requests are due at planned times, whatever the server does (METHOD 1.3).
    OpenLoop {
        /// Requests per second over all threads.
        rate: Rate,
        /// The arrival process.
        arrivals: Arrivals,
    },
}

/// An arrival process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "process", rename_all = "snake_case", deny_unknown_fields)]
pub enum Arrivals {
    /// Evenly spaced, first arrival half a gap after the start.
    Uniform,
    /// A Poisson process: independent exponential gaps.
    Poisson {
        /// Makes the plan repeatable.
        seed: u64,
    },
}

/// An exact rate: `numerator / denominator` requests, or connects, per second, both at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// Requests …
    pub numerator: u64,
    /// … per this many seconds.
    pub denominator: u64,
}

impl Rate {
    /// The rate in requests per second, rounded to the nearest float.
    pub fn rps(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }
}

/// How send times are kept (METHOD 1.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Pacing {
    /// Sleep until due: cheapest.
    Sleep,
    /// Sleep until shortly before, then spin.
    Hybrid,
    /// Spin all the time.
    Spin,
}

/// How answers are awaited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Wait {
    /// Wake for the first one; for many where many are there already; without sleeping where that
    /// takes next to no CPU time.
    #[default]
    Auto,
    /// Wake for the first one, and do not sleep at all while it may come within 100 µs.
    Latency,
    /// Wake for many at once, keeping none back for longer than 100 µs.
    Throughput,
    /// Never sleep.
    Spin,
}

/// Which connections ask the kernel for stamps (METHOD 1.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StampChoice {
    /// None.
    #[default]
    None,
    /// One in sixty-four of each worker, and at least one.
    Sample,
    /// All.
    All,
}

/// An I/O engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum IoEngine {
    /// io_uring(7).
    IoUring,
    /// epoll(7).
    Epoll,
    /// Virtual time, in tests.
    Simulated,
}

impl fmt::Display for IoEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            IoEngine::IoUring => "io_uring",
            IoEngine::Epoll => "epoll",
            IoEngine::Simulated => "simulated",
        })
    }
}
