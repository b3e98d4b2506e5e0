//! One rate of a search: its trials, and their combined result over all shares.

use super::evidence::{Evidence, Status};
use super::{Bound, Goal, Limiter, Trial, share_interval};

/// Trials at one rate that the client limited, from which on the rate is a ceiling. One may be the
/// work of a neighbour on the client's machine.
const CLIENT_LIMITED_MAX: usize = 2;

/// The same at a rate below one that the client has carried: there it takes more to believe that
/// the rate is too high for the client.
const CARRIED_LIMITED_MAX: usize = 4;

/// A rate and its trials.
#[derive(Clone, Debug)]
pub(super) struct Load {
    rate_rps: f64,
    longest_s: f64,
    good: usize,
    bad: usize,
    /// One for each share that the objective limits.
    evidence: Vec<Evidence>,
    client_limited: usize,
    /// True if the client was not the limit of a trial at a higher rate.
    is_carried: bool,
    is_connection_limited: bool,
}

impl Load {
    pub(super) fn new(rate_rps: f64, goal: &Goal) -> Load {
        Load {
            rate_rps,
            longest_s: 0.0,
            good: 0,
            bad: 0,
            evidence: vec![Evidence::new(); goal.shares_max.len()],
            client_limited: 0,
            is_carried: false,
            is_connection_limited: false,
        }
    }

    pub(super) fn rate_rps(&self) -> f64 {
        self.rate_rps
    }

    pub(super) fn longest_s(&self) -> f64 {
        self.longest_s
    }

    /// Returns the total duration of its full-length trials, in seconds.
    pub(super) fn full_s(&self) -> f64 {
        self.evidence[0].full_s()
    }

    /// Returns the total duration of full-length trials that should decide an undecided rate, in
    /// seconds, if its shares stay as they are.
    pub(super) fn needed_s(&self, goal: &Goal) -> f64 {
        let shares = self.evidence.iter().zip(&goal.shares_max);
        shares.map(|(evidence, limit)| evidence.needed_s(*limit)).fold(0.0, f64::max)
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

    /// Returns the status over all shares: the rate misses the objective if it misses one share,
    /// and meets it if it meets all.
    pub(super) fn status(&self) -> Status {
        if self.limiter().is_some() {
            return Status::Ceiling;
        }
        let has = |wanted: Status| self.evidence.iter().any(|share| share.status() == wanted);
        let ranked = [
            Status::Upper,
            Status::LikelyUpper,
            Status::Open,
            Status::Undecided,
            Status::LikelyLower,
        ];
        ranked.into_iter().find(|status| has(*status)).unwrap_or(Status::Lower)
    }

    /// Returns the rate as a bound, with the evidence of the share that is furthest above its
    /// limit, or least below it.
    pub(super) fn bound(&self, goal: &Goal) -> Bound {
        let is_upper = self.status().is_upper();
        let excess = |nth: &usize| {
            let (share, limit) = (self.evidence[*nth].share(), goal.shares_max[*nth]);
            (if is_upper { share.low } else { share.high }) / limit
        };
        let furthest = (0..self.evidence.len()).max_by(|a, b| excess(a).total_cmp(&excess(b)));
        let claim = furthest.expect("an objective limits at least one share");
        let deciding = &self.evidence[claim];
        Bound {
            rate_rps: self.rate_rps,
            good: self.good,
            bad: self.bad,
            requests: deciding.requests(),
            claim,
            share: deciding.share(),
        }
    }

    pub(super) fn push(&mut self, trial: Trial, goal: &Goal) {
        assert_eq!(trial.shares.len(), goal.shares_max.len(), "each share has its slices");
        match trial.limited_by {
            Some(Limiter::Client) => {
                self.client_limited += 1;
                return;
            }
            Some(Limiter::Connections) => {
                self.is_connection_limited = true;
                return;
            }
            None => {}
        }
        let limits = goal.shares_max.iter().copied();
        let mut shares = trial.shares.iter().zip(limits.clone());
        let is_good = shares.all(|(slices, limit)| share_interval(slices).share <= limit);
        self.good += usize::from(is_good);
        self.bad += usize::from(!is_good);
        for ((evidence, slices), limit) in self.evidence.iter_mut().zip(trial.shares).zip(limits) {
            evidence.push(slices, trial.duration_s, limit, goal);
        }
        self.longest_s = self.longest_s.max(trial.duration_s);
    }
}
