//! How connections are opened, and when they are renewed.

use core::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::Rate;
use super::addresses::{AddressRange, count, nth_in_turn};

/// How connections are opened, and when they are renewed. The default: all at once, and kept for as
/// long as the server keeps them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ConnectionPlan {
    /// Requests that a connection carries before it is renewed, at least 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u32>,
    /// Age from which on a connection takes no request, in nanoseconds; it is renewed once it is
    /// idle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifetime_ns: Option<u64>,
    /// Each connection carries one request, and this side closes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub close: Option<Closer>,
    /// Connects per second over all threads, renewals included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Addresses of this machine that connections come from, dealt over them in turn; empty: the
    /// kernel chooses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<AddressRange>,
    /// Where connections go, dealt over them in turn; empty: to the target's address.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub destinations: Vec<String>,
}

/// Who closes a connection that carries one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Closer {
    /// The server, asked to by `Connection: close` (RFC 9112 §9.6).
    Server,
    /// The client, after the answer, by a reset: its ports are free again at once.
    Client,
}

impl ConnectionPlan {
    /// Whether it is the default.
    pub fn is_plain(&self) -> bool {
        *self == ConnectionPlan::default()
    }

    /// Where connection `number` of the run comes from. The connections of each destination are
    /// dealt over all sources, so that every pair of the two carries some.
    pub fn source(&self, number: u32) -> Option<IpAddr> {
        let destinations = u64::try_from(self.destinations.len().max(1)).unwrap_or(u64::MAX);
        nth_in_turn(&self.sources, u64::from(number) / destinations)
    }

    /// How many source addresses connections have, of so many connections to each destination; the
    /// one that the kernel chooses counts.
    pub fn sources_used(&self, connections: u32) -> u64 {
        let destinations = u64::try_from(self.destinations.len().max(1)).unwrap_or(u64::MAX);
        let of_each = u64::from(connections).div_ceil(destinations);
        u64::try_from(count(&self.sources)).unwrap_or(u64::MAX).min(of_each).max(1)
    }

    /// Requests after which this side renews a connection.
    pub fn requests_max(&self) -> Option<u32> {
        match self.close {
            Some(Closer::Client) => Some(1),
            _ => self.requests,
        }
    }
}
