//! The search for the largest rate that meets an objective, as a state machine: trials go in, the
//! next trial comes out (METHOD 1.13). It depends on neither clocks nor servers.
//!
//! The result is an interval. At its ends the data exclude the opposite result; rates too near to
//! the true one to be distinguished from it stay undecided, and inside.

mod class;
mod evidence;
mod load;
mod share;

pub use class::{Class, Durations};
pub use share::{ShareInterval, share_interval};

use crate::interval::SliceTail;
use evidence::Status;
use load::Load;

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
    Done(Found),
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
}

/// Width, as a share of the goal's, to which the gap between a bound and an undecided rate is
/// narrowed. A narrower interval then needs a decision at that rate.
const GAP_MIN: f64 = 0.5;

/// Multiple of [`Goal::sum_s`] up to which an undecided rate gets further trials, if they can be
/// expected to decide it.
const REOPENED: f64 = 4.0;

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
        self.found(End::OutOfTrials)
    }

    /// Records a trial.
    pub fn record(&mut self, trial: Trial) {
        self.trials += 1;
        let at = self.loads.partition_point(|load| load.rate_rps() < trial.rate_rps);
        if self.loads.get(at).is_none_or(|load| load.rate_rps() != trial.rate_rps) {
            self.loads.insert(at, Load::new(trial.rate_rps, &self.goal));
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
        if self.trials >= self.goal.trials_max {
            return self.done(End::OutOfTrials);
        }
        let mut open = self.loads.iter().filter(|load| load.status() == Status::Open);
        if let Some(open) = open.next().filter(|_| !concludes) {
            let longer_s = (2.0 * open.longest_s()).max(self.goal.initial_s);
            let duration_s = longer_s.min(self.goal.final_s);
            return Step::Run { rate_rps: open.rate_rps(), duration_s };
        }
        match self.bounds() {
            (Some(lower), Some(upper)) if concludes => self.settle(lower, upper),
            (Some(lower), Some(upper)) => match self.middle(lower, upper) {
                Some(rate_rps) => self.explore(rate_rps),
                None => self.reopen(lower, upper).unwrap_or_else(|| self.settle(lower, upper)),
            },
            (Some(_), None) => self.rise(),
            (None, _) => self.sink(),
        }
    }

    /// Returns the relevant bounds, as far as known: the smallest upper or ceiling, and the largest
    /// lower below it. Good results above an upper bound are therefore ignored.
    fn bounds(&self) -> (Option<usize>, Option<usize>) {
        let upper = self.loads.iter().position(|load| load.status().is_upper());
        let below = &self.loads[..upper.unwrap_or(self.loads.len())];
        (below.iter().rposition(|load| load.status().is_lower()), upper)
    }

    /// Raises the rate: every rate so far meets the objective, or may.
    fn rise(&self) -> Step {
        let highest = self.loads.last().expect("the lower bound").rate_rps();
        if highest >= self.goal.rate_max_rps {
            return self
                .confirm(self.loads.len() - 1)
                .unwrap_or_else(|| self.done(End::AboveRange));
        }
        self.explore((2.0 * highest).min(self.goal.rate_max_rps))
    }

    /// Lowers the rate: no rate so far is known to meet the objective.
    fn sink(&self) -> Step {
        let Some(lowest) = self.loads.first() else {
            return self.explore((self.guess_rps / 2.0).min(self.goal.rate_max_rps));
        };
        let rate_rps = lowest.rate_rps() / 2.0;
        if rate_rps < self.goal.rate_min_rps.max(self.guess_rps * RATE_MIN) {
            let edge = self.bounds().1.and_then(|upper| limit_of(&self.loads[upper]));
            return self.done(edge.unwrap_or(End::BelowRange));
        }
        self.explore(rate_rps)
    }

    /// Returns the rate to try between two bounds: the middle of the wider gap on the logarithmic
    /// scale. `None` if the interval is narrow enough, or can hardly become narrower, since its
    /// greatest part are undecided rates.
    fn middle(&self, lower: usize, upper: usize) -> Option<f64> {
        let rate = |load: usize| self.loads[load].rate_rps();
        if self.width(lower, upper) <= self.goal.width {
            return None;
        }
        let has_undecided = lower + 1 < upper;
        let least = if has_undecided { self.goal.width * GAP_MIN } else { 0.0 };
        let wider = match self.width(lower, lower + 1) > self.width(upper - 1, upper) {
            true => (lower, lower + 1),
            false => (upper - 1, upper),
        };
        let middle = || (rate(wider.0) * rate(wider.1)).sqrt();
        (self.width(wider.0, wider.1) > least).then(middle)
    }

    /// Returns the width between two rates, relative to the higher one.
    fn width(&self, low: usize, high: usize) -> f64 {
        1.0 - self.loads[low].rate_rps() / self.loads[high].rate_rps()
    }

    /// Returns a further trial at an undecided rate, if the interval is too wide because of such
    /// rates: at the one that is nearest to a decision.
    fn reopen(&self, lower: usize, upper: usize) -> Option<Step> {
        if self.width(lower, upper) <= self.goal.width {
            return None;
        }
        let longest_s = REOPENED * self.goal.sum_s;
        let inside = self.loads[lower + 1..upper].iter();
        let within = |load: &&Load| load.full_s().max(load.needed_s(&self.goal)) < longest_s;
        let needed_s = |load: &&Load| load.needed_s(&self.goal);
        let nearest = inside.filter(within).min_by(|a, b| needed_s(a).total_cmp(&needed_s(b)))?;
        Some(Step::Run { rate_rps: nearest.rate_rps(), duration_s: self.goal.final_s })
    }

    /// Confirms both ends of the interval, then ends the search.
    fn settle(&self, lower: usize, upper: usize) -> Step {
        let end = || match limit_of(&self.loads[upper]) {
            Some(end) => end,
            None if self.width(lower, upper) <= self.goal.width => End::WithinGoal,
            None if self.middle(lower, upper).is_some() => End::OutOfTrials,
            None => End::Indistinct,
        };
        self.confirm(lower).or_else(|| self.confirm(upper)).unwrap_or_else(|| self.done(end()))
    }

    /// Returns a full-length trial at a rate whose result is not confirmed yet.
    fn confirm(&self, load: usize) -> Option<Step> {
        let load = &self.loads[load];
        let step = Step::Run { rate_rps: load.rate_rps(), duration_s: self.goal.final_s };
        load.status().is_likely().then_some(step)
    }

    fn explore(&self, rate_rps: f64) -> Step {
        let rate_rps = rounded(rate_rps).min(self.goal.rate_max_rps);
        Step::Run { rate_rps, duration_s: self.goal.initial_s }
    }

    fn done(&self, end: End) -> Step {
        Step::Done(self.found(end))
    }

    fn found(&self, end: End) -> Found {
        let firm = |wanted: Status| move |load: &&Load| load.status() == wanted;
        let upper = self.loads.iter().find(firm(Status::Upper));
        let edge =
            self.loads.iter().find(|load| matches!(load.status(), Status::Upper | Status::Ceiling));
        let below = |load: &&Load| edge.is_none_or(|edge| load.rate_rps() < edge.rate_rps());
        let lower = self.loads.iter().filter(below).rfind(firm(Status::Lower));
        let is_undecided = |load: &&Load| matches!(load.status(), Status::Undecided | Status::Open);
        let inside = self.loads.iter().filter(below).filter(is_undecided);
        let above = |rate: &f64| lower.is_none_or(|lower| *rate > lower.rate_rps());
        Found {
            lower: lower.map(|load| load.bound(&self.goal)),
            upper: upper.map(|load| load.bound(&self.goal)),
            undecided_rps: inside.map(Load::rate_rps).filter(above).collect(),
            end,
        }
    }
}

/// Returns the end at a ceiling.
fn limit_of(load: &Load) -> Option<End> {
    load.limiter().map(|limiter| End::Limited(limiter, load.rate_rps()))
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
