//! Opening and renewal of connections.

use core::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::addresses::{AddressRange, count, nth_in_turn};
use super::rate::Rate;

/// Opening and renewal of connections. By default all are opened at once, and kept for as long as
/// the server keeps them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConnectionPlan {
    /// Number of requests after which a connection is renewed, at least 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u32>,
    /// Age after which a connection takes no request, in nanoseconds; it is renewed as soon as it
    /// is idle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifetime_ns: Option<u64>,
    /// Side that closes each connection after one request; absent if connections carry several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub close: Option<Closer>,
    /// Connects per second over all threads, renewals included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Source addresses, assigned to connections in turn; empty: the kernel chooses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<AddressRange>,
    /// Destination addresses, assigned to connections in turn; empty: the target's address.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub destinations: Vec<String>,
}

/// Side that closes a connection after one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Closer {
    /// The server, requested by `Connection: close` (RFC 9112 §9.6).
    Server,
    /// The client, after the response, by a reset: the port is free again at once.
    Client,
}

impl ConnectionPlan {
    /// True if this is the default.
    pub fn is_plain(&self) -> bool {
        *self == ConnectionPlan::default()
    }

    /// Returns the source address of connection `number` of the run. The connections of each
    /// destination are distributed over all sources, so that every pair of the two has some.
    pub fn source(&self, number: u32) -> Option<IpAddr> {
        let destinations = u64::try_from(self.destinations.len().max(1)).unwrap_or(u64::MAX);
        nth_in_turn(&self.sources, u64::from(number) / destinations)
    }

    /// Returns the number of source addresses in use with `connections` connections over all
    /// destinations; the one that the kernel chooses counts.
    pub fn sources_used(&self, connections: u32) -> u64 {
        let destinations = u64::try_from(self.destinations.len().max(1)).unwrap_or(u64::MAX);
        let of_each = u64::from(connections).div_ceil(destinations);
        u64::try_from(count(&self.sources)).unwrap_or(u64::MAX).min(of_each).max(1)
    }

    /// Returns the number of requests after which this side renews a connection.
    pub fn requests_max(&self) -> Option<u32> {
        match self.close {
            Some(Closer::Client) => Some(1),
            _ => self.requests,
        }
    }
}
