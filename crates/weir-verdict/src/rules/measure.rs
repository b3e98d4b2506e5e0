//! The measure of a rule: its limits, by which a figure gets its outcome and its sentence.

use weir_result::Document;
use weir_result::document::{Direction, Rule, RuleOutcome, RuleUnit, Subject};

use crate::thresholds::SHARES_WINDOW_LEAST_S;

/// A rule before its figure is judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measure {
    id: &'static str,
    /// Name of the problem, if the rule fires: `CPU contention`.
    what: &'static str,
    subject: Subject,
    unit: RuleUnit,
    fires: Direction,
    finding_at: Option<f64>,
    bound_at: Option<f64>,
    void_at: Option<f64>,
    weight: f64,
}

impl Measure {
    pub(crate) fn new(
        id: &'static str,
        what: &'static str,
        subject: Subject,
        unit: RuleUnit,
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

    pub(crate) fn fires_below(self) -> Measure {
        Measure { fires: Direction::Below, ..self }
    }

    pub(crate) fn finding_at(self, limit: f64) -> Measure {
        Measure { finding_at: Some(limit), ..self }
    }

    pub(crate) fn bound_at(self, limit: f64) -> Measure {
        Measure { bound_at: Some(limit), ..self }
    }

    /// Sets the second limit of a share of CPU time. In a window shorter than a second the share
    /// rests on a few scheduler ticks, and bounds nothing; its effect on the latencies shows in any
    /// window.
    pub(crate) fn bound_at_in_long_windows(self, limit: f64, document: &Document) -> Measure {
        match document.throughput.window_s >= SHARES_WINDOW_LEAST_S {
            true => self.bound_at(limit),
            false => self,
        }
    }

    pub(crate) fn void_at(self, limit: f64) -> Measure {
        Measure { void_at: Some(limit), ..self }
    }

    pub(crate) fn subject(self, subject: Subject) -> Measure {
        Measure { subject, ..self }
    }

    /// Sets the estimated relative change of a printed number.
    pub(crate) fn weight(self, weight: f64) -> Measure {
        let weight = if weight.is_finite() { weight.clamp(0.0, 1.0) } else { 1.0 };
        Measure { weight, ..self }
    }

    /// Judges a figure. `evidence` holds the figure, and gets the limit if one was crossed.
    pub(crate) fn judge(self, value: f64, evidence: &str, remedy: &str) -> Rule {
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
    pub(crate) fn fired(
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
    pub(crate) fn pass(self, value: Option<f64>, evidence: impl Into<String>) -> Rule {
        self.rule(RuleOutcome::Pass, value, evidence.into())
    }

    /// Creates a rule that states a fact without a limit.
    pub(crate) fn note(self, value: Option<f64>, text: impl Into<String>) -> Rule {
        self.rule(RuleOutcome::Note, value, text.into())
    }

    /// Creates a rule without its data.
    pub(crate) fn unknown(self, why: &str) -> Rule {
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
