//! Checks of the machine before a measurement: settings, limits and other programs that spoil the
//! numbers, each with its evidence, its effect and the command that corrects it.
//!
//! The checks read files below a [`Root`](weir_machine::Root) and the [`Facts`] that need system
//! calls. This crate writes no file, starts no program and changes no setting; a value that cannot
//! be read is an unknown, never a pass.
#![forbid(unsafe_code)]

mod diagnosis;
mod finding;

mod check;
mod checks;

mod facts;
mod sample;
mod subject;
mod target;

mod virtualisation;

mod report;

pub use diagnosis::{DIAGNOSIS_VERSION, Diagnosis, MachineSummary};
pub use facts::{Facts, UringRefusal};
pub use finding::{Finding, Remedy, Severity};
pub use report::report;
pub use sample::{Reading, Sample};
pub use subject::ExaminedSystem;
pub use target::TargetServer;
