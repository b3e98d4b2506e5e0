//! One run on several machines. A *coordinator* plans, starts and judges it; *agents* make its
//! load; they talk over a bus that may delay, lose, repeat and reorder messages.
//!
//! [`Coordinator`] and [`Agent`] are state machines without I/O: messages and times go in, actions
//! come out. [`ClockEstimate`] bounds what the clock of an agent shows at an instant of the
//! coordinator's (decision 0067). [`AgentProcess`] and [`FleetRunner`] drive them: they own the
//! clock, the [`Bus`] and the load, and decide nothing.
#![forbid(unsafe_code)]

mod agent;
mod clock;
mod coordinator;
mod member;
mod message;
mod run_phase;
mod weights;

mod agent_load;
mod agent_log;
mod agent_process;
mod agent_rows;
mod agent_runner;
mod authority;
mod bus;
mod bus_users;
mod delivered;
mod envelope;
mod fleet_directory;
mod fleet_runner;
mod identity;
mod interval_store;
mod limits;
mod live;
mod machine;
mod manifest;
mod merging;
mod order;
mod private_files;
mod record;
mod resume;
mod status;

pub use agent::{Agent, AgentAction, LoadEnd};
pub use agent_log::LogWriter;
pub use agent_process::{AgentProcess, AgentSettings};
pub use agent_runner::{RunnerAtGate, on_this_machine};
pub use bus::{Bus, BusEvent, BusMessage, Offer};
pub use clock::{ClockEstimate, ClockProbe, ClockSpan};
pub use coordinator::{Coordinator, CoordinatorAction, OnLoss, Settings};
pub use fleet_directory::{FleetPlan, add_agents, remove_identities};
pub use fleet_runner::{FleetRunner, FleetSettings};
pub use identity::{BusAccess, Identity, Role};
pub use limits::{WatchPlace, check_spec};
pub use machine::clock_name;
pub use manifest::{
    FleetFiles, IDENTITY_PLACE, ManifestSettings, PodChoices, PodUser, PodWord, RESULTS_PLACE,
    SeccompChoice, Toleration, bus_host, manifest,
};
pub use member::{MemberEnd, MemberResult, start_spread_ns};
pub use message::{
    AgentFacts, Ending, FromAgent, Order, OrderSignature, PROTOCOL, RunId, RunWork, Sender, ToAgent,
};
pub use order::OrderSigner;
pub use resume::resume;
pub use status::{AgentPresence, KeptRun, status};
pub use weights::AgentWeights;

/// Time without a message of the coordinator after which an agent stops its load by itself, in
/// nanoseconds. The coordinator gives an agent up after the same time.
pub const LEASE_NS: u64 = 10_000_000_000;
