//! The server of a run, as the user names it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::target::Url;

/// Server of the load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetSpec {
    /// URL: `http[s]://HOST[:PORT]/PATH`. A user name and password in it are not sent.
    pub url: String,
    /// Unix socket to connect to instead of the URL's host; `@NAME` is an abstract one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unix: Option<PathBuf>,
    /// Longest time to try to resolve and reach the server before the load, in nanoseconds; absent:
    /// one attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ns: Option<u64>,
}

impl TargetSpec {
    /// Returns the port of the URL; `None` for a Unix socket or a URL that cannot be parsed.
    pub fn port(&self) -> Option<u16> {
        let url = Url::of(self).ok().filter(|_| self.unix.is_none());
        url.map(|url| url.port())
    }
}
