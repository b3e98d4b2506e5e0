//! The report for people, rendered from the [view](crate::view) within the page's width.
//!
//! A clean run takes at most 22 lines of 80 columns if its command fits one. Wider terminals are
//! used up to 120 columns.

mod report;

mod lines;
mod options;
mod page;
mod table;

pub(crate) use options::bar;

pub use options::{Bars, TextOptions};
pub use report::{render, write};
