//! The list of requests of a plan. The document has the digest of its file, not its content.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::absent::is_default;

use super::users::{ScenarioPlan, UsersPlan};

/// A list of requests that are sent in place of one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListPlan {
    /// Format of the list: `urls`, `jsonl`, `vegeta-http`, `vegeta-json`, `curl`, `har` or
    /// `scenario`; of a replayed log, its format.
    pub format: String,
    /// SHA-256 of its text, in hexadecimal.
    pub sha256: String,
    /// Number of its requests.
    pub rows: u64,
    /// Order in which they are sent (METHOD 1.23).
    pub order: ListOrder,
    /// Number of turns in a pass over the list: the sum of the weights in lowest terms.
    pub turns: u64,
    /// Names under which requests are counted, in file order; the last may be `(other)`.
    pub names: Vec<String>,
    /// Indices in `names` of those with intervals, by planned weight.
    pub with_intervals: Vec<u16>,
    /// Index in `names` of the request that the one-connection probe repeats; absent if other
    /// requests have that name too, or no request has a safe method.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probed: Option<u16>,
    /// Templates of the requests; absent if no request has a field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub templates: Option<TemplatePlan>,
    /// Users who send the requests, as steps of scenarios or as turns of sessions; absent if each
    /// slot has one of them. The last `names` are those of the scenarios then, or of all sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub users: Option<UsersPlan>,
    /// Redirects that each request follows at most; absent if they follow none. The names of the
    /// requests are there twice then: those behind the first half are of requests whose responses
    /// were redirected.
    #[serde(default, skip_serializing_if = "is_default")]
    pub redirects: u8,
    /// Requests of other origins, which were left out, by origin; absent if there are none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub other_origins: BTreeMap<String, u64>,
}

impl ListPlan {
    /// Format of a file of scenarios. Users of other formats have the sessions of a list.
    pub const SCENARIOS: &str = "scenario";

    /// Returns the scenarios; none if each slot has one request.
    pub fn scenarios(&self) -> &[ScenarioPlan] {
        self.users.as_ref().map_or(&[], |users| &users.scenarios)
    }

    /// Returns the number of names of requests. Those that follow are of scenarios.
    pub fn request_names(&self) -> usize {
        self.names.len().saturating_sub(self.scenarios().len())
    }
}

/// Templates of a list's requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TemplatePlan {
    /// Seed of their random values.
    pub seed: u64,
    /// SHA-256 of the rows with values, in hexadecimal; absent without them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows_sha256: Option<String>,
    /// Order of the rows: `sequential`, `random` or `unique`; absent without them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows_order: Option<String>,
}

/// Order in which the requests of a list are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "order", rename_all = "snake_case")]
pub enum ListOrder {
    /// File order, round and round.
    #[default]
    Sequential,
    /// At random, by weight.
    Random {
        /// Seed of the order.
        seed: u64,
    },
    /// File order, each request once.
    Once,
}
