//! The measure of a rule: its limits, by which a figure gets its outcome and its sentence.

use weir_result::Document;
use weir_result::document::{Direction, Rule, RuleOutcome, RuleUnit, Subject};

use crate::thresholds::SHARES_WINDOW_LEAST_S;

/// A rule before its figure is judged.
#[derive(Clone, Debug)]
pub(crate) struct Measure {
    /// Name of the problem, if the rule fires: `CPU contention`.
    what: &'static str,
    unit: RuleUnit,
    /// The rule, as if it had no figure.
    rule: Rule,
}

impl Measure {
    pub(crate) fn new(
        id: &'static str,
        what: &'static str,
        subject: Subject,
        unit: RuleUnit,
    ) -> Measure {
        let rule = Rule {
            id: id.to_owned(),
            outcome: RuleOutcome::Unknown,
            subject,
            value: None,
            unit: unit.name().to_owned(),
            fires: Direction::Above,
            finding_at: None,
            bound_at: None,
            void_at: None,
            weight: 0.0,
            text: String::new(),
        };
        Measure { what, unit, rule }
    }

    pub(crate) fn fires_below(mut self) -> Measure {
        self.rule.fires = Direction::Below;
        self
    }

    pub(crate) fn finding_at(mut self, limit: f64) -> Measure {
        self.rule.finding_at = Some(limit);
        self
    }

    pub(crate) fn bound_at(mut self, limit: f64) -> Measure {
        self.rule.bound_at = Some(limit);
        self
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

    pub(crate) fn void_at(mut self, limit: f64) -> Measure {
        self.rule.void_at = Some(limit);
        self
    }

    pub(crate) fn subject(mut self, subject: Subject) -> Measure {
        self.rule.subject = subject;
        self
    }

    /// Sets the estimated relative change of a printed number.
    pub(crate) fn weight(mut self, weight: f64) -> Measure {
        self.rule.weight = if weight.is_finite() { weight.clamp(0.0, 1.0) } else { 1.0 };
        self
    }

    /// Judges a figure. `evidence` holds the figure, and gets the limit if one was crossed.
    pub(crate) fn judge(self, value: f64, evidence: &str, remedy: &str) -> Rule {
        let is_beyond = |limit: f64| match self.rule.fires {
            Direction::Above => value > limit,
            Direction::Below => value < limit,
        };
        let limits = [
            (RuleOutcome::Void, self.rule.void_at),
            (RuleOutcome::Bound, self.rule.bound_at),
            (RuleOutcome::Finding, self.rule.finding_at),
        ];
        let known = limits.into_iter().filter_map(|(outcome, limit)| Some((outcome, limit?)));
        match { known }.find(|(_, limit)| is_beyond(*limit)) {
            Some((outcome, limit)) => {
                let evidence = format!("{evidence} (limit: {})", self.unit.print_limit(limit));
                self.fired(outcome, Some(value), &evidence, remedy)
            }
            None => self.pass(Some(value), evidence),
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
        let value = value.filter(|value| value.is_finite());
        let weight = if outcome >= RuleOutcome::Finding { self.rule.weight } else { 0.0 };
        Rule { outcome, value, weight, text, ..self.rule }
    }
}
