//! Common parts of the measuring tasks: their cases, servers, clients, the machine, and tables of
//! figures. This module depends on no case and judges nothing.

mod cases;
pub(crate) mod clients;
mod fixture;
mod log;
mod machine;
mod options;
mod peers;
mod printed;
mod section;
mod servers;
mod stats;
pub(crate) mod table;
mod timed;

pub(crate) use cases::*;
pub(crate) use clients::*;
pub(crate) use fixture::*;
pub(crate) use log::*;
pub(crate) use machine::*;
pub(crate) use peers::*;
pub(crate) use printed::*;
pub(crate) use section::*;
pub(crate) use servers::*;
pub(crate) use stats::*;
pub(crate) use table::*;
pub(crate) use timed::*;
