//! The search for the highest rate that meets an objective (METHOD 1.13): documents of trials go
//! in, the next trial or the result comes out. It depends on neither clocks nor servers.
//!
//! [`weir_stats::Search`] chooses the rates and judges the shares. This module reduces documents to
//! shares, keeps the client's limits from counting against the server, and chooses the number of
//! connections.

mod connections;
mod effort;
mod growth;
mod objective;
mod outside;
mod result;
mod study;

pub use effort::{precise, quick};
pub use objective::Objective;
pub use study::next_plan;
pub(crate) use study::result_of;

use weir_result::study::{Design, SearchEffort, SearchResult, SearchTrial, TrialUse};
use weir_result::{Document, Rate};
use weir_stats::{Limiter, Search, Step, TrialResult};
use weir_verdict::ShareClaim;

use connections::{Connections, Use};
use objective::share_of;
use outside::{client_limit, connection_waits};

/// Window of the closed loop at the start, in seconds.
const GUESS_S: f64 = 2.0;

/// Factor of the closed loop's throughput at which the search for rates begins. Its throughput is
/// the capacity of a server that it saturates, and its multiples by powers of two are tried first:
/// at the capacity itself a queue takes longest to show which way it goes.
const GUESS_FACTOR: f64 = 1.1;

/// Shortest drain of a trial, in seconds (METHOD 1.5).
const DRAIN_MIN_S: f64 = 1.0;

/// Next step of a search.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// Carry out this trial, and [`SearchRun::record`] its document.
    Run(TrialPlan),
    /// The search is complete.
    Done(Box<SearchResult>),
}

/// A trial to carry out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialPlan {
    /// Rate of the open loop in requests per second; `None` for a closed loop.
    pub rate_rps: Option<f64>,
    /// Number of connections.
    pub connections: u32,
    /// Length of the warm-up in seconds.
    pub warmup_s: f64,
    /// Length of the measured window in seconds.
    pub duration_s: f64,
    /// Limit of the drain in seconds; `None` for the timeout, if the objective has a claim about
    /// how responses end: one that is still awaited has not failed. Of other objectives, requests
    /// without a response at the limit have missed each claim, so that trials far beyond the
    /// server's capacity do not last longer than others.
    pub drain_s: Option<f64>,
}

impl TrialPlan {
    /// Returns the rate as plans have it; `None` for a closed loop.
    pub fn rate(&self) -> Option<Rate> {
        /// Rates have four digits, and are at least a millionth of the first guess.
        const PARTS: u64 = 1_000_000_000;
        let numerator = (self.rate_rps? * PARTS as f64).round() as u64;
        let divisor = divisor(numerator.max(1), PARTS);
        Some(Rate { numerator: numerator.max(1) / divisor, denominator: PARTS / divisor })
    }
}

/// Returns the greatest common divisor.
fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}

/// A search in progress.
#[derive(Clone, Debug)]
pub struct SearchRun {
    objective: Objective,
    /// Lengths of trials, and the width of the interval.
    effort: SearchEffort,
    connections: Connections,
    /// Highest rate to try, in requests per second; infinite if not limited.
    rate_max_rps: f64,
    /// Rates and shares so far; `None` before the closed loop.
    search: Option<Search>,
    trials: Vec<SearchTrial>,
}

impl SearchRun {
    /// Begins a search; `None` if the design is none, or its objective cannot be read.
    pub fn new(design: &Design) -> Option<SearchRun> {
        let Design::Search {
            objective, effort, connections, connections_max, rate_max_rps, ..
        } = design
        else {
            return None;
        };
        Some(SearchRun {
            objective: objective.parse().ok()?,
            effort: *effort,
            connections: Connections::new(*connections, *connections_max),
            rate_max_rps: rate_max_rps.unwrap_or(f64::INFINITY),
            search: None,
            trials: Vec::new(),
        })
    }

    /// Returns the next step, given the trials so far.
    pub fn next(&self) -> Next {
        let Some(search) = &self.search else { return Next::Run(self.trial(None, GUESS_S)) };
        let effort = &self.effort;
        let trials = self.trials.len();
        let is_out = trials >= effort.trials_max as usize;
        let concludes = trials >= effort.narrow_trials as usize;
        match search.step(concludes) {
            Step::Run { rate_rps, duration_s } if !is_out => {
                Next::Run(self.trial(Some(rate_rps), duration_s))
            }
            Step::Run { .. } => Next::Done(Box::new(self.result(search, search.give_up()))),
            Step::Done(found) => Next::Done(Box::new(self.result(search, *found))),
        }
    }

    fn trial(&self, rate_rps: Option<f64>, duration_s: f64) -> TrialPlan {
        let objective = &self.objective;
        let needs_ends = objective.claims().iter().any(ShareClaim::needs_ends);
        let slow_s = objective.slow_ns().filter(|_| !needs_ends).map(|ns| ns as f64 / 1e9);
        TrialPlan {
            rate_rps,
            connections: self.connections.count,
            warmup_s: self.effort.warmup_s,
            duration_s,
            drain_s: slow_s.map(|slow_s| slow_s.max(DRAIN_MIN_S)),
        }
    }

    /// Records the document of the trial that [`SearchRun::next`] returned. `None` if it is of
    /// another run, lacks a name of the objective, or there is no response to begin with.
    pub fn record(&mut self, document: &Document) -> Option<()> {
        let Next::Run(plan) = self.next() else { return None };
        self.objective.check(&document.plan).ok()?;
        if document.plan.load.rate() != plan.rate()
            || document.plan.load.connections.count() != plan.connections
        {
            return None;
        }
        let judged = match plan.rate_rps {
            None => self.guess(document)?,
            Some(rate_rps) => self.judge(rate_rps, plan.duration_s, document),
        };
        self.trials.push(SearchTrial {
            rate_rps: plan.rate_rps,
            connections: plan.connections,
            duration_s: plan.duration_s,
            completed_rps: document.results.completed_rps,
            ..judged
        });
        Some(())
    }

    /// Begins the search for rates at the throughput of the closed loop.
    fn guess(&mut self, document: &Document) -> Option<SearchTrial> {
        let completed_rps = document.results.completed_rps;
        if document.results.responses() == 0 || completed_rps <= 0.0 {
            return None;
        }
        let strictest = self.objective.strictest(document);
        self.effort = effort::long_enough(self.effort, strictest, completed_rps);
        let goal = effort::goal(&self.effort, &self.objective, strictest, self.rate_max_rps);
        self.search = Some(Search::new(goal, GUESS_FACTOR * completed_rps));
        Some(SearchTrial { used: TrialUse::Guess, ..SearchTrial::default() })
    }

    /// Judges a trial of an open loop. The search for rates gets it unless it is repeated with
    /// another number of connections.
    fn judge(&mut self, rate_rps: f64, duration_s: f64, document: &Document) -> SearchTrial {
        let objective = &self.objective;
        let tails = objective.tails(document);
        let shares: Vec<f64> = tails.iter().map(|slices| share_of(slices)).collect();
        let mut limits = shares.iter().zip(objective.claims());
        let rises = growth::rises(document);
        let growth = self.search.as_ref().and_then(|search| search.goal().growth(&rises));
        let keeps = limits.all(|(share, claim)| *share <= claim.share_max());
        let is_good = keeps && growth.is_none();
        // Reported times are never below the true ones: a good trial is good, whatever the client
        // did.
        let client = match is_good {
            true => None,
            false => client_limit(document, objective),
        };
        let waits = connection_waits(document);
        let planned = document.results.planned.max(1) as f64;
        let found = Use {
            rate_rps,
            completed_rps: document.results.completed_rps,
            waits,
            errors: document.results.outcomes.transport_error as f64 / planned,
        };
        let of_server = if is_good { TrialUse::Good } else { TrialUse::Bad };
        let used = match &client {
            Some(_) => TrialUse::ClientLimited,
            None => self.connections.judge(found).unwrap_or(of_server),
        };
        let limited_by = match used {
            TrialUse::ClientLimited => Some(Limiter::Client),
            TrialUse::ConnectionLimited => Some(Limiter::Connections),
            _ => None,
        };
        let is_repeated =
            matches!(used, TrialUse::TooFewConnections | TrialUse::TooManyConnections);
        if let Some(search) = self.search.as_mut().filter(|_| !is_repeated) {
            search.record(TrialResult { rate_rps, duration_s, shares: tails, rises, limited_by });
        }
        let growth = growth.map(growth::in_result);
        let text = client.unwrap_or_default();
        SearchTrial { used, shares, waits, growth, text, ..SearchTrial::default() }
    }
}

#[cfg(test)]
mod tests;
