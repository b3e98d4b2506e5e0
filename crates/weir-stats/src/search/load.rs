//! One rate of a search and its trials.

use super::evidence::{TellingTrial, TrialEvidence};
use super::goal::Goal;
use super::trial::{Limiter, TrialResult};

/// Trials at one rate that the client limited, from which on the rate is a ceiling. One may be the
/// work of a neighbour on the client's machine.
const CLIENT_LIMITED_MAX: usize = 2;

/// The same at a rate below one that the client has carried: there it takes more to believe that
/// the rate is too high for the client.
const CARRIED_LIMITED_MAX: usize = 4;

/// Multiple of [`Goal::sum_s`] up to which a rate gets trials.
const SPENT: f64 = 3.0;

/// A rate and its trials.
#[derive(Clone, Debug, Default)]
pub(super) struct RateTrials {
    pub(super) rate_rps: f64,
    pub(super) trials: Vec<TellingTrial>,
    client_limited: usize,
    /// True if the client was not the limit of a trial at a higher rate.
    is_carried: bool,
    is_connection_limited: bool,
}

impl RateTrials {
    pub(super) fn new(rate_rps: f64) -> RateTrials {
        RateTrials { rate_rps, ..RateTrials::default() }
    }
    /// Returns what makes the rate a ceiling.
    pub(super) fn limiter(&self) -> Option<Limiter> {
        if self.is_connection_limited {
            return Some(Limiter::Connections);
        }
        let most = if self.is_carried { CARRIED_LIMITED_MAX } else { CLIENT_LIMITED_MAX };
        (self.client_limited >= most).then_some(Limiter::Client)
    }

    /// Notes that the client was not the limit of a trial at `rate_rps`.
    pub(super) fn carried(&mut self, rate_rps: f64) {
        self.is_carried |= self.rate_rps < rate_rps;
    }

    /// Returns the evidence of its own trials; `None` without one.
    pub(super) fn evidence(&self, goal: &Goal) -> Option<TrialEvidence> {
        let trials: Vec<&TellingTrial> = self.trials.iter().collect();
        (!trials.is_empty()).then(|| TrialEvidence::of(&trials, goal))
    }

    /// Returns the total duration of its trials, in seconds.
    pub(super) fn spent_s(&self) -> f64 {
        self.trials.iter().map(|trial| trial.duration_s).sum()
    }

    /// True if it got as many trials as a rate may, or as many as usual without the prospect of a
    /// decision. `missing_s` is the duration that should decide it.
    pub(super) fn is_spent(&self, missing_s: f64, goal: &Goal) -> bool {
        let spent_s = self.spent_s();
        let left_s = SPENT * goal.sum_s - spent_s;
        left_s <= 0.0 || spent_s >= goal.sum_s && (missing_s.is_nan() || missing_s > left_s)
    }

    pub(super) fn push(&mut self, trial: TrialResult, goal: &Goal) {
        match trial.limited_by {
            Some(Limiter::Client) => self.client_limited += 1,
            Some(Limiter::Connections) => self.is_connection_limited = true,
            None => self.trials.push(TellingTrial::new(trial, goal)),
        }
    }
}
