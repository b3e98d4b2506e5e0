//! The work after the load: the proof with one more thread, notes, figures of wrk's report, and the
//! description of the machine.

pub(crate) mod connections;
pub(crate) mod environment;
pub(crate) mod figures;
pub(crate) mod prove_client;
pub(crate) mod remarks;
