//! The reports of wrk and wrk2, byte for byte where programs read them: a pure printer of figures
//! computed elsewhere.
//!
//! This module defines the layout of every line and the condition for printing it. It uses no
//! document and measures nothing. If the two tools compute a figure wrongly, the right one is
//! printed in its place.

mod report;

mod figures;
mod micros;
mod spectrum;
mod statistics;
mod units;

pub use figures::{Dialect, Figures, OptionalBlocks, SocketErrors};
pub use report::{Head, write_calibration, write_head, write_results};
