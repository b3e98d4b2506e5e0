//! All rates of a search with what their trials say, and the next trial between two of them.

use super::evidence::{Status, TellingTrial, TrialEvidence};
use super::found::{End, Found, IntervalBound};
use super::goal::Goal;
use super::load::RateTrials;

/// Width, as a share of the goal's, to which rates are tried once each before the bounds get their
/// trials.
const GAP: f64 = 0.5;

/// Part of the target width that is kept free for the rounding of rates.
const ROUNDING: f64 = 0.001;

/// Next trial of a search, or its end.
#[derive(Clone, Copy, Debug)]
pub(super) enum NextTrial {
    /// The first trial at a rate, to see how it leans.
    Explore(f64),
    /// The first trial at a rate that shall become a bound.
    Bound(f64),
    /// A full-length trial at a rate that has some.
    Confirm(usize),
    /// The search is complete.
    Done(End),
}

/// A rate by its own trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lean {
    /// Its trials together met the objective.
    Good,
    /// Its trials together missed the objective.
    Bad,
    /// A limit outside the server: nothing is known from this rate on.
    Ceiling,
    /// The client was the limit of each trial so far.
    Unknown,
}

/// All rates, in ascending order, and what their trials say.
pub(super) struct Standings<'s> {
    loads: &'s [RateTrials],
    goal: &'s Goal,
    leans: Vec<Lean>,
    lower_bounds: Vec<Option<IntervalBound>>,
    upper_bounds: Vec<Option<IntervalBound>>,
    /// True for rates that got their trials and are no bound.
    is_undecided: Vec<bool>,
}

impl<'s> Standings<'s> {
    pub(super) fn of(loads: &'s [RateTrials], goal: &'s Goal) -> Standings<'s> {
        let own: Vec<Option<TrialEvidence>> =
            loads.iter().map(|load| load.evidence(goal)).collect();
        let lean = |(load, own): (&RateTrials, &Option<TrialEvidence>)| match own {
            _ if load.limiter().is_some() => Lean::Ceiling,
            Some(own) if own.leans_good(goal) => Lean::Good,
            Some(_) => Lean::Bad,
            None => Lean::Unknown,
        };
        let mut standing = Standings {
            loads,
            goal,
            leans: loads.iter().zip(&own).map(lean).collect(),
            lower_bounds: Vec::new(),
            upper_bounds: Vec::new(),
            is_undecided: Vec::new(),
        };
        let all = 0..loads.len();
        standing.lower_bounds = all.clone().map(|nth| standing.bound(nth, Status::Lower)).collect();
        standing.upper_bounds = all.clone().map(|nth| standing.bound(nth, Status::Upper)).collect();
        standing.is_undecided = all.map(|nth| standing.is_spent(nth)).collect();
        standing
    }

    pub(super) fn is_lower_bound(&self, nth: usize) -> bool {
        self.lower_bounds[nth].is_some()
    }

    pub(super) fn is_upper_bound(&self, nth: usize) -> bool {
        self.upper_bounds[nth].is_some()
    }

    /// Returns the evidence of the trials from one rate to another together.
    fn evidence(&self, nth: usize, reach: usize) -> TrialEvidence {
        let rates = nth.min(reach)..=nth.max(reach);
        let trials: Vec<&TellingTrial> = rates.flat_map(|nth| &self.loads[nth].trials).collect();
        TrialEvidence::of(&trials, self.goal)
    }

    /// Returns how far trials count for a bound: to the rate itself, then to each further one that
    /// leans likewise. These are higher ones for a lower bound, which lean good, and lower ones for
    /// an upper bound, which lean bad.
    fn reaches(&self, nth: usize, lean: Lean) -> impl Iterator<Item = usize> {
        let higher = (lean == Lean::Good).then_some(nth..self.loads.len());
        let lower = (lean == Lean::Bad).then(|| (0..=nth).rev());
        let all = higher.into_iter().flatten().chain(lower.into_iter().flatten());
        all.take_while(move |nth| self.leans[*nth] == lean)
    }

    /// Returns a rate as a bound, if the trials at it or those together with trials at further
    /// rates say so, with the share that is furthest above its limit, or least below it.
    fn bound(&self, nth: usize, status: Status) -> Option<IntervalBound> {
        let lean = if status == Status::Lower { Lean::Good } else { Lean::Bad };
        let mut found = self.reaches(nth, lean).map(|reach| (reach, self.evidence(nth, reach)));
        let (reach, found) = found.find(|(_, found)| found.status == status)?;
        let excess = |nth: &usize| {
            let share = found.shares[*nth];
            let limit = self.goal.shares_max[*nth];
            (if status == Status::Upper { share.low } else { share.high }) / limit
        };
        let furthest = (0..found.shares.len()).max_by(|a, b| excess(a).total_cmp(&excess(b)));
        let claim = furthest.expect("an objective limits at least one share");
        Some(IntervalBound {
            rate_rps: self.rate(nth),
            good: found.good,
            bad: found.bad,
            requests: found.requests,
            claim,
            share: found.shares[claim],
            rise: self.goal.grows(found.rise).then_some(found.rise),
            reach_rps: self.rate(reach),
        })
    }

    /// Returns the least duration of further trials that should make the rate a bound, in seconds.
    fn missing_s(&self, nth: usize) -> f64 {
        let missing = |reach| self.evidence(nth, reach).missing_s(self.goal);
        let least = |least: f64, next: f64| if next < least { next } else { least };
        self.reaches(nth, self.leans[nth]).map(missing).fold(f64::INFINITY, least)
    }

    fn is_spent(&self, nth: usize) -> bool {
        let is_bound = self.is_lower_bound(nth) || self.is_upper_bound(nth);
        let can_be = matches!(self.leans[nth], Lean::Good | Lean::Bad);
        can_be && !is_bound && self.loads[nth].is_spent(self.missing_s(nth), self.goal)
    }

    fn rate(&self, nth: usize) -> f64 {
        self.loads[nth].rate_rps
    }

    /// Returns the width between two rates, relative to the higher one.
    fn width(&self, low: usize, high: usize) -> f64 {
        1.0 - self.rate(low) / self.rate(high)
    }

    /// Returns a trial that comes before those at other rates: at a rate that tells nothing yet,
    /// since the client spoiled its trials, or at one of two that contradict each other, the lower
    /// one being bad.
    pub(super) fn to_repeat(&self) -> Option<NextTrial> {
        if let Some(unknown) = self.leans.iter().position(|lean| *lean == Lean::Unknown) {
            return Some(NextTrial::Explore(self.rate(unknown)));
        }
        let bad = self.leans.iter().position(|lean| matches!(lean, Lean::Bad | Lean::Ceiling))?;
        if self.leans[bad] == Lean::Ceiling || self.is_upper_bound(bad) {
            return None;
        }
        let good = bad + self.leans[bad..].iter().position(|lean| *lean == Lean::Good)?;
        let spent_s = |nth: usize| self.loads[nth].spent_s();
        let again = if spent_s(good) < spent_s(bad) { good } else { bad };
        (spent_s(again) < self.goal.sum_s).then_some(NextTrial::Confirm(again))
    }

    /// Returns the rates between which the search goes on: the lowest that leans bad or is a
    /// ceiling, and below it the highest that leans good. Around an undecided rate they are the
    /// nearest whose trials exclude the limit.
    pub(super) fn bracket(&self) -> (Option<usize>, Option<usize>) {
        let all = self.loads.len();
        let is_firm = |nth: &usize| self.is_upper_bound(*nth) || self.leans[*nth] == Lean::Ceiling;
        let edge = (0..all).find(is_firm).unwrap_or(all);
        let floor = (0..edge).rev().find(|nth| self.is_lower_bound(*nth)).unwrap_or(0);
        let mut open = (floor..edge).filter(|nth| self.is_undecided[*nth]);
        let first = open.clone().next();
        let last = open.next_back();
        let is_clear = |nth: &usize| first.is_none() || self.missing_s(*nth) <= self.goal.sum_s;
        let is_upper = |nth: &usize| match self.leans[*nth] {
            Lean::Bad => is_clear(nth),
            Lean::Ceiling => true,
            Lean::Good | Lean::Unknown => false,
        };
        let upper = (last.map_or(0, |last| last + 1)..all).find(is_upper);
        let is_lower = |nth: &usize| self.leans[*nth] == Lean::Good && is_clear(nth);
        let lower = (0..first.or(upper).unwrap_or(all)).rev().find(is_lower);
        (lower, upper)
    }

    /// Returns the next trial between two rates: each rate is tried once until they are near to
    /// each other, then the bounds get theirs.
    pub(super) fn narrow(&self, lower: usize, upper: usize) -> NextTrial {
        if self.found(End::WithinGoal).width() <= self.goal.width {
            return NextTrial::Done(End::WithinGoal);
        }
        let wider = match self.width(lower, lower + 1) > self.width(upper - 1, upper) {
            true => (lower, lower + 1),
            false => (upper - 1, upper),
        };
        if self.width(wider.0, wider.1) > GAP * self.goal.width {
            return NextTrial::Explore((self.rate(wider.0) * self.rate(wider.1)).sqrt());
        }
        // The bounds are as far apart as they may: the further a rate is from the true one, the
        // fewer trials decide it.
        let middle_rps = (self.rate(lower) * self.rate(upper)).sqrt();
        let half = (1.0 - (self.goal.width - ROUNDING).max(self.goal.width / 2.0)).sqrt();
        let is_ceiling = self.leans[upper] == Lean::Ceiling;
        let low_rps = match is_ceiling {
            true => self.rate(upper) * half * half,
            false => middle_rps * half,
        };
        let high_rps = rounded(middle_rps / half).max(self.rate(upper));
        let above = (!is_ceiling).then(|| self.step_above(upper, high_rps)).flatten();
        let below = self.step_below(lower, rounded(low_rps).min(self.rate(lower)));
        let next = match (below, above) {
            (Some(below), Some(above)) if self.is_ahead(below, above) => Some(above),
            (below, above) => below.or(above),
        };
        next.unwrap_or_else(|| NextTrial::Done(self.end(upper, End::Indistinct)))
    }

    /// True if the rate of the first trial was measured for longer than the rate of the second.
    fn is_ahead(&self, first: NextTrial, second: NextTrial) -> bool {
        let spent = |next| match next {
            NextTrial::Confirm(nth) => self.loads[nth].spent_s(),
            _ => 0.0,
        };
        spent(first) > spent(second)
    }

    /// Returns the next trial for a lower bound from `least_rps` up to the rate `lower`, which
    /// leans good; `None` if there is one, or none can be shown.
    fn step_below(&self, lower: usize, least_rps: f64) -> Option<NextTrial> {
        let within = |nth: &usize| self.rate(*nth) >= least_rps;
        if (0..=lower).rev().take_while(within).any(|nth| self.is_lower_bound(nth)) {
            return None;
        }
        let near_rps = (least_rps * self.rate(lower)).sqrt();
        let near = (0..=lower).find(|nth| within(nth) && self.rate(*nth) <= near_rps);
        Some(near.map_or(NextTrial::Bound(least_rps), NextTrial::Confirm))
    }

    /// Returns the next trial for an upper bound from the rate `upper`, which leans bad, up to
    /// `most_rps`.
    fn step_above(&self, upper: usize, most_rps: f64) -> Option<NextTrial> {
        let within = |nth: &usize| self.rate(*nth) <= most_rps;
        if (upper..self.loads.len()).take_while(within).any(|nth| self.is_upper_bound(nth)) {
            return None;
        }
        let near_rps = (most_rps * self.rate(upper)).sqrt();
        let near =
            (upper..self.loads.len()).rev().find(|nth| within(nth) && self.rate(*nth) >= near_rps);
        Some(near.map_or(NextTrial::Bound(most_rps), NextTrial::Confirm))
    }

    /// Returns the next trial of a search that ends soon: both bounds, wherever they are shown with
    /// the fewest trials.
    pub(super) fn conclude(&self, lower: usize, upper: usize) -> NextTrial {
        let is_limited = self.leans[upper] == Lean::Ceiling;
        let found = self.found(End::OutOfTrials);
        let is_near = |nth: &usize| self.missing_s(*nth) <= self.goal.sum_s;
        let needed = |nth: &usize| self.missing_s(*nth);
        let least = |a: &usize, b: &usize| needed(a).total_cmp(&needed(b));
        if found.upper.is_none() && !is_limited {
            let bad = || (upper..self.loads.len()).filter(|nth| self.leans[*nth] == Lean::Bad);
            let next = bad().find(is_near).or_else(|| bad().min_by(least));
            return NextTrial::Confirm(next.expect("the upper one"));
        }
        if found.lower.is_none() {
            let good = || (0..=lower).rev().filter(|nth| self.leans[*nth] == Lean::Good);
            let next = good().find(is_near).or_else(|| good().min_by(least));
            return NextTrial::Confirm(next.expect("the lower one"));
        }
        NextTrial::Done(self.end(upper, End::OutOfTrials))
    }

    /// Returns the reason for the end below the rate `upper`.
    fn end(&self, upper: usize, otherwise: End) -> End {
        match self.loads[upper].limiter() {
            Some(limiter) => End::Limited(limiter, self.rate(upper)),
            None if self.found(otherwise).width() <= self.goal.width => End::WithinGoal,
            None => otherwise,
        }
    }

    /// Returns the result: the lowest upper bound, and the highest lower one below it.
    pub(super) fn found(&self, end: End) -> Found {
        let upper = self.upper_bounds.iter().flatten().next().copied();
        let is_edge = |nth: &usize| self.is_upper_bound(*nth) || self.leans[*nth] == Lean::Ceiling;
        let edge = (0..self.loads.len()).find(is_edge).unwrap_or(self.loads.len());
        let lower = self.lower_bounds[..edge].iter().flatten().next_back().copied();
        let above = |rate: &f64| lower.is_none_or(|lower| *rate > lower.rate_rps);
        let undecided = (0..edge).filter(|nth| self.is_undecided[*nth]);
        let undecided_rps = undecided.map(|nth| self.rate(nth)).filter(above).collect();
        Found { lower, upper, undecided_rps, end }
    }
}

/// Rounds a rate to four digits: reports print it as it was tried.
pub(super) fn rounded(rate_rps: f64) -> f64 {
    let unit = 10_f64.powf(rate_rps.log10().floor() - 3.0);
    let digits = (rate_rps / unit).round();
    // Division by a power of ten is exact where multiplication by its inverse is not.
    if unit >= 1.0 { digits * unit } else { digits / (1.0 / unit).round() }
}
