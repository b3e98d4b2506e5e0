//! Preparing a run: a specification becomes a plan, and the plan a job of the engine. Files are
//! read, names are resolved and the script is loaded. Nothing is sent.

pub(crate) mod addresses;
pub(crate) mod body;
pub(crate) mod connections;
pub(crate) mod expect;
pub(crate) mod form;
pub(crate) mod grpc;
pub(crate) mod http;
pub(crate) mod list;
pub(crate) mod load;
pub(crate) mod location;
pub(crate) mod messages;
pub(crate) mod open_loop;
pub(crate) mod parts;
pub(crate) mod plan;
pub(crate) mod reach;
pub(crate) mod redaction;
pub(crate) mod requests;
pub(crate) mod script;
pub(crate) mod server_wait;
pub(crate) mod threads;
pub(crate) mod tls;
pub(crate) mod watchdog;
pub(crate) mod websocket;
