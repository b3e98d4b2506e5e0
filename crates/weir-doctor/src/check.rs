//! A check: its name and its function; and the outcome that such a function returns.

use weir_machine::Unreadable;

use crate::finding::{Finding, Remedy, Severity};
use crate::subject::ExaminedSystem;

/// A check of the machine.
pub(crate) struct Check {
    /// Stable name, in kebab case.
    pub(crate) id: &'static str,
    /// Subject, at most 12 characters, the width of the report's labels.
    pub(crate) title: &'static str,
    /// Examines the subject.
    pub(crate) examine: fn(&ExaminedSystem<'_>) -> Examined,
}

/// The outcome of an examination, `None` if the check does not apply to this target, or the reason
/// why it could not be made.
pub(crate) type Examined = Result<Option<Outcome>, Unreadable>;

/// The outcome of a check that could be made.
pub(crate) struct Outcome {
    severity: Severity,
    evidence: String,
    effect: Option<String>,
    remedy: Option<Remedy>,
}

impl Check {
    /// Makes the check; `None` if it does not apply.
    pub(crate) fn finding(&self, subject: &ExaminedSystem<'_>) -> Option<Finding> {
        let outcome = (self.examine)(subject).unwrap_or_else(|Unreadable(reason)| {
            Some(Outcome { severity: Severity::Unknown, ..Outcome::ok(reason) })
        })?;
        let Outcome { severity, evidence, effect, remedy } = outcome;
        Some(Finding { id: self.id, severity, title: self.title, evidence, effect, remedy })
    }
}

impl Outcome {
    /// Creates an outcome with nothing to correct.
    pub(crate) fn ok(evidence: impl Into<String>) -> Outcome {
        let evidence = evidence.into();
        Outcome { severity: Severity::Ok, evidence, effect: None, remedy: None }
    }

    /// Creates an outcome that makes numbers wrong.
    pub(crate) fn problem(evidence: impl Into<String>, effect: impl Into<String>) -> Outcome {
        let effect = Some(effect.into());
        Outcome { severity: Severity::Problem, effect, ..Outcome::ok(evidence) }
    }

    /// Creates an outcome that may bias numbers.
    pub(crate) fn warning(evidence: impl Into<String>, effect: impl Into<String>) -> Outcome {
        Outcome { severity: Severity::Warning, ..Outcome::problem(evidence, effect) }
    }

    /// Creates a problem if `is_problem`, else a warning if `is_warning`, else an outcome with
    /// nothing to correct, which has neither effect nor remedy.
    pub(crate) fn judged(
        is_problem: bool,
        is_warning: bool,
        evidence: impl Into<String>,
        effect: impl Into<String>,
    ) -> Outcome {
        match (is_problem, is_warning) {
            (true, _) => Outcome::problem(evidence, effect),
            (false, true) => Outcome::warning(evidence, effect),
            (false, false) => Outcome::ok(evidence),
        }
    }

    /// Adds the command that corrects it.
    pub(crate) fn command(self, command: impl Into<String>) -> Outcome {
        self.with(Remedy::Command(command.into()))
    }

    /// Adds advice, where no single command corrects it.
    pub(crate) fn advice(self, advice: impl Into<String>) -> Outcome {
        self.with(Remedy::Advice(advice.into()))
    }

    fn with(self, remedy: Remedy) -> Outcome {
        let remedy = Some(remedy).filter(|_| self.severity != Severity::Ok);
        Outcome { remedy, ..self }
    }
}
