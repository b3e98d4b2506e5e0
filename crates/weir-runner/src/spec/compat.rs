//! The rules of wrk and wrk2, where they differ from weir's own.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Rules of another tool. The load connects to the first address that accepts a connection, counts
/// late responses, and sends nothing after the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompatSpec {
    /// The tool.
    pub dialect: Dialect,
    /// True if latencies are measured for whole batches of a script.
    #[serde(default)]
    pub batch_times: bool,
}

/// A tool whose command line and report weir has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// wrk: a closed loop.
    Wrk,
    /// wrk2: a constant rate.
    Wrk2,
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Dialect::Wrk => "wrk",
            Dialect::Wrk2 => "wrk2",
        })
    }
}
