//! Tests that take long and seldom fail, since they start a browser or programs of others: a step
//! of `cargo xtask nightly`, by the name of this module.

mod page;
mod readers;
