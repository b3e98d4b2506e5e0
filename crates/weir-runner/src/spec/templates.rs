//! Templates of the requests of a run.

use serde::{Deserialize, Serialize};

use super::InputFile;

/// Templates: fields such as `{{seq}}` in URL, header fields and bodies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TemplateSpec {
    /// Seed of random values.
    #[serde(default)]
    pub seed: u64,
    /// File of CSV with a line of names, whose values `{{csv:COLUMN}}` takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<InputFile>,
    /// Order in which requests take its rows.
    #[serde(default)]
    pub order: RowsOrder,
    /// True if fields apply to lists of other tools' formats too.
    #[serde(default)]
    pub everywhere: bool,
}

/// Order in which requests take rows with values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowsOrder {
    /// File order, round and round.
    #[default]
    Sequential,
    /// At random.
    Random,
    /// Each connection has a row of its own.
    Unique,
}

impl RowsOrder {
    /// Returns the name in documents.
    pub(crate) fn name(self) -> &'static str {
        match self {
            RowsOrder::Sequential => "sequential",
            RowsOrder::Random => "random",
            RowsOrder::Unique => "unique",
        }
    }
}

impl TemplateSpec {
    /// True if there is nothing but the defaults.
    pub(crate) fn is_default(&self) -> bool {
        *self == TemplateSpec::default()
    }
}
