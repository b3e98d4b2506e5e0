//! Requests before the load: the preflight, the client's noise floor, the setup of scenarios, and
//! the probe over one connection. `--debug` sends nothing else.

pub(crate) mod preflight;
pub(crate) mod probe;
pub(crate) mod selfcheck;
pub(crate) mod setup;
pub(crate) mod walk;
