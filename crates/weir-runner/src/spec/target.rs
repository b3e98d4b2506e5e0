//! The server of a run, as the user names it.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use weir_text::Setting;
use weir_text::setting::{IPV4, IPV6};

/// Server of the load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetSpec {
    /// URL: `http[s]://HOST[:PORT]/PATH`, or `ws[s]://` for WebSocket. A user name and password in
    /// it are not sent.
    pub url: String,
    /// Unix socket to connect to instead of the URL's host; `@NAME` is an abstract one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unix: Option<PathBuf>,
    /// Family of the addresses to connect to; absent: either.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<AddressFamily>,
    /// Longest time to try to resolve and reach the server before the load, in nanoseconds; absent:
    /// one attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ns: Option<u64>,
}

/// A family of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AddressFamily {
    /// IPv4.
    Ipv4,
    /// IPv6.
    Ipv6,
}

impl AddressFamily {
    /// True if the address is of this family.
    pub fn has(self, address: IpAddr) -> bool {
        address.is_ipv4() == (self == AddressFamily::Ipv4)
    }

    /// Returns the setting that chooses it.
    pub(crate) fn setting(self) -> Setting {
        match self {
            AddressFamily::Ipv4 => IPV4,
            AddressFamily::Ipv6 => IPV6,
        }
    }
}

impl fmt::Display for AddressFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AddressFamily::Ipv4 => "IPv4",
            AddressFamily::Ipv6 => "IPv6",
        })
    }
}
