//! Watching the server during a run, and facts to keep beside its result.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Sources of data about the server. By default there are none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WatchSpec {
    /// URL of nginx's stub_status page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nginx: Option<String>,
    /// URL of a page of Prometheus metrics.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prometheus: Option<String>,
    /// Metrics to read from that page: `name`, or `name{label="value"}`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<String>,
    /// Processes of this machine by number, or by name: all processes of that name together.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<String>,
    /// Shell commands that print numbers, called about once per second.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// Access log of the server, in nginx's format `combined` or one that begins like it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access_log: Option<PathBuf>,
    /// Time limit of one reading in nanoseconds; by default its source's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ns: Option<u64>,
    /// Shell commands whose output is kept, called once before the load.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub captures: Vec<String>,
    /// Facts about the run, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub notes: BTreeMap<String, String>,
}

impl WatchSpec {
    /// True if nothing of the server is watched or captured.
    pub fn is_off(&self) -> bool {
        let lists = [&self.metrics, &self.processes, &self.commands, &self.captures];
        let has_page = self.urls().next().is_some();
        self.access_log.is_none() && !has_page && lists.iter().all(|texts| texts.is_empty())
    }

    /// True if all fields are empty.
    pub(super) fn is_empty(&self) -> bool {
        self.is_off() && self.notes.is_empty() && self.timeout_ns.is_none()
    }

    /// The URLs of watched pages.
    pub(crate) fn urls(&self) -> impl Iterator<Item = &String> {
        self.nginx.iter().chain(&self.prometheus)
    }

    /// True if a watched page is read over TLS.
    pub(crate) fn has_secure_page(&self) -> bool {
        let scheme = |url: &str| url.trim_start().get(..8).map(str::to_ascii_lowercase);
        self.urls().any(|url| scheme(url).as_deref() == Some("https://"))
    }
}
