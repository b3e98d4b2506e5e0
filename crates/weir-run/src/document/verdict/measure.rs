//! A rule: a figure, its limits, what came of it, and the sentence that says so.

use serde::{Deserialize, Serialize};

use super::super::Document;
use super::thresholds::SHARES_WINDOW_LEAST_S;
use crate::units;

/// One rule and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// As METHOD 1.9 names it: `cpu-contention`. Unique in a verdict.
    pub id: String,
    /// What came of it.
    pub outcome: RuleOutcome,
    /// Which part of the run it is about.
    pub subject: Subject,
    /// The figure; null where it is not known.
    pub value: Option<f64>,
    /// Its unit: `share` (1 is all), `ratio`, `ns`, `count` or `rps`.
    pub unit: String,
    /// The side of a limit on which the rule fires.
    pub fires: Direction,
    /// Beyond this it is a finding; null where it never is.
    pub finding_at: Option<f64>,
    /// Beyond this printed numbers become bounds; null where they never do.
    pub bound_at: Option<f64>,
    /// Beyond this the run is void; null where it never is.
    pub void_at: Option<f64>,
    /// Estimated relative change of a printed number, 0 to 1; findings are ordered by it.
    pub weight: f64,
    /// The sentence: `what: evidence; remedy` where it fired, the evidence alone elsewhere.
    pub text: String,
}

/// The outcome of a rule, in ascending order of weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RuleOutcome {
    /// Within its limits.
    Pass,
    /// The document lacks what it takes to judge.
    Unknown,
    /// A fact without a limit.
    Note,
    /// Beyond its first limit: worth knowing; no number changes its meaning by it.
    Finding,
    /// So far beyond that printed numbers are bounds.
    Bound,
    /// So far beyond that even bounds say nothing useful.
    Void,
}

/// The side of a limit on which a rule fires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// A figure greater than the limit.
    #[default]
    Above,
    /// A figure less than the limit.
    Below,
}

/// Which part of a run a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// This program.
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

/// A rule about to be judged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measure {
    id: &'static str,
    /// The problem it names where it fires: `CPU contention`.
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

    /// Of a share of CPU time: in a window shorter than a second it rests on a few scheduler ticks,
    /// and bounds nothing. What it did to the latencies shows however short the window is.
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

    /// The estimated relative change of a printed number.
    pub(super) fn weight(self, weight: f64) -> Measure {
        let weight = if weight.is_finite() { weight.clamp(0.0, 1.0) } else { 1.0 };
        Measure { weight, ..self }
    }

    /// Judges a figure. `evidence` holds the figure, and gets the limit where one was crossed.
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

    /// The outcome for a figure, and the limit that was crossed.
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

    /// A rule that fired, with its sentence.
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

    /// A rule that is within its limits.
    pub(super) fn pass(self, value: Option<f64>, evidence: impl Into<String>) -> Rule {
        self.rule(RuleOutcome::Pass, value, evidence.into())
    }

    /// A fact without a limit.
    pub(super) fn note(self, value: Option<f64>, text: impl Into<String>) -> Rule {
        self.rule(RuleOutcome::Note, value, text.into())
    }

    /// A rule without its data.
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

    /// A limit, which is a round number more often than not.
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

/// A number without zeros behind the point.
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

    /// Its limits as people read them: `finding 5%, bound 20%`; empty where it has none.
    pub fn limits(&self) -> String {
        let limits =
            [("finding", self.finding_at), ("bound", self.bound_at), ("void", self.void_at)];
        let known = limits.into_iter().filter_map(|(name, limit)| {
            Some(format!("{name} {}", self.unit()?.print_limit(limit?)))
        });
        known.collect::<Vec<_>>().join(", ")
    }

    /// Its figure as people read it; empty where there is none.
    pub fn figure(&self) -> String {
        self.value.zip(self.unit()).map_or_else(String::new, |(value, unit)| unit.print(value))
    }

    fn unit(&self) -> Option<Unit> {
        let units = [Unit::Share, Unit::Ratio, Unit::Ns, Unit::Count, Unit::Rps];
        units.into_iter().find(|unit| unit.name() == self.unit)
    }
}
