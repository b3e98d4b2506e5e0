//! A run as a value, and the library that carries it out.
//!
//! A [`RunSpec`] is all that a run needs; it can be written as JSON and read again. A [`Runner`]
//! plans it, checks the target, carries out the load and returns its [`weir_result::Document`];
//! [`LocalRunner`] does so on this machine. An [`Observer`] sees the progress, [`Interrupts`] end
//! the run. This crate parses no command line, prints nothing and never ends the process.
//!
//! ```
//! use weir_result::Load;
//! use weir_runner::{LocalRunner, RunSpec, Silent};
//!
//! let server = weir_serve::spawn(weir_serve::ServeOptions::default())?;
//! let mut spec = RunSpec::new(format!("http://{}/", server.endpoint()));
//! spec.load = Load { connections: 2.into(), requests: Some(100), ..Load::default() };
//! let finished = LocalRunner::default().run(&spec, &mut Silent)?;
//! assert_eq!(finished.document.results.outcomes.ok, 100);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The example `embed` prints the report of such a run, and judges it.
#![forbid(unsafe_code)]

mod access;
mod permissions;
mod runner;
mod spec;

mod finished;
mod frame;
mod input;
mod local_run;
mod local_runner;
mod observer;
mod recent_frames;

mod after;
mod before;
mod prepare;
mod run;
mod watch;

mod background;
mod digest;
mod errors;
mod interrupts;
mod link;
mod lone_user;
mod patience;
mod post;
mod start_gate;

pub use access::MachineAccess;
pub use before::preflight::{ExchangeTrace, TracedMessage};
pub use before::selfcheck::NoiseFloor;
pub use before::walk::TracedStep;
pub use digest::sha256;
pub use errors::{Error, ErrorCause, Interrupted, NoThread, NotStarted, Unreported};
pub use finished::Finished;
pub use frame::{EndedRequests, Frame, FrameMessages, LiveOverhead, SendLags, StampedTimes};
pub use input::{DATA_MAX_BYTES, SETTINGS_MAX_BYTES, open_input, read_input, read_text_input};
pub use interrupts::{InterruptStage, Interrupts};
pub use local_runner::LocalRunner;
pub use observer::{Observer, Phase, Silent, StudyProgress};
pub use patience::{Over, Patience};
pub use permissions::{AllowedTarget, Permissions, PermittedNames, PermittedTargets};
pub use post::Post;
pub use prepare::location::Location;
pub use recent_frames::RecentFrames;
pub use run::abort::AbortWatch;
pub use run::raw::RawOutput;
pub use runner::{PreparedRun, Runner};
pub use spec::credentials::{self, REDACTED};
pub use spec::limits;
pub use spec::{
    AddressFamily, BodySpec, CheckSpec, CompatSpec, Dialect, EngineSpec, ExpectSpec, FormField,
    FormValue, GrpcSpec, HttpChoice, HttpSpec, InputFile, ListSource, ListSpec, MessageSpec, Pin,
    RedactionSpec, ReplaySpec, RequestSpec, RowsOrder, RunSpec, SPEC_VERSION, ScriptSpec,
    TargetSpec, TemplateSpec, TlsSpec, WatchSpec, WebSocketSpec, WitnessChoice,
};
pub use start_gate::{HeldLoad, StartGate};
pub use watch::aside::WatchedServer;
pub use weir_report::raw::RawTrial;
pub use weir_requests::scenario::{ImportFormat, ImportRules, ImportedScenario};

/// Returns the wall-clock time as RFC 3339 text, in UTC.
pub fn now() -> String {
    run::load::Epoch::start().text()
}
