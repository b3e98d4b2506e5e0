//! The report as a view: sections of labelled lines, tables, plots, and notes.
//! Text, Markdown and HTML are renderers of it.
//!
//! The view is a function of a document. It has no widths, colours or markup; a renderer has no
//! documents.

mod run;
pub(crate) mod study;

mod agents;
mod connections;
mod course;
mod details;
mod expectations;
mod head;
mod highlights;
mod histogram;
mod knee;
mod message_figures;
mod messages;
mod names;
mod percentiles;
mod plots;
mod scopes;
mod server;
mod spectrum;
mod stages;
mod throughput;
mod tls;
mod tokens;
mod usage;
mod users;
mod verdict;

mod block;
mod cell;
mod detail;
mod fact;
mod plot;
mod report;
mod table;
mod tone;

pub(crate) use head::interruption;

pub use block::{Block, Entry, Form, Line};
pub use cell::CellValue;
pub use detail::Detail;
pub use fact::Fact;
pub use plot::{Axis, AxisUnit, Mark, Plot, Role, Scale, short};
pub use report::{Report, Section};
pub use table::{Row, Table, TableKind};
pub use tone::Tone;
