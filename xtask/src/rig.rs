//! What the tasks that measure have in common: servers, clients, the machine they run on, and
//! tables of figures. It knows no case and judges nothing.

pub(crate) mod clients;
pub(crate) mod machine;
pub(crate) mod page;
pub(crate) mod servers;
pub(crate) mod stats;
pub(crate) mod table;
pub(crate) mod timed;
