//! Common parts of the measuring tasks: servers, clients, the machine, and tables of figures. This
//! module depends on no case and judges nothing.

pub(crate) mod clients;
pub(crate) mod machine;
pub(crate) mod section;
pub(crate) mod servers;
pub(crate) mod stats;
pub(crate) mod table;
pub(crate) mod timed;
