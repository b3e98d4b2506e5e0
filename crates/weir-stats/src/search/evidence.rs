//! The evidence of some trials: at one rate, or also at other rates, which only add to it.

use crate::interval::SliceTail;

use super::class::{Durations, RateClass};
use super::goal::Goal;
use super::growth::Rise;
use super::share::{ShareInterval, share_interval};
use super::trial::TrialResult;

/// Status of a rate, for one share, for the growth of the backlog, or for the whole objective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    /// The rate meets the objective by its class, and the interval of its full-length trials
    /// agrees.
    Lower,
    /// The rate misses the objective by its class, and the interval agrees.
    Upper,
    /// The interval is below the limit, but the class still lacks full-length trials.
    LikelyLower,
    /// The interval is above the limit, but the class still lacks full-length trials.
    LikelyUpper,
    /// The interval contains the limit, or class and interval contradict each other.
    Open,
}

/// A trial that tells of the server.
#[derive(Clone, Debug)]
pub(super) struct TellingTrial {
    pub(super) duration_s: f64,
    shares: Vec<Vec<SliceTail>>,
    rises: Vec<f64>,
    /// True if it met the objective.
    pub(super) is_good: bool,
}

impl TellingTrial {
    pub(super) fn new(trial: TrialResult, goal: &Goal) -> TellingTrial {
        assert_eq!(trial.shares.len(), goal.shares_max.len(), "each share has its slices");
        let mut shares = trial.shares.iter().zip(&goal.shares_max);
        let keeps = shares.all(|(slices, limit)| share_interval(slices).share <= *limit);
        let is_good = keeps && goal.growth(&trial.rises).is_none();
        TellingTrial {
            duration_s: trial.duration_s,
            shares: trial.shares,
            rises: trial.rises,
            is_good,
        }
    }

    fn is_full(&self, goal: &Goal) -> bool {
        self.duration_s >= goal.final_s
    }
}

/// The evidence of one or more trials.
pub(super) struct TrialEvidence {
    /// Trials that met the objective.
    pub(super) good: usize,
    /// Trials that missed it.
    pub(super) bad: usize,
    /// Requests of the deciding trials: the full-length ones, once there is one.
    pub(super) requests: u64,
    /// For each share of the goal.
    pub(super) shares: Vec<ShareInterval>,
    pub(super) rise: Rise,
    /// Duration of the deciding trials in seconds.
    decided_s: f64,
    pub(super) status: Status,
}

impl TrialEvidence {
    /// Judges trials.
    pub(super) fn of(trials: &[&TellingTrial], goal: &Goal) -> TrialEvidence {
        let has_full = trials.iter().any(|trial| trial.is_full(goal));
        let deciding: Vec<&TellingTrial> =
            trials.iter().copied().filter(|trial| trial.is_full(goal) || !has_full).collect();
        let share = |nth: usize| {
            let slices: Vec<SliceTail> =
                deciding.iter().flat_map(|trial| &trial.shares[nth]).copied().collect();
            share_interval(&slices)
        };
        let shares: Vec<ShareInterval> = (0..goal.shares_max.len()).map(share).collect();
        let steps: Vec<f64> = deciding.iter().flat_map(|trial| &trial.rises).copied().collect();
        let slices = deciding.iter().flat_map(|trial| &trial.shares[0]);
        let good = trials.iter().filter(|trial| trial.is_good).count();
        let mut evidence = TrialEvidence {
            good,
            bad: trials.len() - good,
            requests: slices.map(|slice| slice.count).sum(),
            shares,
            rise: Rise::of(&steps),
            decided_s: deciding.iter().map(|trial| trial.duration_s).sum(),
            status: Status::Open,
        };
        evidence.status = evidence.judged(trials, has_full, goal);
        evidence
    }

    /// Returns the status over all shares and the growth of the backlog: the objective is missed
    /// with one of them, and met with all.
    fn judged(&self, trials: &[&TellingTrial], has_full: bool, goal: &Goal) -> Status {
        let status = |is_good: &dyn Fn(&TellingTrial) -> bool, meets: bool, misses: bool| {
            let class = durations(trials, goal, is_good).classify(goal.sum_s, goal.exceed_ratio);
            match class {
                RateClass::Lower if meets => Status::Lower,
                RateClass::Upper if misses && has_full => Status::Upper,
                RateClass::Undecided if meets => Status::LikelyLower,
                RateClass::Undecided | RateClass::Upper if misses => Status::LikelyUpper,
                _ => Status::Open,
            }
        };
        let of_share = |nth: usize| {
            let (limit, found) = (goal.shares_max[nth], self.shares[nth]);
            let is_good = |trial: &TellingTrial| share_interval(&trial.shares[nth]).share <= limit;
            status(&is_good, found.high < limit, found.low > limit)
        };
        let grows = goal.grows(self.rise);
        let of_growth = status(&|trial| goal.growth(&trial.rises).is_none(), !grows, grows);
        let all: Vec<Status> = (0..self.shares.len()).map(of_share).chain([of_growth]).collect();
        let ranked = [Status::Upper, Status::LikelyUpper, Status::Open, Status::LikelyLower];
        ranked.into_iter().find(|status| all.contains(status)).unwrap_or(Status::Lower)
    }

    /// True if the shares keep their limits and the backlog does not grow, by the values alone.
    pub(super) fn leans_good(&self, goal: &Goal) -> bool {
        let mut shares = self.shares.iter().zip(&goal.shares_max);
        let keeps = shares.all(|(found, limit)| found.share <= *limit);
        keeps && self.requests > 0 && !goal.grows(self.rise)
    }

    /// Returns the duration of further full-length trials with which each interval should exclude
    /// its limit, in seconds, if the shares stay as they are: an interval narrows with the square
    /// root of the time.
    pub(super) fn missing_s(&self, goal: &Goal) -> f64 {
        let shares = self.shares.iter().zip(&goal.shares_max);
        let needed = |(found, limit): (&ShareInterval, &f64)| {
            let ShareInterval { low, share, high, .. } = *found;
            if share == 0.0 {
                return self.decided_s * high / limit;
            }
            let end = if share > *limit { low } else { high };
            self.decided_s * ((share / end).ln() / (share / limit).ln()).powi(2)
        };
        shares.map(needed).fold(0.0, f64::max) - self.decided_s
    }
}

/// Sums the durations of trials by length and outcome.
fn durations(
    trials: &[&TellingTrial],
    goal: &Goal,
    is_good: impl Fn(&TellingTrial) -> bool,
) -> Durations {
    let mut durations = Durations::default();
    for trial in trials {
        *match (trial.is_full(goal), is_good(trial)) {
            (true, true) => &mut durations.full_good_s,
            (true, false) => &mut durations.full_bad_s,
            (false, true) => &mut durations.short_good_s,
            (false, false) => &mut durations.short_bad_s,
        } += trial.duration_s;
    }
    durations
}
