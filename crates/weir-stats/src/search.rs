//! The search for the largest rate that meets an objective, as a state machine: trials go in, the
//! next trial comes out (METHOD 1.13). It depends on neither clocks nor servers.
//!
//! The result is an interval. At its ends the data exclude the opposite result; rates too near to
//! the true one to be distinguished from it stay undecided, and inside.

mod evidence;
mod found;
mod goal;
mod load;
mod share;
mod standing;
mod trial;

pub use evidence::{Durations, RateClass};
pub use found::{End, Found, IntervalBound};
pub use goal::Goal;
pub use share::{ShareInterval, share_interval};
pub use trial::{Limiter, TrialResult};

use load::RateTrials;
use standing::{NextTrial, Standings, rounded};

/// Next step of a search.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Run this trial, and [`Search::record`] it.
    Run {
        /// Rate in requests per second.
        rate_rps: f64,
        /// Duration in seconds.
        duration_s: f64,
    },
    /// The search is complete.
    Done(Box<Found>),
}

/// Lowest rate to try, relative to the guess.
const RATE_MIN: f64 = 1e-6;

/// A search in progress: the goal, and every trial so far.
#[derive(Clone, Debug)]
pub struct Search {
    goal: Goal,
    guess_rps: f64,
    trials: usize,
    /// Loads by ascending rate.
    loads: Vec<RateTrials>,
    /// Highest rate of a trial that the client did not limit; 0 before the first.
    carried_rps: f64,
}

impl Search {
    /// Makes a search that starts at half of `guess_rps`, a rough estimate of the largest possible
    /// rate: the throughput of a closed loop.
    pub fn new(goal: Goal, guess_rps: f64) -> Search {
        assert!(guess_rps > 0.0 && guess_rps.is_finite(), "{guess_rps} is not a rate");
        let is_share = |share: &f64| *share > 0.0 && *share < 1.0;
        assert!(!goal.shares_max.is_empty() && goal.shares_max.iter().all(is_share), "{goal:?}");
        assert!((0.0..1.0).contains(&goal.exceed_ratio) && goal.width > 0.0);
        assert!(goal.initial_s > 0.0 && goal.initial_s <= goal.final_s);
        Search { goal, guess_rps, trials: 0, loads: Vec::new(), carried_rps: 0.0 }
    }

    /// Returns the goal.
    pub fn goal(&self) -> &Goal {
        &self.goal
    }

    /// Returns the result of a search that ends before it is done.
    pub fn give_up(&self) -> Found {
        Standings::of(&self.loads, &self.goal).found(End::OutOfTrials)
    }

    /// Records a trial.
    pub fn record(&mut self, trial: TrialResult) {
        self.trials += 1;
        let at = self.loads.partition_point(|load| load.rate_rps < trial.rate_rps);
        if self.loads.get(at).is_none_or(|load| load.rate_rps != trial.rate_rps) {
            self.loads.insert(at, RateTrials::new(trial.rate_rps));
        }
        if trial.limited_by != Some(Limiter::Client) {
            self.carried_rps = self.carried_rps.max(trial.rate_rps);
        }
        self.loads[at].push(trial, &self.goal);
        self.loads.iter_mut().for_each(|load| load.carried(self.carried_rps));
    }

    /// Returns the next step, given the trials so far. If it `concludes`, the search ends soon:
    /// between two bounds no more rates are tried, and open rates get no more trials.
    pub fn step(&self, concludes: bool) -> Step {
        let standing = Standings::of(&self.loads, &self.goal);
        if self.trials >= self.goal.trials_max {
            return Step::Done(Box::new(standing.found(End::OutOfTrials)));
        }
        let repeat = standing.to_repeat().filter(|_| !concludes);
        let next = repeat.unwrap_or_else(|| match standing.bracket() {
            (Some(lower), Some(upper)) if concludes => standing.conclude(lower, upper),
            (Some(lower), Some(upper)) => standing.narrow(lower, upper),
            (Some(lower), None) => self.rise(&standing, lower),
            (None, upper) => self.sink(&standing, upper),
        });
        match next {
            NextTrial::Explore(rate_rps) => {
                let rate_rps = rounded(rate_rps).min(self.goal.rate_max_rps);
                Step::Run { rate_rps, duration_s: self.goal.initial_s }
            }
            NextTrial::Bound(rate_rps) => {
                Step::Run { rate_rps: rounded(rate_rps), duration_s: self.goal.final_s }
            }
            NextTrial::Confirm(nth) => {
                let rate_rps = self.loads[nth].rate_rps;
                Step::Run { rate_rps, duration_s: self.goal.final_s }
            }
            NextTrial::Done(end) => Step::Done(Box::new(standing.found(end))),
        }
    }

    /// Raises the rate: no rate so far misses the objective.
    fn rise(&self, standing: &Standings<'_>, lower: usize) -> NextTrial {
        let highest_rps = self.loads.last().expect("the lower bound").rate_rps;
        match standing.is_lower_bound(lower) {
            _ if highest_rps < self.goal.rate_max_rps => NextTrial::Explore(2.0 * highest_rps),
            true => NextTrial::Done(End::AboveRange),
            false => NextTrial::Confirm(lower),
        }
    }

    /// Lowers the rate: no rate so far meets the objective.
    fn sink(&self, standing: &Standings<'_>, upper: Option<usize>) -> NextTrial {
        let Some(lowest) = self.loads.first() else {
            return NextTrial::Explore(self.guess_rps / 2.0);
        };
        let rate_rps = lowest.rate_rps / 2.0;
        if rate_rps >= self.goal.rate_min_rps.max(self.guess_rps * RATE_MIN) {
            return NextTrial::Explore(rate_rps);
        }
        match upper {
            Some(upper) => match self.loads[upper].limiter() {
                Some(limiter) => NextTrial::Done(End::Limited(limiter, self.loads[upper].rate_rps)),
                None if standing.is_upper_bound(upper) => NextTrial::Done(End::BelowRange),
                None => NextTrial::Confirm(upper),
            },
            None => NextTrial::Done(End::BelowRange),
        }
    }
}

#[cfg(test)]
mod tests;
