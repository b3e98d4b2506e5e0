//! The subcommands.

#[cfg(feature = "fleet")]
mod agent;
pub(crate) mod compare;
pub(crate) mod completions;
mod debug;
pub(crate) mod doctor;
#[cfg(feature = "fleet")]
mod fleet;
pub(crate) mod history;
pub(crate) mod man;
#[cfg(feature = "fleet")]
mod manifest;
mod recorded;
pub(crate) mod report;
pub(crate) mod rerun;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod scenario;
mod secrets;
pub(crate) mod selfcheck;
pub(crate) mod serve;
pub(crate) mod study;

#[cfg(not(feature = "fleet"))]
pub(crate) use crate::no_fleet::{agent, fleet};
#[cfg(feature = "fleet")]
pub(crate) use agent::agent;
#[cfg(feature = "fleet")]
pub(crate) use fleet::fleet;
