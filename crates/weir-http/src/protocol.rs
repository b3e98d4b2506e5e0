//! The choice of a protocol. Independent of wire formats; each version has a module of its own.

use std::fmt::{self, Debug};
use std::sync::Arc;

use crate::multiplexed::Multiplexed;

/// The protocol of the connections.
///
/// The two kinds differ in more than their bytes. HTTP/1 sends prepared requests, and its responses
/// arrive in order ([`Http1`](crate::Http1)). The streams of a multiplexed protocol are
/// independent, and it has something to send of its own ([`Multiplexed`]).
#[derive(Clone, Debug, Default)]
pub enum ProtocolFactory {
    /// HTTP/1.1.
    #[default]
    Http1,
    /// A protocol with independent streams.
    Multiplexed(MultiplexedFactory),
}

/// Makes the multiplexed protocol of each connection.
#[derive(Clone)]
pub struct MultiplexedFactory(Arc<dyn Fn(u16) -> Box<dyn Multiplexed> + Send + Sync>);

impl ProtocolFactory {
    /// Returns a factory that calls `make` with the greatest number of streams.
    pub fn multiplexed(
        make: impl Fn(u16) -> Box<dyn Multiplexed> + Send + Sync + 'static,
    ) -> ProtocolFactory {
        ProtocolFactory::Multiplexed(MultiplexedFactory(Arc::new(make)))
    }

    /// True if its protocols carry independent streams.
    pub fn is_multiplexed(&self) -> bool {
        matches!(self, ProtocolFactory::Multiplexed(_))
    }
}

impl MultiplexedFactory {
    /// Returns a protocol with at most `streams` requests in flight.
    pub fn make(&self, streams: u16) -> Box<dyn Multiplexed> {
        (self.0)(streams)
    }
}

impl Debug for MultiplexedFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MultiplexedFactory")
    }
}
