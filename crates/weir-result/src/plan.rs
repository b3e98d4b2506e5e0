//! The plan of a run, complete enough to repeat it. Flags are parsed elsewhere.

mod addresses;
mod arrivals;
mod connection;
mod connection_load;
mod connection_stage;
mod expect;
mod http;
mod list;
mod load;
mod messages;
mod part;
mod rate;
mod replay;
mod stage;
mod success;
mod tls;
mod users;

pub use addresses::{AddressRange, AddressRangeError};
pub use arrivals::Arrivals;
pub use connection::{Closer, ConnectionPlan};
pub use connection_load::ConnectionLoad;
pub use connection_stage::{
    ConnectionStage, StageSpan, check_connection_stages, connections_at, parse_connection_stages,
};
pub use expect::ExpectPlan;
pub use http::{ConnectionEnd, Http2Plan, HttpPlan, WebSocketPlan};
pub use list::{ListOrder, ListPlan, TemplatePlan};
pub use load::{DueTimes, Load, Warmup};
pub use messages::{GoodputTerm, GoodputTime, MessagePlan, MessageProtocol, one_or_several};
pub use part::{PART_WEIGHTS_MAX, Part};
pub use rate::Rate;
pub use replay::{ReplayPlan, Speed};
pub use stage::{Stage, check_stages, mean_rate, parse_curve, parse_stages, stage_at};
pub use success::SuccessRule;
pub use tls::{TlsPlan, TlsVersion};
pub use users::{ScenarioPlan, StepPlan, UsersPlan};

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::absent::is_default;

/// Divisor of the window for the drain's limit, which is at least `DRAIN_MIN_NS`.
const DRAIN_PART: u64 = 5;
const DRAIN_MIN_NS: u64 = 1_000_000_000;

/// Plan of a run: the load as requested.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Plan {
    /// URL as given, without credentials.
    pub url: String,
    /// Destination of the load.
    pub target: Target,
    /// Requests that are sent.
    pub request: RequestPlan,
    /// List of requests that are sent in place of `request`; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<ListPlan>,
    /// The load: the due times of requests, connections, limits and the end.
    pub load: Load,
    /// Number of workers, 1 up to `connections`.
    pub threads: u32,
    /// True if `threads` is a default that leaves CPUs to a server on this machine (METHOD 1.8).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub leaves_cpus: bool,
    /// Version of HTTP; null in a plan that is only printed, if the server chooses.
    #[serde(default = "http11")]
    pub http: Option<HttpPlan>,
    /// Field that a message of WebSocket and its echo have in common, as `json:/id`; absent if
    /// echoes come in the order of the messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matched_by: Option<String>,
    /// Send strategy: the precision of send times.
    pub pacing: Pacing,
    /// Receive strategy.
    #[serde(default)]
    pub wait: Wait,
    /// Tick in nanoseconds. Requests of an open loop are sent at multiples of it after the start of
    /// the schedule, each at the first one at or after its due time. Null: each is sent when it is
    /// due.
    #[serde(default)]
    pub tick_ns: Option<u64>,
    /// I/O engine of the run.
    pub io: IoEngine,
    /// Selection of connections that request kernel time stamps.
    #[serde(default)]
    pub stamps: StampChoice,
    /// Opening and renewal of connections.
    #[serde(default, skip_serializing_if = "ConnectionPlan::is_plain")]
    pub connection: ConnectionPlan,
    /// Choices of TLS.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tls: TlsPlan,
    /// Responses that count as success, unless there are expectations.
    #[serde(default, skip_serializing_if = "is_default")]
    pub success: SuccessRule,
    /// Expectations of responses; one that misses none counts as success. Absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<ExpectPlan>,
    /// Measurement of messages within responses; absent if they are not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<MessagePlan>,
    /// Part of the plan that this run carries out; absent if it is the whole. Everything else in
    /// the plan is that of all parts together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
}

/// The plan of `weir http://127.0.0.1/`, independent of the machine: a closed loop of 10
/// connections on one thread for 10 s. It is a base for plans that differ in some fields.
impl Default for Plan {
    fn default() -> Plan {
        Plan {
            url: "http://127.0.0.1/".to_owned(),
            target: Target::default(),
            request: RequestPlan::default(),
            list: None,
            load: Load { warmup: Warmup::default(), ..Load::default() },
            threads: 1,
            leaves_cpus: false,
            http: http11(),
            matched_by: None,
            pacing: Pacing::Hybrid,
            wait: Wait::Auto,
            tick_ns: None,
            io: IoEngine::IoUring,
            stamps: StampChoice::None,
            connection: ConnectionPlan::default(),
            tls: TlsPlan::default(),
            success: SuccessRule::default(),
            expect: None,
            messages: None,
            part: None,
        }
    }
}

/// The version of plans that were written before there was a choice.
#[expect(clippy::unnecessary_wraps, reason = "it is the default of an optional field")]
fn http11() -> Option<HttpPlan> {
    Some(HttpPlan::Http11)
}

impl Plan {
    /// Returns the same plan with a change of its load.
    #[must_use]
    pub fn with_load(mut self, change: impl FnOnce(&mut Load)) -> Plan {
        change(&mut self.load);
        self
    }

    /// Returns the users who send the requests as steps; `None` if there are no scenarios.
    pub fn users(&self) -> Option<&UsersPlan> {
        self.list.as_ref()?.users.as_ref()
    }

    /// True if requests have due times: those of an open loop, the later steps of users, and those
    /// that follow a redirect.
    pub fn has_due_times(&self) -> bool {
        let follows = self.list.as_ref().is_some_and(|list| list.redirects > 0);
        self.load.is_open_loop() || self.users().is_some() || follows
    }

    /// Returns the greatest number of requests in flight on one connection.
    pub fn depth(&self) -> u16 {
        self.http.and_then(HttpPlan::streams).unwrap_or(self.load.pipeline)
    }

    /// Returns the options of WebSocket; `None` over HTTP.
    pub fn websocket(&self) -> Option<WebSocketPlan> {
        match self.http {
            Some(HttpPlan::WebSocket(websocket)) => Some(websocket),
            _ => None,
        }
    }

    /// True if connections are only held: no request is sent.
    pub fn is_idle(&self) -> bool {
        self.websocket().is_some_and(|websocket| websocket.idle)
    }

    /// True if each message of a WebSocket server counts as the echo of the oldest in flight.
    pub fn echoes_in_order(&self) -> bool {
        self.websocket().is_some_and(|websocket| !websocket.idle) && self.matched_by.is_none()
    }

    /// Returns what the protocol calls the end of a connection by the server.
    pub fn connection_end(&self) -> ConnectionEnd {
        self.http.unwrap_or(HttpPlan::Http11).connection_end()
    }

    /// True if neither a time nor a number of requests ends the window, nor the end of a list that
    /// is sent once: the first signal does.
    pub fn is_until_signal(&self) -> bool {
        let is_once = self.list.as_ref().is_some_and(|list| list.order == ListOrder::Once);
        self.load.is_until_signal() && !is_once
    }

    /// Returns the limit of the drain in nanoseconds (METHOD 1.5).
    pub fn drain_limit_ns(&self) -> u64 {
        let share_ns = match self.load.length_ns() {
            Some(window_ns) => window_ns / DRAIN_PART,
            None if self.is_until_signal() => 0,
            None => u64::MAX,
        };
        self.load.drain_ns.unwrap_or(share_ns.max(DRAIN_MIN_NS).min(self.load.timeout_ns))
    }

    /// Returns the number of workers that this run starts: its part's share, else all.
    pub fn own_threads(&self) -> u32 {
        self.part.map_or(self.threads, |part| part.share_of(self.threads))
    }

    /// Returns the numbers within the whole plan of the workers that this run starts.
    pub fn own_workers(&self) -> impl Iterator<Item = u32> + use<> {
        let part = self.part;
        (0..self.own_threads()).map(move |rank| part.map_or(rank, |part| part.nth(rank)))
    }

    /// Returns the number of connections that this run opens: its part's share, else all.
    pub fn own_connections(&self) -> u32 {
        self.part.map_or(self.load.connections.count(), |part| self.connections_of(part))
    }

    /// Returns the greatest number of connections that this run opens: its part's share, else all.
    pub fn own_connections_max(&self) -> u32 {
        let all = self.load.connections.most();
        self.part.map_or(all, |part| self.share_of(part, all))
    }

    /// Returns the number of connections of a part.
    pub(crate) fn connections_of(&self, part: Part) -> u32 {
        self.share_of(part, self.load.connections.count())
    }

    /// Returns the greatest number of connections of a part.
    pub(crate) fn connections_max_of(&self, part: Part) -> u32 {
        self.share_of(part, self.load.connections.most())
    }

    /// Returns a part's share of the first `connections` connections. Connection j belongs to
    /// worker `j mod threads` (METHOD 1.3).
    fn share_of(&self, part: Part, connections: u32) -> u32 {
        let threads = self.threads.max(1);
        let each = connections / threads;
        let rest = connections % threads;
        part.share_of(threads).saturating_mul(each).saturating_add(part.share_of(rest))
    }
}

/// Destination of the load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Target {
    /// Scheme of the URL: `http` or `https`.
    pub scheme: String,
    /// Host of the URL, IPv6 addresses without brackets.
    pub host: String,
    /// Port; the scheme's default if the URL has none.
    pub port: u16,
    /// Path and query, beginning with `/`, without credentials.
    pub path: String,
    /// Address of the connections: `1.2.3.4:80`, `[::1]:80` or `unix:/path`.
    pub address: String,
}

/// The target `http://127.0.0.1/`.
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

/// Requests that are sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestPlan {
    /// Method of the requests.
    pub method: String,
    /// Headers given by the user, in order.
    pub headers: Vec<Header>,
    /// Length of the body in bytes.
    pub body_bytes: u64,
    /// Length of the whole request in bytes, in the form of HTTP/1.
    pub wire_bytes: u64,
}

/// A `GET` without headers of the user; its length on the wire is not known.
impl Default for RequestPlan {
    fn default() -> RequestPlan {
        RequestPlan { method: "GET".to_owned(), headers: Vec::new(), body_bytes: 0, wire_bytes: 0 }
    }
}

/// One header line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Header {
    /// Name of the header as given.
    pub name: String,
    /// Value of the header as given; `[redacted]` for credentials.
    pub value: String,
}

/// Send strategy: the precision of send times (METHOD 1.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Pacing {
    /// Sleeps until a request is due: lowest CPU use.
    Sleep,
    /// Sleeps until shortly before a request is due, then spins.
    Hybrid,
    /// Spins all the time: most precise, highest CPU use.
    Spin,
}

impl Pacing {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Pacing::Sleep => "sleep",
            Pacing::Hybrid => "hybrid",
            Pacing::Spin => "spin",
        }
    }
}

/// Receive strategy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Wait {
    /// Adapts: wakes up for the first response, coalesces wake-ups if many responses are ready, and
    /// busy-polls if that takes next to no CPU time, or makes more of a server on this machine.
    #[default]
    Auto,
    /// Wakes up for the first response, and busy-polls while it may come within 100 µs.
    Latency,
    /// Coalesces wake-ups for several responses, delaying none by more than 100 µs.
    Throughput,
    /// Never sleeps.
    Spin,
}

/// Selection of connections that request kernel time stamps (METHOD 1.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StampChoice {
    /// No connection.
    #[default]
    None,
    /// One in 64 connections of each worker, and at least one.
    Sample,
    /// All connections.
    All,
}

/// An I/O engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum IoEngine {
    /// io_uring(7).
    #[default]
    IoUring,
    /// epoll(7).
    Epoll,
    /// Virtual time, in tests.
    Simulated,
}

impl IoEngine {
    const ALL: [IoEngine; 3] = [IoEngine::IoUring, IoEngine::Epoll, IoEngine::Simulated];

    /// Returns its name, which is also the name of weir-io's engine.
    pub fn name(self) -> &'static str {
        match self {
            IoEngine::IoUring => "io_uring",
            IoEngine::Epoll => "epoll",
            IoEngine::Simulated => "simulated",
        }
    }

    /// Returns the engine of a name.
    pub fn named(name: &str) -> Option<IoEngine> {
        IoEngine::ALL.into_iter().find(|engine| engine.name() == name)
    }
}

impl fmt::Display for IoEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
