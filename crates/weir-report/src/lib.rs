//! Documents to bytes: what a run's document looks like to people and to programs; and single
//! requests to a file.
//!
//! Everything here is a function of a [`Document`](weir_run::Document), fresh or loaded, or of the
//! [`Figures`](dialect::Figures) of a run that is reported as wrk and wrk2 do; nothing is measured,
//! nothing is asked of the machine, and no terminal is probed.
#![forbid(unsafe_code)]

pub mod dialect;
pub mod json;
pub mod junit;
pub mod raw;
pub mod text;

pub use text::TextOptions;
