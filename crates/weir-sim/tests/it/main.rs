//! The tests of weir-sim's public interface, as one program so that it is linked once.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
mod contract;
mod faults;
mod queues;
mod theory;
