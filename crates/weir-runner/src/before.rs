//! Requests before the load: the preflight, the client's noise floor, and the probe over one
//! connection.

pub(crate) mod preflight;
pub(crate) mod probe;
pub(crate) mod selfcheck;
pub(crate) mod setup;
