//! The requests of a load as their user writes them: [`list`] has those that it sends, [`expect`]
//! the responses that it expects, [`scenario`] the users that send several in order.
//!
//! This crate opens no file and no socket, runs no command and reads no clock.
#![forbid(unsafe_code)]

pub mod expect;
pub mod list;
pub mod scenario;
