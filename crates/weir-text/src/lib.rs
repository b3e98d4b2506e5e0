//! Words for people: names of settings.
//!
//! It knows no document, no plan and no output.
#![forbid(unsafe_code)]

pub mod setting;

pub use setting::{Setting, name_settings};
