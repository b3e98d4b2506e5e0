//! The list of requests of a run.

use serde::{Deserialize, Serialize};
use weir_result::ListOrder;

use super::InputFile;

/// List of requests that are sent in place of one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListSpec {
    /// Where the requests stand.
    pub source: ListSource,
    /// Name of the format; absent: recognised by the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Order in which they are sent.
    #[serde(default)]
    pub order: ListOrder,
    /// True to leave out requests of other origins than the first.
    #[serde(default)]
    pub skip_other_origins: bool,
    /// True to read files of this machine that the list names, as bodies.
    #[serde(default)]
    pub allow_local: bool,
    /// Patterns of requests that share a name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
}

impl ListSpec {
    /// True if the requests are the steps of scenarios.
    pub(crate) fn has_scenarios(&self) -> bool {
        matches!(self.source, ListSource::Scenario(_))
    }
}

impl Default for ListSource {
    fn default() -> ListSource {
        ListSource::Urls(Vec::new())
    }
}

/// Place of a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ListSource {
    /// A file.
    File(InputFile),
    /// URLs, in order.
    Urls(Vec<String>),
    /// A file of scenarios, whose steps are the requests.
    Scenario(InputFile),
}
