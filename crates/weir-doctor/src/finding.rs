//! A finding: the outcome of one check, with its evidence, as it is reported and exported. It knows
//! no check and no layout.

use serde::Serialize;

/// The outcome of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Stable, readable name of the check: `cpu-governor`.
    pub id: &'static str,
    /// Degree of harm.
    pub severity: Severity,
    /// Subject of the check, at most 12 characters: `CPU governor`.
    pub title: &'static str,
    /// Values that were found, or the reason why there are none.
    pub evidence: String,
    /// Effect on a measurement; `None` if there is none or it is unknown.
    pub effect: Option<String>,
    /// Correction; `None` if nothing has to change.
    pub remedy: Option<Remedy>,
}

/// Degree of harm to a measurement, the greatest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Numbers will be wrong, or runs fail.
    Problem,
    /// Numbers may be biased, or differ between runs.
    Warning,
    /// The check could not be made here.
    Unknown,
    /// Nothing to correct.
    Ok,
}

/// Correction of a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Remedy {
    /// A command for a shell.
    Command(String),
    /// A sentence, where no single command helps.
    Advice(String),
}
