//! The history of runs: documents saved by name in one SQLite file, and the changes of their
//! metrics over time (METHOD 1.16).
//!
//! This crate runs no load, reads no clock and prints nothing. Documents come redacted, and it
//! stores nothing that is not in them.
#![forbid(unsafe_code)]

#[cfg(not(feature = "sqlite"))]
mod absent;
mod entry;
mod error;
mod list;
mod location;
mod name;
#[cfg(feature = "sqlite")]
mod schema;
mod series_key;
#[cfg(feature = "sqlite")]
mod store;
mod trend;

#[cfg(not(feature = "sqlite"))]
pub use absent::History;
pub use entry::{MetricFigure, RunEntry, SavedRun};
pub use error::HistoryError;
pub use list::{Layout, List};
pub use location::{VARIABLE, location};
pub use name::{Filter, Selector};
pub use name::{Name, NameError, Tag};
pub use series_key::SeriesKey;
#[cfg(feature = "sqlite")]
pub use store::History;
pub use trend::{Change, MetricTrend, RecentChange, Series, Trend, TrendRun};

#[cfg(test)]
mod tests;
