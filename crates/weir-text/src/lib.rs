//! Words for people: names of settings, numbers to text and back, foreign text made printable, and
//! hints for misspelled words.
//!
//! It knows no document, no plan and no output: all of it are pure functions of their arguments.
#![forbid(unsafe_code)]

mod foreign;
mod kind;
pub mod setting;
mod similar;
pub mod units;

pub use foreign::{brief, brief_json, excerpt, is_unprintable, printable, printable_lines};
pub use kind::words_of_kind;
pub use setting::{Setting, name_settings};
pub use similar::similar;
