//! Common parts of the measuring tasks: their cases, servers, clients, the machine, and tables of
//! figures. This module depends on no case and judges nothing.

mod cases;
pub(crate) mod clients;
mod fixture;
pub(crate) mod log;
mod machine;
mod peers;
mod section;
mod servers;
pub(crate) mod table;

pub(crate) use cases::{Case, measure};
pub(crate) use clients::{ClientRun, Cost, failures, show, timed};
pub(crate) use fixture::*;
pub(crate) use log::Record;
pub(crate) use machine::{Pressure, monotonic_ns};
pub(crate) use peers::{Peer, Printed, PrintedTime, versions};
pub(crate) use section::Section;
pub(crate) use servers::*;
pub(crate) use table::{MedianInterval, Table, rate, seconds, thousands};
