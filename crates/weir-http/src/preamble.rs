//! The interface of what a socket exchanges between its connect and TLS or the protocol: a PROXY
//! header, a tunnel through SOCKS or CONNECT. Independent of any of them.

use std::fmt::{self, Debug};
use std::sync::Arc;

use crate::ProtocolError;

/// One step of a new socket before it carries TLS or the protocol.
pub trait Preamble: Debug + Send {
    /// Starts the step: appends the bytes to send first to `out`.
    fn start(&mut self, out: &mut Vec<u8>);

    /// True if the step is complete, and the next one begins with the next byte.
    fn is_complete(&self) -> bool;

    /// Parses received bytes and appends bytes to send to `out`. Returns the number of bytes that
    /// belong to this step: all of them, unless it is complete.
    ///
    /// # Errors
    /// If the peer refuses or breaks the step; the socket is then of no use.
    fn receive(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<usize, ProtocolError>;
}

/// Makes the preamble of each new socket.
#[derive(Clone)]
pub struct PreambleFactory(Arc<dyn Fn() -> Box<dyn Preamble> + Send + Sync>);

impl PreambleFactory {
    /// Returns a factory that calls `make` for each new socket.
    pub fn new(make: impl Fn() -> Box<dyn Preamble> + Send + Sync + 'static) -> PreambleFactory {
        PreambleFactory(Arc::new(make))
    }

    /// Returns the preamble of a new socket.
    pub fn make(&self) -> Box<dyn Preamble> {
        (self.0)()
    }
}

impl Debug for PreambleFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PreambleFactory")
    }
}
