//! A rule: a figure, its limits, its outcome, and its sentence.

use serde::{Deserialize, Serialize};

use super::super::Document;
use super::thresholds::SHARES_WINDOW_LEAST_S;
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

/// A rule before its figure is judged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measure {
    id: &'static str,
    /// Name of the problem, if the rule fires: `CPU contention`.
    what: &'static str,
    subject: Subject,
    unit: Unit,
    fires: Direction,
    finding_at: Option<f64>,
    bound_at: Option<f64>,
    void_at: Option<f64>,
    weight: f64,
}

/// The unit of a rule's figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Share,
    Ratio,
    Ns,
    Count,
    Rps,
}

impl Measure {
    pub(super) fn new(
        id: &'static str,
        what: &'static str,
        subject: Subject,
        unit: Unit,
    ) -> Measure {
        Measure {
            id,
            what,
            subject,
            unit,
            fires: Direction::Above,
            finding_at: None,
            bound_at: None,
            void_at: None,
            weight: 0.0,
        }
    }

    pub(super) fn fires_below(self) -> Measure {
        Measure { fires: Direction::Below, ..self }
    }

    pub(super) fn finding_at(self, limit: f64) -> Measure {
        Measure { finding_at: Some(limit), ..self }
    }

    pub(super) fn bound_at(self, limit: f64) -> Measure {
        Measure { bound_at: Some(limit), ..self }
    }

    /// Sets the second limit of a share of CPU time. In a window shorter than a second the share
    /// rests on a few scheduler ticks, and bounds nothing; its effect on the latencies shows in any
    /// window.
    pub(super) fn bound_at_in_long_windows(self, limit: f64, document: &Document) -> Measure {
        match document.throughput.window_s >= SHARES_WINDOW_LEAST_S {
            true => self.bound_at(limit),
            false => self,
        }
    }

    pub(super) fn void_at(self, limit: f64) -> Measure {
        Measure { void_at: Some(limit), ..self }
    }

    pub(super) fn subject(self, subject: Subject) -> Measure {
        Measure { subject, ..self }
    }

    /// Sets the estimated relative change of a printed number.
    pub(super) fn weight(self, weight: f64) -> Measure {
        let weight = if weight.is_finite() { weight.clamp(0.0, 1.0) } else { 1.0 };
        Measure { weight, ..self }
    }

    /// Judges a figure. `evidence` holds the figure, and gets the limit if one was crossed.
    pub(super) fn judge(self, value: f64, evidence: &str, remedy: &str) -> Rule {
        let (outcome, limit) = self.outcome_of(value);
        match limit {
            Some(limit) => {
                let evidence = format!("{evidence} (limit: {})", self.unit.print_limit(limit));
                self.fired(outcome, Some(value), &evidence, remedy)
            }
            None => self.rule(RuleOutcome::Pass, Some(value), evidence.to_owned()),
        }
    }

    /// Returns the outcome for a figure, and the limit that was crossed.
    fn outcome_of(&self, value: f64) -> (RuleOutcome, Option<f64>) {
        let is_beyond = |limit: &f64| match self.fires {
            Direction::Above => value > *limit,
            Direction::Below => value < *limit,
        };
        let crossed = |limit: Option<f64>| limit.filter(is_beyond);
        if let Some(limit) = crossed(self.void_at) {
            (RuleOutcome::Void, Some(limit))
        } else if let Some(limit) = crossed(self.bound_at) {
            (RuleOutcome::Bound, Some(limit))
        } else if let Some(limit) = crossed(self.finding_at) {
            (RuleOutcome::Finding, Some(limit))
        } else {
            (RuleOutcome::Pass, None)
        }
    }

    /// Creates a rule that fired, with its sentence.
    pub(super) fn fired(
        self,
        outcome: RuleOutcome,
        value: Option<f64>,
        evidence: &str,
        remedy: &str,
    ) -> Rule {
        let text = match remedy.is_empty() {
            true => format!("{}: {evidence}", self.what),
            false => format!("{}: {evidence}; {remedy}", self.what),
        };
        self.rule(outcome, value, text)
    }

    /// Creates a rule that is within its limits.
    pub(super) fn pass(self, value: Option<f64>, evidence: impl Into<String>) -> Rule {
        self.rule(RuleOutcome::Pass, value, evidence.into())
    }

    /// Creates a rule that states a fact without a limit.
    pub(super) fn note(self, value: Option<f64>, text: impl Into<String>) -> Rule {
        self.rule(RuleOutcome::Note, value, text.into())
    }

    /// Creates a rule without its data.
    pub(super) fn unknown(self, why: &str) -> Rule {
        self.rule(RuleOutcome::Unknown, None, format!("not judged: {why}"))
    }

    fn rule(self, outcome: RuleOutcome, value: Option<f64>, text: String) -> Rule {
        Rule {
            id: self.id.to_owned(),
            outcome,
            subject: self.subject,
            value: value.filter(|value| value.is_finite()),
            unit: self.unit.name().to_owned(),
            fires: self.fires,
            finding_at: self.finding_at,
            bound_at: self.bound_at,
            void_at: self.void_at,
            weight: if outcome >= RuleOutcome::Finding { self.weight } else { 0.0 },
            text,
        }
    }
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Unit::Share => "share",
            Unit::Ratio => "ratio",
            Unit::Ns => "ns",
            Unit::Count => "count",
            Unit::Rps => "rps",
        }
    }

    fn print(self, value: f64) -> String {
        match self {
            Unit::Share => units::percent(value),
            Unit::Ratio => format!("{value:.2}"),
            Unit::Ns => units::duration(value.round() as u64),
            Unit::Count => units::count(value.round() as u64),
            Unit::Rps => units::rate(value),
        }
    }

    /// Formats a limit, which is usually a round number.
    fn print_limit(self, limit: f64) -> String {
        match self {
            Unit::Share => units::short_percent(limit),
            Unit::Ratio => short(&format!("{limit:.2}")),
            Unit::Ns => units::short_duration(limit.round() as u64),
            Unit::Count => units::count(limit.round() as u64),
            Unit::Rps => format!("{}/s", short(units::rate(limit).trim_end_matches("/s"))),
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

    fn unit(&self) -> Option<Unit> {
        let units = [Unit::Share, Unit::Ratio, Unit::Ns, Unit::Count, Unit::Rps];
        units.into_iter().find(|unit| unit.name() == self.unit)
    }
}
