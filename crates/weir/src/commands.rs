//! The subcommands.

pub(crate) mod compare;
pub(crate) mod completions;
mod debug;
pub(crate) mod doctor;
pub(crate) mod history;
pub(crate) mod man;
mod recorded;
pub(crate) mod report;
pub(crate) mod rerun;
pub(crate) mod resume;
pub(crate) mod run;
mod secrets;
pub(crate) mod selfcheck;
pub(crate) mod serve;
pub(crate) mod study;
