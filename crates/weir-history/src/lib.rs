//! The history of runs: documents saved by name in one SQLite file, and the changes of their
//! metrics over time (METHOD 1.16).
//!
//! This crate runs no load, reads no clock and prints nothing. Documents come redacted, and it
//! stores nothing that is not in them.
#![forbid(unsafe_code)]

mod entry;
mod error;
#[cfg(test)]
mod fixture;
mod list;
mod location;
mod name;
mod schema;
mod selector;
mod series_key;
mod spark;
mod store;
mod table;
mod trend;

pub use entry::{Entry, Figure};
pub use error::HistoryError;
pub use list::List;
pub use location::{VARIABLE, location};
pub use name::{Name, NameError, Tag};
pub use selector::Selector;
pub use series_key::SeriesKey;
pub use store::{Filter, History, SavedRun};
pub use table::Layout;
pub use trend::{Change, MetricTrend, RecentChange, Series, Trend, TrendRun};
