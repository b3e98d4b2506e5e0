//! A run as a value, and the library that carries it out.
//!
//! A [`RunSpec`] is all that a run needs; it can be written as JSON and read again. A [`Runner`]
//! plans it, checks the target, carries out the load and returns its [`weir_result::Document`];
//! [`LocalRunner`] does so on this machine. An [`Observer`] sees the progress, [`Interrupts`] end
//! the run. This crate parses no command line,
//! prints nothing and never ends the process.
#![forbid(unsafe_code)]

mod runner;
mod spec;

mod finished;
mod interrupts;
mod local_run;
mod local_runner;
mod location;
mod observer;

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
mod draft;
mod environment;
mod errors;
mod figures;
mod health;
mod http;
mod live;
mod parts;
mod patience;
mod raw;
mod reach;
mod redaction;
mod remarks;
mod script;
mod server_wait;
mod target;
mod threads;
mod tls;
mod watchdog;

pub use credentials::REDACTED;
pub use errors::{Error, ErrorKind, NoThread};
pub use finished::Finished;
pub use interrupts::{Interrupts, Stage};
pub use local_runner::LocalRunner;
pub use location::Location;
pub use observer::{ClientOverhead, Frame, Observer, Phase, Silent, StudyProgress};
pub use patience::{Over, Patience};
pub use post::Post;
pub use raw::RawOutput;
pub use runner::{PreparedRun, Runner};
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
