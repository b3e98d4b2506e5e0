//! The search for the largest rate that meets an objective, as a state machine: trials go in, the
//! next one to make comes out (METHOD 1.13). It knows neither clocks nor servers.
//!
//! What it finds is an interval. Its ends are rates at which the data exclude the other answer; a
//! rate too near to the true one to be told from it stays undecided, and inside.

mod load;
mod share;

pub use load::{Class, Durations};
pub use share::{ShareInterval, share_interval};

use crate::interval::SliceTail;
use load::{Load, Status};

/// What is searched for, and how hard.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goal {
    /// The greatest share, between 0 and 1, of requests that may fail or be slow: 0.01 for a p99.
    pub share_max: f64,
    /// Duration of the first trial at a rate, in seconds. While its answer is open, the next one
    /// there is twice as long.
    pub initial_s: f64,
    /// Duration of a full-length trial, in seconds: shorter ones only show where to look. The
    /// percentile should have support in it (METHOD 1.11).
    pub final_s: f64,
    /// Seconds of full-length trials after which nothing more is asked of a rate.
    pub sum_s: f64,
    /// Share of that time, 0 to below 1, in which a rate may miss the objective and still pass
    /// (RFC 9971, goal exceed ratio).
    pub exceed_ratio: f64,
    /// The interval aimed at: (upper − lower)/upper.
    pub width: f64,
    /// No rate above this is tried.
    pub rate_max_rps: f64,
    /// The search ends after so many trials, whatever it has.
    pub trials_max: usize,
}

impl Goal {
    /// The defaults of METHOD 1.13, for an objective like "p99 within …", which is 0.01 here.
    pub fn new(share_max: f64) -> Goal {
        assert!(share_max > 0.0 && share_max < 1.0, "{share_max} is not a share");
        Goal {
            share_max,
            initial_s: 7.5,
            final_s: 30.0,
            sum_s: 90.0,
            exceed_ratio: 0.5,
            width: 0.02,
            rate_max_rps: f64::INFINITY,
            trials_max: 100,
        }
    }
}

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Make this trial, and [`Search::record`] it.
    Run {
        /// Requests per second.
        rate_rps: f64,
        /// Seconds.
        duration_s: f64,
    },
    /// There is nothing left to do.
    Done(Found),
}

/// One trial, as it went.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// The rate that was asked for, as [`Step::Run`] said it.
    pub rate_rps: f64,
    /// Seconds.
    pub duration_s: f64,
    /// The measured requests of each slice, and of them those that failed or were slow.
    pub slices: Vec<SliceTail>,
    /// The client was the limit, by its own evidence: nothing was learnt of the server.
    pub is_client_limited: bool,
}

/// How a search ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The greatest rate that is shown to meet the objective, below every one that misses it.
    pub lower: Option<Bound>,
    /// The smallest rate that is shown to miss the objective.
    pub upper: Option<Bound>,
    /// Rates between the two that were tried for as long as the goal says, and left open.
    pub undecided_rps: Vec<f64>,
    /// Why it ended.
    pub end: End,
}

impl Found {
    /// How many independent requests the trials at the lower bound would have had beyond the
    /// objective at the limit (METHOD 1.11, support). With fewer than ten of them the interval
    /// misses the truth more often than it should: a rate is easily good for as long as no slow
    /// spell falls into its trials. Trials should then be longer, by ten over this.
    ///
    /// Spells show best where they happen: the design effect is the greater one of both bounds. Far
    /// above the limit the queue only grows, and its growth is not taken for spells.
    pub fn support(&self, share_max: f64) -> Option<f64> {
        let lower = self.lower?;
        let upper = self.upper.filter(|upper| upper.share.share <= SPELLS_MAX * share_max);
        let deff = upper.map_or(1.0, |upper| upper.share.deff).max(lower.share.deff);
        Some(lower.requests as f64 * share_max / deff)
    }
}

/// A rate at which more than so many times the allowed share is slow is overloaded.
const SPELLS_MAX: f64 = 10.0;

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    /// Both bounds are there, as close to each other as was asked for.
    WithinGoal,
    /// Both bounds are there. What lies between them cannot be told from the objective by trials of
    /// this length.
    Indistinct,
    /// The client gave out at this rate. A lower bound stands; nothing is known above it.
    ClientLimited(f64),
    /// The greatest rate that may be tried meets the objective.
    AboveRange,
    /// Not even the smallest rate, 10⁻⁶ of the first guess, meets the objective.
    BelowRange,
    /// The trials ran out.
    OutOfTrials,
}

/// One end of the interval, with its evidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// Requests per second.
    pub rate_rps: f64,
    /// Trials there that met the objective.
    pub good: usize,
    /// Trials there that missed it.
    pub bad: usize,
    /// Requests of the trials that decided.
    pub requests: u64,
    /// The share of requests that failed or were slow, over the trials that decided.
    pub share: ShareInterval,
}

/// Lower than this, relative to the guess, no system is searched.
const RATE_MIN: f64 = 1e-6;

/// A search under way: the goal, and every trial so far.
#[derive(Clone, Debug)]
pub struct Search {
    goal: Goal,
    guess_rps: f64,
    trials: usize,
    /// By ascending rate.
    loads: Vec<Load>,
    client_limited_rps: Option<f64>,
}

impl Search {
    /// A search that starts at half of `guess_rps`, a rough idea of the greatest possible rate:
    /// what a closed loop reached.
    pub fn new(goal: Goal, guess_rps: f64) -> Search {
        assert!(guess_rps > 0.0 && guess_rps.is_finite(), "{guess_rps} is not a rate");
        assert!((0.0..1.0).contains(&goal.exceed_ratio) && goal.width > 0.0);
        assert!(goal.initial_s > 0.0 && goal.initial_s <= goal.final_s);
        Search { goal, guess_rps, trials: 0, loads: Vec::new(), client_limited_rps: None }
    }

    /// Takes a trial in.
    pub fn record(&mut self, trial: Trial) {
        self.trials += 1;
        if trial.is_client_limited {
            self.client_limited_rps = Some(trial.rate_rps);
            return;
        }
        let at = self.loads.partition_point(|load| load.rate_rps() < trial.rate_rps);
        if self.loads.get(at).is_none_or(|load| load.rate_rps() != trial.rate_rps) {
            self.loads.insert(at, Load::new(trial.rate_rps));
        }
        self.loads[at].push(trial, &self.goal);
    }

    /// What follows from the trials so far.
    pub fn next(&self) -> Step {
        if let Some(rate_rps) = self.client_limited_rps {
            return self.done(End::ClientLimited(rate_rps));
        }
        if self.trials >= self.goal.trials_max {
            return self.done(End::OutOfTrials);
        }
        if let Some(open) = self.loads.iter().find(|load| load.status() == Status::Open) {
            let duration_s = (2.0 * open.longest_s()).min(self.goal.final_s);
            return Step::Run { rate_rps: open.rate_rps(), duration_s };
        }
        match self.bounds() {
            (Some(lower), Some(upper)) => self.narrow(lower, upper),
            (Some(_), None) => self.rise(),
            (None, _) => self.sink(),
        }
    }

    /// The relevant bounds, as far as known: the smallest upper, and the largest lower below it. So
    /// a system that recovers at a higher rate is not believed.
    fn bounds(&self) -> (Option<usize>, Option<usize>) {
        let upper = self.loads.iter().position(|load| load.status().is_upper());
        let below = &self.loads[..upper.unwrap_or(self.loads.len())];
        (below.iter().rposition(|load| load.status().is_lower()), upper)
    }

    /// Every rate so far meets the objective, or may.
    fn rise(&self) -> Step {
        let highest = self.loads.last().expect("the lower bound").rate_rps();
        if highest >= self.goal.rate_max_rps {
            return self
                .confirm(self.loads.len() - 1)
                .unwrap_or_else(|| self.done(End::AboveRange));
        }
        self.explore((2.0 * highest).min(self.goal.rate_max_rps))
    }

    /// No rate so far is known to meet the objective.
    fn sink(&self) -> Step {
        let Some(lowest) = self.loads.first() else {
            return self.explore((self.guess_rps / 2.0).min(self.goal.rate_max_rps));
        };
        let rate_rps = lowest.rate_rps() / 2.0;
        if rate_rps < self.guess_rps * RATE_MIN {
            return self.done(End::BelowRange);
        }
        self.explore(rate_rps)
    }

    /// Between the two lie undecided rates, or nothing. Halves, on the scale of ratios, what is
    /// too wide; then confirms both ends.
    fn narrow(&self, lower: usize, upper: usize) -> Step {
        let rate = |load: usize| self.loads[load].rate_rps();
        let gaps = [(rate(lower), rate(lower + 1)), (rate(upper - 1), rate(upper))];
        // With undecided rates in between each side gets half of what may be left.
        let limit = if lower + 1 == upper { self.goal.width } else { self.goal.width / 2.0 };
        let width = |(low, high): (f64, f64)| (high - low) / high;
        let [below, above] = gaps;
        let wider = if width(below) > width(above) { below } else { above };
        if width(wider) > limit {
            return self.explore((wider.0 * wider.1).sqrt());
        }
        let ends = if width((rate(lower), rate(upper))) <= self.goal.width {
            End::WithinGoal
        } else {
            End::Indistinct
        };
        self.confirm(lower).or_else(|| self.confirm(upper)).unwrap_or_else(|| self.done(ends))
    }

    /// A full-length trial at a rate whose answer is not firm yet.
    fn confirm(&self, load: usize) -> Option<Step> {
        let load = &self.loads[load];
        let step = Step::Run { rate_rps: load.rate_rps(), duration_s: self.goal.final_s };
        load.status().is_likely().then_some(step)
    }

    fn explore(&self, rate_rps: f64) -> Step {
        Step::Run { rate_rps, duration_s: self.goal.initial_s }
    }

    fn done(&self, end: End) -> Step {
        let firm = |wanted: Status| move |load: &&Load| load.status() == wanted;
        let upper = self.loads.iter().find(firm(Status::Upper));
        let below = |load: &&Load| upper.is_none_or(|upper| load.rate_rps() < upper.rate_rps());
        let lower = self.loads.iter().filter(below).rfind(firm(Status::Lower));
        let inside = self.loads.iter().filter(below).filter(firm(Status::Undecided));
        let above = |rate: &f64| lower.is_none_or(|lower| *rate > lower.rate_rps());
        Step::Done(Found {
            lower: lower.map(Load::bound),
            upper: upper.map(Load::bound),
            undecided_rps: inside.map(Load::rate_rps).filter(above).collect(),
            end,
        })
    }
}

#[cfg(test)]
mod tests;
