//! The result of a search: an interval, and the evidence of its ends.

use super::goal::Goal;
use super::share::ShareInterval;
use super::trial::Limiter;
use crate::interval::ValueInterval;

/// Result of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Highest rate shown to meet the objective, below every one that misses it.
    pub lower: Option<IntervalBound>,
    /// Lowest rate shown to miss the objective.
    pub upper: Option<IntervalBound>,
    /// Rates between the two that stayed open.
    pub undecided_rps: Vec<f64>,
    /// Reason for the end.
    pub end: End,
}

impl Found {
    /// Returns the width of the interval, relative to its upper end; 1 without both ends.
    pub fn width(&self) -> f64 {
        let ends = self.lower.zip(self.upper);
        ends.map_or(1.0, |(lower, upper)| 1.0 - lower.rate_rps / upper.rate_rps)
    }

    /// Returns the expected number of independent requests beyond the objective, at the limit, in
    /// the trials at the lower bound (METHOD 1.11, support). Below ten, the interval misses the
    /// true rate more often than its confidence allows: a rate looks good as long as no slow spell
    /// falls into its trials. Trials should then be longer, by ten divided by this.
    ///
    /// Spells are most visible at rates where they occur, so the greater design effect of both
    /// bounds is used. Far above the limit the queue only grows, and its growth does not count as a
    /// spell.
    pub fn support(&self, goal: &Goal) -> Option<f64> {
        let lower = self.lower?;
        let share_max = goal.shares_max[lower.claim];
        let is_comparable = |upper: &IntervalBound| {
            upper.claim == lower.claim && upper.share.share <= SPELLS_MAX * share_max
        };
        let upper = self.upper.filter(is_comparable);
        let deff = upper.map_or(1.0, |upper| upper.share.deff).max(lower.share.deff);
        Some(lower.requests as f64 * share_max / deff)
    }
}

/// Multiple of the allowed share of slow requests above which a rate is overloaded.
const SPELLS_MAX: f64 = 10.0;

/// Reason for the end of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    /// Both bounds exist, within the target width.
    WithinGoal,
    /// Both bounds exist. Trials of this length cannot decide the rates between them.
    Indistinct,
    /// The client or the connections were the limit at this rate, in requests per second. A lower
    /// bound is valid; nothing is known from this rate on.
    Limited(Limiter, f64),
    /// The highest rate that may be tried meets the objective.
    AboveRange,
    /// No rate that may be tried is known to meet the objective.
    BelowRange,
    /// The number of trials was spent before the interval was as narrow as the goal.
    OutOfTrials,
}

/// A bound of the interval, with its evidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IntervalBound {
    /// Rate in requests per second.
    pub rate_rps: f64,
    /// Trials at the rate that met the objective.
    pub good: usize,
    /// Trials at the rate that missed the objective.
    pub bad: usize,
    /// Requests of the deciding trials.
    pub requests: u64,
    /// Index in [`Goal::shares_max`] of the share that decides: the furthest above its limit, or
    /// the least below it.
    pub claim: usize,
    /// Share of requests that failed or were slow, over the deciding trials.
    pub share: ShareInterval,
    /// Rise of the response time, over the same trials, if the backlog grew beyond chance.
    pub rise: Option<ValueInterval>,
    /// Rate, furthest from this one, of the trials that count. A lower bound counts those at higher
    /// rates and an upper bound those at lower ones: fewer requests do no harm.
    pub reach_rps: f64,
}
