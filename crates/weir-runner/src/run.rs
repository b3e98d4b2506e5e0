//! The load, and the threads beside it: live frames, the machine's health, the witness and the raw
//! rows.

pub(crate) mod abort;
pub(crate) mod health;
mod live;
pub(crate) mod load;
pub(crate) mod raw;
pub(crate) mod trial;
pub(crate) mod witness;
