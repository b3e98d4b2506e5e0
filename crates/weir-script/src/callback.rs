//! Data that passes between a run and its callbacks.

use std::cell::Cell;
use std::net::SocketAddr;

/// Where an answer came from.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    /// The connection's number in its worker, from 0.
    pub connection: u32,
    /// The bytes of the request that was answered.
    pub request: &'a [u8],
}

/// How many arguments each callback gets; 0 if there is none, too.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arities {
    pub(crate) request: u32,
    pub(crate) delay: u32,
    pub(crate) response: u32,
}

/// What scripts set on a thread for the run to see.
#[derive(Debug, Default)]
pub(crate) struct Flags {
    pub(crate) stopped: Cell<bool>,
    pub(crate) address: Cell<Option<SocketAddr>>,
    /// Set by the run: of the answer at hand, `response` sees only the beginning of the body.
    pub(crate) body_cut: Cell<bool>,
}
