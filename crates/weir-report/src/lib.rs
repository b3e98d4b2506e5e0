//! Documents to bytes: reports for people and for programs, and single requests to a file.
//!
//! Everything here is a function of a [`Document`](weir_result::Document), fresh or loaded, or of
//! the [`Figures`](dialect::Figures) of a run that is reported as wrk and wrk2 do. This crate
//! measures nothing, reads nothing from the machine and probes no terminal.
//!
//! ```
//! let page = weir_report::exporters::of_extension("html").expect("a format");
//! let table = weir_report::Exporter::named("csv")?;
//! assert_eq!((page.name, table.extension), ("html", "csv"));
//! # Ok::<(), String>(())
//! ```
//!
//! [`Exporter::write`] writes a document in such a format.
#![forbid(unsafe_code)]

pub mod annotation;
mod by_scope;
pub mod csv;
pub mod dialect;
mod distribution;
pub mod exporters;
mod fields;
pub mod findings;
mod foreign;
pub mod fortio;
pub mod hgrm;
pub mod hlog;
pub mod html;
pub mod json;
pub mod jsonl;
pub mod junit;
pub mod k6;
mod ladder;
pub mod markdown;
pub mod prometheus;
pub mod raw;
mod streams;
pub mod text;
mod trackers;
pub mod vegeta;
pub mod view;

pub use annotation::Annotation;
pub use exporters::{EXPORTERS, Exporter};
pub use findings::{Findings, Source};
pub use text::TextOptions;
