//! A run as a value, and the library that carries it out.
//!
//! A [`RunSpec`] is all that a run needs; it can be written as JSON and read again. A [`Runner`]
//! plans it, checks the target, carries out the load and returns its [`weir_result::Document`]. An
//! [`Observer`] sees the progress, [`Interrupts`] end the run. This crate parses no command line,
//! prints nothing and never ends the process.
#![forbid(unsafe_code)]

mod runner;
mod spec;

mod finished;
mod interrupts;
mod location;
mod observer;
mod prepared;

mod load;
mod plan;
mod post;
mod preflight;
mod probe;
mod trials;
mod watch;
mod witness;

mod addresses;
mod background;
mod body;
mod connections;
pub mod credentials;
mod digest;
mod environment;
mod errors;
mod figures;
mod health;
mod http;
mod live;
mod parts;
mod raw;
mod reach;
mod redaction;
mod remarks;
mod script;
mod server_wait;
mod target;
mod tls;
mod watchdog;

pub use errors::{Error, ErrorKind, NoThread};
pub use finished::Finished;
pub use interrupts::{Interrupts, Stage};
pub use location::Location;
pub use observer::{ClientOverhead, Frame, Observer, Phase, Silent};
pub use post::Post;
pub use prepared::Prepared;
pub use raw::RawOutput;
pub use redaction::REDACTED;
pub use runner::Runner;
pub use spec::{
    AddressFamily, BodySpec, CheckSpec, CompatSpec, Dialect, EngineSpec, HttpChoice, HttpSpec,
    InputFile, IoChoice, LoadSpec, Pin, RedactionSpec, RequestSpec, RunSpec, SPEC_VERSION,
    ScriptSpec, TargetSpec, TlsSpec, Warmup, WatchSpec, WitnessChoice,
};
pub use trials::selfcheck::NoiseFloor;

/// Returns the wall-clock time as RFC 3339 text, in UTC.
pub fn now() -> String {
    load::Epoch::start().text()
}
