//! The flags. Each is one field with its help beside it; values are parsed here by
//! `weir_text::units`, so that a wrong one is an error before anything runs.

pub(crate) mod choices;
mod cli;
mod connection;
pub(crate) mod connection_count;
pub(crate) mod doctor;
mod engine;
mod expect;
pub(crate) mod fleet;
mod grpc;
mod help;
mod hints;
pub(crate) mod history;
mod list;
pub(crate) mod live;
pub(crate) mod load;
pub(crate) mod manifest;
pub(crate) mod metrics;
pub(crate) mod pages;
mod peers;
pub(crate) mod permissions;
mod pin;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod request;
pub(crate) mod result;
mod run;
pub(crate) mod serve;
mod spec;
mod split;
pub(crate) mod study;
pub(crate) mod target;
mod tls;
pub(crate) mod tree;
pub(crate) mod values;
mod watch;
mod websocket;
mod words;
mod wrong;

pub(crate) use choices::ArrivalsChoice;
pub(crate) use cli::{Cli, Command, are_one_flag, parse_study_run, target_at, without_those_of};
pub(crate) use report::ReportArgs;
pub(crate) use result::{PrintForm, ResultArgs};
pub(crate) use run::RunArgs;
pub(crate) use spec::SpecArgs;
pub(crate) use study::StudyCommand;
