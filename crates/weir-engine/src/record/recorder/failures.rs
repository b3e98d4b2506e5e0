//! Slots that did not end as `ok`: their counts and times by class.

use weir_result::{ByOutcome, Histogram, OutcomeClass, Outcomes, Tally};

use crate::exchange::Outcome;

/// Times of the slots that did not end `ok`.
#[derive(Debug, Default)]
pub(super) struct Failures {
    bad: Tally,
    failed_at: Tally,
    censored: Tally,
}

impl Failures {
    /// Records the time of a slot by its outcome; none if that is `ok`.
    pub(super) fn record(&mut self, outcome: Outcome, ns: u64) {
        match outcome {
            Outcome::Ok(_) => {}
            Outcome::BadResponse(_) => self.bad.record(ns),
            Outcome::TransportError(_) => self.failed_at.record(ns),
            Outcome::TimedOut | Outcome::InFlightAtEnd => self.censored.record(ns),
        }
    }

    /// Returns the times, without those of `ok` slots.
    pub(super) fn finish(&self) -> ByOutcome {
        ByOutcome {
            ok: Histogram::new(),
            bad: Histogram::from(&self.bad),
            failed_at: Histogram::from(&self.failed_at),
            censored: Histogram::from(&self.censored),
        }
    }
}

/// Counts a slot by its outcome, unless that is `ok`.
pub(super) fn count_failure(outcomes: &mut Outcomes, outcome: Outcome) {
    let class = outcome.class();
    if class != OutcomeClass::Ok {
        outcomes.count(class, 1);
    }
}
