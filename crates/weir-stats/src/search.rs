//! The search for the largest rate that meets an objective, as a state machine: trials go in, the
//! next trial comes out (METHOD 1.13). It depends on neither clocks nor servers.
//!
//! The result is an interval. At its ends the data exclude the opposite result; rates too near to
//! the true one to be distinguished from it stay undecided, and inside.

mod class;
mod evidence;
mod growth;
mod load;
mod share;
mod standing;

pub use class::{Class, Durations};
pub use growth::Rise;
pub use share::{ShareInterval, share_interval};

use crate::interval::SliceTail;
use load::Load;
use standing::{Next, Standing};

/// Objective and effort of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    /// Limits, each between 0 and 1, of the shares of requests that fail or are slow: 0.01 for a
    /// p99. A rate meets the objective if it keeps all of them.
    pub shares_max: Vec<f64>,
    /// Duration of the first trial at a rate, in seconds. While the result is open, each further
    /// trial at the rate is twice as long.
    pub initial_s: f64,
    /// Duration of a full-length trial, in seconds; shorter ones only guide the search. The
    /// percentile should have support in it (METHOD 1.11).
    pub final_s: f64,
    /// Total duration of full-length trials at a rate, in seconds, after which it gets no more.
    pub sum_s: f64,
    /// Share of that time, 0 to below 1, in which a rate may miss the objective and still pass
    /// (RFC 9971, goal exceed ratio).
    pub exceed_ratio: f64,
    /// Target width of the interval: (upper − lower)/upper.
    pub width: f64,
    /// Lowest rate to try; 10⁻⁶ of the first guess if that is more.
    pub rate_min_rps: f64,
    /// Highest rate to try.
    pub rate_max_rps: f64,
    /// Number of trials after which the search ends in any case.
    pub trials_max: usize,
}

impl Goal {
    /// Returns the defaults of METHOD 1.13 for an objective like "p99 within …", for which
    /// `share_max` is 0.01.
    pub fn new(share_max: f64) -> Goal {
        Goal::of_shares(vec![share_max])
    }

    /// Returns the defaults of METHOD 1.13 for an objective that limits several shares.
    pub fn of_shares(shares_max: Vec<f64>) -> Goal {
        Goal {
            shares_max,
            initial_s: 7.5,
            final_s: 30.0,
            sum_s: 90.0,
            exceed_ratio: 0.5,
            width: 0.02,
            rate_min_rps: 0.0,
            rate_max_rps: f64::INFINITY,
            trials_max: 100,
        }
    }

    /// Returns the rise of the response time over a trial if the backlog grew: if the rise is
    /// beyond chance, and large enough to tell the rate from the capacity. A server may well get
    /// slower by some microseconds in a trial.
    pub fn growth(&self, rises: &[f64]) -> Option<Rise> {
        Some(Rise::of(rises)).filter(|rise| self.grows(*rise))
    }

    fn grows(&self, rise: Rise) -> bool {
        rise.low > RISE_MAX * self.width
    }
}

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

/// Result of one trial.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// Requested rate, from [`Step::Run`].
    pub rate_rps: f64,
    /// Duration in seconds.
    pub duration_s: f64,
    /// Measured requests of each slice, and of them those that failed or were slow, for each share
    /// of the goal in its order.
    pub shares: Vec<Vec<SliceTail>>,
    /// For two consecutive slices, the difference of their mean response times per second between
    /// them, both in seconds.
    pub rises: Vec<f64>,
    /// Limit outside the server, by its own evidence: the trial says nothing about the server.
    pub limited_by: Option<Limiter>,
}

/// A limit of a trial outside the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limiter {
    /// The client's machine.
    Client,
    /// The number of connections.
    Connections,
}

/// Result of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Highest rate shown to meet the objective, below every one that misses it.
    pub lower: Option<Bound>,
    /// Lowest rate shown to miss the objective.
    pub upper: Option<Bound>,
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
        let is_comparable = |upper: &Bound| {
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
pub struct Bound {
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
    pub rise: Option<Rise>,
    /// Rate, furthest from this one, of the trials that count. A lower bound counts those at higher
    /// rates and an upper bound those at lower ones: fewer requests do no harm.
    pub reach_rps: f64,
}

/// Share of the target width by which a rate may exceed the capacity and count as equal to it.
const RISE_MAX: f64 = 0.01;

/// Lowest rate to try, relative to the guess.
const RATE_MIN: f64 = 1e-6;

/// A search in progress: the goal, and every trial so far.
#[derive(Clone, Debug)]
pub struct Search {
    goal: Goal,
    guess_rps: f64,
    trials: usize,
    /// Loads by ascending rate.
    loads: Vec<Load>,
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
        Standing::of(&self.loads, &self.goal).found(End::OutOfTrials)
    }

    /// Records a trial.
    pub fn record(&mut self, trial: Trial) {
        self.trials += 1;
        let at = self.loads.partition_point(|load| load.rate_rps() < trial.rate_rps);
        if self.loads.get(at).is_none_or(|load| load.rate_rps() != trial.rate_rps) {
            self.loads.insert(at, Load::new(trial.rate_rps));
        }
        if trial.limited_by != Some(Limiter::Client) {
            self.carried_rps = self.carried_rps.max(trial.rate_rps);
        }
        self.loads[at].push(trial, &self.goal);
        self.loads.iter_mut().for_each(|load| load.carried(self.carried_rps));
    }

    /// Returns the next step, given the trials so far.
    pub fn next(&self) -> Step {
        self.step(false)
    }

    /// Returns the next step of a search that shall end soon: between two bounds no more rates are
    /// tried, and open rates get no more trials.
    pub fn conclude(&self) -> Step {
        self.step(true)
    }

    fn step(&self, concludes: bool) -> Step {
        let standing = Standing::of(&self.loads, &self.goal);
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
            Next::Explore(rate_rps) => {
                let rate_rps = rounded(rate_rps).min(self.goal.rate_max_rps);
                Step::Run { rate_rps, duration_s: self.goal.initial_s }
            }
            Next::Bound(rate_rps) => {
                Step::Run { rate_rps: rounded(rate_rps), duration_s: self.goal.final_s }
            }
            Next::Confirm(nth) => {
                let rate_rps = self.loads[nth].rate_rps();
                Step::Run { rate_rps, duration_s: self.goal.final_s }
            }
            Next::Done(end) => Step::Done(Box::new(standing.found(end))),
        }
    }

    /// Raises the rate: no rate so far misses the objective.
    fn rise(&self, standing: &Standing<'_>, lower: usize) -> Next {
        let highest_rps = self.loads.last().expect("the lower bound").rate_rps();
        match standing.is_lower_bound(lower) {
            _ if highest_rps < self.goal.rate_max_rps => Next::Explore(2.0 * highest_rps),
            true => Next::Done(End::AboveRange),
            false => Next::Confirm(lower),
        }
    }

    /// Lowers the rate: no rate so far meets the objective.
    fn sink(&self, standing: &Standing<'_>, upper: Option<usize>) -> Next {
        let Some(lowest) = self.loads.first() else {
            return Next::Explore(self.guess_rps / 2.0);
        };
        let rate_rps = lowest.rate_rps() / 2.0;
        if rate_rps >= self.goal.rate_min_rps.max(self.guess_rps * RATE_MIN) {
            return Next::Explore(rate_rps);
        }
        match upper {
            Some(upper) => match self.loads[upper].limiter() {
                Some(limiter) => Next::Done(End::Limited(limiter, self.loads[upper].rate_rps())),
                None if standing.is_upper_bound(upper) => Next::Done(End::BelowRange),
                None => Next::Confirm(upper),
            },
            None => Next::Done(End::BelowRange),
        }
    }
}

/// Rounds a rate to four digits: reports print it as it was tried.
fn rounded(rate_rps: f64) -> f64 {
    let unit = 10_f64.powf(rate_rps.log10().floor() - 3.0);
    let digits = (rate_rps / unit).round();
    // Division by a power of ten is exact where multiplication by its inverse is not.
    if unit >= 1.0 { digits * unit } else { digits / (1.0 / unit).round() }
}

#[cfg(test)]
mod tests;
