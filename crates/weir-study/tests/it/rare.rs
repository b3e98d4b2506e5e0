//! Tests that take long and seldom fail: many whole searches and comparisons of simulated servers.
//! A step of `cargo xtask nightly`, by the name of this module.

mod pairs;
mod queues;
