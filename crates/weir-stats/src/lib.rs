//! Numerics that judge: pure functions of numbers, for the document.
//!
//! Nothing here does input or output, reads a clock or draws a random number of its own.
#![forbid(unsafe_code)]

mod support;

pub use support::{SUPPORT, count_needed, is_supported, rank_of};
