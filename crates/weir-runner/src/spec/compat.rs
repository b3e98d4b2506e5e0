//! The rules of wrk and wrk2, where they differ from weir's own.

use serde::{Deserialize, Serialize};
pub use weir_report::dialect::Dialect;

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
