//! Numerics that judge: pure functions of numbers, for the document and for the benchmarks.
//!
//! Nothing here does input or output, reads a clock or draws a random number of its own.
#![forbid(unsafe_code)]

mod order;
mod support;

pub use order::{Interval, median, median_interval};
pub use support::{SUPPORT, count_needed, is_supported, rank_of};
