//! Data that passes between a run and its callbacks.

use std::cell::Cell;
use std::net::SocketAddr;

/// Origin of a response.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    /// Number of the connection in its worker, from 0.
    pub connection: u32,
    /// Bytes of the request that this response belongs to.
    pub request: &'a [u8],
}

/// Callbacks that the script defines in this state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// True if there is a `request()`; otherwise the run sends
    /// [`WorkerState::static_request`](crate::WorkerState::static_request).
    pub request: bool,
    /// True if there is a `delay()`.
    pub delay: bool,
    /// Parts of a response that `response()` declares; none if there is no `response()`.
    pub response: Option<Wants>,
    /// True if a callback declares the connection, or the request behind a response.
    pub takes_connections: bool,
}

/// Parts of a response that the script reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wants {
    /// Names and values of the header fields.
    pub fields: bool,
    /// The decoded body.
    pub body: bool,
}

/// Number of arguments passed to each callback; also 0 if the script does not define it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arities {
    pub(crate) request: u32,
    pub(crate) delay: u32,
    pub(crate) response: u32,
}

/// Flags that a script sets on its thread object and that the run reads.
#[derive(Debug, Default)]
pub(crate) struct Flags {
    pub(crate) stopped: Cell<bool>,
    pub(crate) address: Cell<Option<SocketAddr>>,
    /// Set by the run: true if `response` receives only the beginning of the current body.
    pub(crate) body_cut: Cell<bool>,
}
