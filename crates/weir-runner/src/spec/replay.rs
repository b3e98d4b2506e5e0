//! The replayed log of a run.

use serde::{Deserialize, Serialize};
use weir_result::Speed;

use super::InputFile;

/// Log whose times are the schedule, and whose requests are sent once each. The load model, the
/// warm-up and the length of the run are the log's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplaySpec {
    /// The log.
    pub file: InputFile,
    /// Name of the format, or nginx's `log_format` string; absent: recognised by the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Factor by which the times are faster than those of the log.
    #[serde(default)]
    pub speed: Speed,
    /// True to send requests with methods that are not safe too, without a body.
    #[serde(default)]
    pub sends_unsafe: bool,
    /// Patterns of requests that share a name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
}
