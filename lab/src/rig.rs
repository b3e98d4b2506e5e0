//! Common parts of the measuring tasks: their cases, servers, clients, the machine, and tables of
//! figures. This module depends on no case and judges nothing.

pub(crate) mod cases;
pub(crate) mod clients;
pub(crate) mod fixture;
pub(crate) mod log;
pub(crate) mod machine;
pub(crate) mod options;
pub(crate) mod peers;
pub(crate) mod printed;
pub(crate) mod section;
pub(crate) mod servers;
pub(crate) mod stats;
pub(crate) mod table;
pub(crate) mod timed;
