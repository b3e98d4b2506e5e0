//! Tests that take long and seldom fail: many millions of requests held against theory. A step of
//! `cargo xtask nightly`, by the name of this module.

mod queueing;
pub(crate) mod stops;
