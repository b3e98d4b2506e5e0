//! A rule of the verdict as documents hold it: a figure, its limits, its outcome, and its sentence.

use serde::{Deserialize, Serialize};
use weir_text::units;

/// One rule of the verdict and its outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rule {
    /// Id of the rule as in METHOD 1.9: `cpu-contention`. Unique in a verdict.
    pub id: String,
    /// Outcome of the rule.
    pub outcome: RuleOutcome,
    /// Part of the run that the rule is about.
    pub subject: Subject,
    /// Figure of the rule; null if it is not known.
    pub value: Option<f64>,
    /// Unit of the figure: `share` (of 1), `ratio`, `ns`, `count` or `rps`.
    pub unit: String,
    /// The side of a limit on which the rule fires.
    pub fires: Direction,
    /// Limit beyond which the rule is a finding; null if it never is.
    pub finding_at: Option<f64>,
    /// Limit beyond which printed numbers become bounds; null if they never do.
    pub bound_at: Option<f64>,
    /// Limit beyond which the run is void; null if it never is.
    pub void_at: Option<f64>,
    /// Estimated relative change of a printed number, 0 to 1; findings are ordered by it.
    pub weight: f64,
    /// Sentence: `what: evidence; remedy` if the rule fired, else the evidence alone.
    pub text: String,
}

/// Outcome of a rule, in ascending order of severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RuleOutcome {
    /// The figure is within its limits.
    Pass,
    /// The document lacks the data to judge the rule.
    Unknown,
    /// The rule states a fact and has no limit.
    Note,
    /// The figure is beyond its first limit; no number changes its meaning.
    Finding,
    /// The figure is so far beyond its limits that printed numbers are bounds.
    Bound,
    /// The figure is so far beyond its limits that even bounds are useless.
    Void,
}

/// The side of a limit on which a rule fires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// The rule fires if the figure is greater than the limit.
    #[default]
    Above,
    /// The rule fires if the figure is less than the limit.
    Below,
}

/// Part of a run that a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// The client: weir.
    Client,
    /// The server.
    Server,
    /// The load that was planned.
    Workload,
    /// The client's machine and its network.
    Machine,
    /// The statistics of the run.
    Statistics,
}

/// The unit of a rule's figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleUnit {
    /// A share of 1.
    Share,
    /// A ratio of two figures.
    Ratio,
    /// Nanoseconds.
    Ns,
    /// A number of things.
    Count,
    /// Per second.
    Rps,
}

impl RuleUnit {
    /// Returns the unit as documents name it.
    pub fn name(self) -> &'static str {
        match self {
            RuleUnit::Share => "share",
            RuleUnit::Ratio => "ratio",
            RuleUnit::Ns => "ns",
            RuleUnit::Count => "count",
            RuleUnit::Rps => "rps",
        }
    }

    fn print(self, value: f64) -> String {
        match self {
            RuleUnit::Share => units::percent(value),
            RuleUnit::Ratio => format!("{value:.2}"),
            RuleUnit::Ns => units::duration(value.round() as u64),
            RuleUnit::Count => units::count(value.round() as u64),
            RuleUnit::Rps => units::rate(value),
        }
    }

    /// Formats a limit, which is usually a round number.
    pub fn print_limit(self, limit: f64) -> String {
        match self {
            RuleUnit::Share => units::short_percent(limit),
            RuleUnit::Ratio => short(&format!("{limit:.2}")),
            RuleUnit::Ns => units::short_duration(limit.round() as u64),
            RuleUnit::Count => units::count(limit.round() as u64),
            RuleUnit::Rps => format!("{}/s", short(units::rate(limit).trim_end_matches("/s"))),
        }
    }
}

/// Removes zeros at the end of a number's decimals.
fn short(number: &str) -> String {
    match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => number.to_owned(),
    }
}

impl Rule {
    /// True if the rule crossed one of its limits.
    pub fn has_fired(&self) -> bool {
        self.outcome >= RuleOutcome::Finding
    }

    /// Formats the limits: `finding 5%, bound 20%`; empty if there are none.
    pub fn limits(&self) -> String {
        let limits =
            [("finding", self.finding_at), ("bound", self.bound_at), ("void", self.void_at)];
        let known = limits.into_iter().filter_map(|(name, limit)| {
            Some(format!("{name} {}", self.unit()?.print_limit(limit?)))
        });
        known.collect::<Vec<_>>().join(", ")
    }

    /// Formats the figure; empty if there is none.
    pub fn figure(&self) -> String {
        self.value.zip(self.unit()).map_or_else(String::new, |(value, unit)| unit.print(value))
    }

    fn unit(&self) -> Option<RuleUnit> {
        let units =
            [RuleUnit::Share, RuleUnit::Ratio, RuleUnit::Ns, RuleUnit::Count, RuleUnit::Rps];
        units.into_iter().find(|unit| unit.name() == self.unit)
    }
}
